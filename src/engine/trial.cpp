// What it costs to bring bytes to another rank of the node: the trial itself.
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
using Nanoseconds = std::chrono::duration<float, std::nano>;

constexpr std::chrono::milliseconds kPatience{4};
constexpr int kTurns = 5, kSlots = 2;
constexpr std::size_t kBytes = 16384;  // of each slot
constexpr int kClass = kSlotClasses - 1;

// What a rank writes for the other to see lies in slots of its own: lines are left as they were.
struct Words {
  std::uint64_t told = 0;        // turns, counted
  std::uintptr_t given = 0;      // where this rank's buffer lies
};

class Trial {
 public:
  Trial(const Segment &segment, int me, int partner)
      : segment_(segment), me_(me), partner_(partner), mine_(words(me)), theirs_(words(partner)), here_(kSlots * kBytes) {
    mine_.given = reinterpret_cast<std::uintptr_t>(here_.data());
  }

  [[nodiscard]] bool failed() const { return failed_; }    // the other did not come
  [[nodiscard]] bool refused() const { return refused_; }  // by the kernel

  struct Given {
    float store = 1e9F, all = 1e9F;  // ns a byte, least: the stores; until the news that the other has read them
  };
  template <class Store>
  Given give(Store &&store) {
    Given least;
    for (int turn = 0; turn < kTurns && !failed_; ++turn) {
      const auto begin = Clock::now();
      store();
      const auto stored = Clock::now();
      tell();
      hear(told_);
      least.store = std::min(least.store, each(stored - begin));
      least.all = std::min(least.all, each(Clock::now() - begin));
    }
    return least;
  }

  // Returns the least time of `load`, in ns a byte.
  template <class Load>
  float take(Load &&load) {
    float least = 1e9F;
    for (int turn = 0; turn < kTurns && !failed_; ++turn) {
      hear(told_ + 1);
      const auto begin = Clock::now();
      load();
      least = std::min(least, each(Clock::now() - begin));
      tell();
    }
    return least;
  }

  void fill_slots(void (*store)(void *, const void *, std::size_t) noexcept) {
    for (int i = 0; i < kSlots; ++i) store(slot(me_, i), here(i), kBytes);
  }
  void read_slots() {
    for (int i = 0; i < kSlots; ++i) kernels::copy(here(i), slot(partner_, i), kBytes);
  }
  void touch_buffer() { std::fill(here_.begin(), here_.end(), static_cast<std::byte>(told_)); }
  void read_buffer(const Peer &partner) {
    refused_ |= !kernel_read(partner, here(0), theirs_.given, here_.size());
  }

 private:
  static float each(Clock::duration time) {
    return std::chrono::duration_cast<Nanoseconds>(time).count() / (kSlots * kBytes);
  }
  [[nodiscard]] std::byte *here(int i) { return here_.data() + static_cast<std::size_t>(i) * kBytes; }
  [[nodiscard]] std::byte *slot(int local, int i) const {
    return segment_.slot(local, 0, kClass, static_cast<std::uint64_t>(i) + 1);
  }
  [[nodiscard]] Words &words(int local) const {
    return *reinterpret_cast<Words *>(segment_.slot(local, 0, kClass, 0));
  }
  void tell() { std::atomic_ref(mine_.told).store(++told_, std::memory_order_release); }
  void hear(std::uint64_t number) {
    while (!failed_ && std::atomic_ref(theirs_.told).load(std::memory_order_acquire) != number) {
      failed_ = Clock::now() > end_;
      relax();
    }
  }

  const Segment &segment_;
  int me_, partner_;
  Words &mine_, &theirs_;
  std::vector<std::byte> here_;
  std::uint64_t told_ = 0;
  bool failed_ = false, refused_ = false;
  Clock::time_point end_ = Clock::now() + kPatience;
};

}  // namespace

std::optional<Costs> measure_costs(const Segment &segment, int me, int partner, const Peer *kernel) {
  Trial trial(segment, me, partner);
  Trial::Given cached, streamed;
  float read_cached = 0, read_streamed = 0, by_kernel = 0;
  for (const bool mine : {me < partner, me > partner}) {
    if (mine) {
      cached = trial.give([&] { trial.fill_slots(kernels::copy); });
      streamed = trial.give([&] { trial.fill_slots(kernels::copy_streaming); });
      if (kernel != nullptr) static_cast<void>(trial.give([&] { trial.touch_buffer(); }));
    } else {
      read_cached = trial.take([&] { trial.read_slots(); });
      read_streamed = trial.take([&] { trial.read_slots(); });
      if (kernel != nullptr) by_kernel = trial.take([&] { trial.read_buffer(*kernel); });
    }
  }
  if (trial.failed()) return std::nullopt;
  const bool sooner = streamed.all < cached.all;
  return Costs{sooner, sooner ? streamed.store : cached.store, sooner ? read_streamed : read_cached, trial.refused() ? 0 : by_kernel};
}

}  // namespace copse::engine
