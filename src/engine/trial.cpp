#include "engine/trial.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/signal/wait.hpp"

namespace copse::engine {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPatience{4};
constexpr int kTurns = 5, kSlots = 2;
constexpr std::size_t kBytes = 16384;  // of each slot
constexpr int kClass = kSlotClasses - 1;

// The ranks take turns by two words, each in a slot of its writer: nothing but slots is left as it was not.
class Trial {
 public:
  Trial(const Segment &segment, int me, int partner)
      : segment_(segment), me_(me), partner_(partner), mine_(word(me)), theirs_(word(partner)), here_(kBytes) {}

  // The least time from the first store to the news that the other has read it; empty if it did not come.
  std::chrono::nanoseconds give(void (*store)(void *, const void *, std::size_t) noexcept) {
    auto least = std::chrono::nanoseconds::max();
    for (int turn = 0; turn < kTurns; ++turn) {
      const auto begin = Clock::now();
      for (int i = 0; i < kSlots; ++i) store(slot(me_, i), here_.data(), kBytes);
      tell();
      if (!hear()) return std::chrono::nanoseconds::max();
      least = std::min<std::chrono::nanoseconds>(least, Clock::now() - begin);
    }
    return least;
  }

  void take() {
    for (int turn = 0; turn < kTurns; ++turn) {
      if (!hear_next()) return;
      for (int i = 0; i < kSlots; ++i) kernels::copy(here_.data(), slot(partner_, i), kBytes);
      tell();
    }
  }

 private:
  [[nodiscard]] std::byte *slot(int local, int i) const {
    return segment_.slot(local, 0, kClass, static_cast<std::uint64_t>(i) + 1);
  }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word(int local) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t *>(segment_.slot(local, 0, kClass, 0)));
  }
  void tell() { mine_.store(++told_, std::memory_order_release); }
  bool hear() { return wait_for(told_); }          // the answer to what I told
  bool hear_next() { return wait_for(told_ + 1); }  // what the other tells next
  bool wait_for(std::uint64_t number) {
    while (theirs_.load(std::memory_order_acquire) != number) {
      if (Clock::now() > end_) return false;
      relax();
    }
    return true;
  }

  const Segment &segment_;
  int me_, partner_;
  std::atomic_ref<std::uint64_t> mine_, theirs_;
  std::vector<std::byte> here_;
  std::uint64_t told_ = 0;
  Clock::time_point end_ = Clock::now() + kPatience;
};

}  // namespace

bool streaming_is_sooner(const Segment &segment, int me, int partner) {
  Trial trial(segment, me, partner);
  std::chrono::nanoseconds cached{}, streamed{};
  for (const bool mine : {me < partner, me > partner}) {
    if (mine) {
      cached = trial.give(kernels::copy);
      streamed = trial.give(kernels::copy_streaming);
    } else {
      trial.take();
      trial.take();
    }
  }
  return streamed < cached;
}

}  // namespace copse::engine
