// The trial that measures the cost of bringing bytes to another rank of the node.
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

constexpr std::chrono::milliseconds kPatience{8};
constexpr int kTurns = 5;              // turns that count
constexpr std::size_t kBytes = 32768;  // bytes of a slot
constexpr int kClass = kSlotClasses - 1;

// What a rank writes for the other to see. It lies in slots of the rank's own, so lines are left as they were.
struct Words {
  std::uint64_t told = 0;        // number of turns
  std::uintptr_t given = 0;      // where this rank's buffer lies
};

class Trial {
 public:
  Trial(const Segment& segment, int me, int partner)
      : segment_(segment), me_(me), partner_(partner), mine_(words(me)), theirs_(words(partner)), here_(kBytes) {
    mine_.given = reinterpret_cast<std::uintptr_t>(here_.data());
  }

  [[nodiscard]] bool failed() const { return failed_; }    // the other rank did not come
  [[nodiscard]] bool refused() const { return refused_; }  // the kernel refused

  struct Given {
    // The least times in ns a byte. `store` is the time of the stores, and `all` is the time until this rank knows that the other
    // rank has read them.
    float store = 1e9F, all = 1e9F;
  };
  // `store` and `load` get the slots of the giver one after the other, as later calls use them. Only the last turns count. The
  // first `first` turns bring the caches to the state in which later rounds will find them.
  template <class Store>
  Given give(int first, Store&& store) {
    Given least;
    for (int turn = -first; turn < kTurns && !failed_; ++turn) {
      const auto begin = Clock::now();
      store(slot(me_));
      const auto stored = Clock::now();
      tell();
      hear(told_);
      if (turn < 0) continue;
      least.store = std::min(least.store, each(stored - begin));
      least.all = std::min(least.all, each(Clock::now() - begin));
    }
    return least;
  }

  // Returns the least time of `load`, in ns a byte.
  template <class Load>
  float take(int first, Load&& load) {
    float least = 1e9F;
    for (int turn = -first; turn < kTurns && !failed_; ++turn) {
      hear(told_ + 1);
      const auto begin = Clock::now();
      load(slot(partner_));
      if (turn >= 0) least = std::min(least, each(Clock::now() - begin));
      tell();
    }
    return least;
  }

  // Returns how many turns use each slot once. The first slot holds the words.
  [[nodiscard]] int round() const { return static_cast<int>(segment_.geometry().slots[kClass].depth) - 1; }

  void fill(std::byte* slot, void (*store)(void*, const void*, std::size_t) noexcept) { store(slot, here_.data(), here_.size()); }
  void read(const std::byte* slot) { kernels::copy(here_.data(), slot, here_.size()); }
  void touch_buffer() { std::fill(here_.begin(), here_.end(), static_cast<std::byte>(told_)); }
  void read_buffer(const Peer& partner) { refused_ |= !kernel_read(partner, here_.data(), theirs_.given, here_.size()); }

 private:
  static float each(Clock::duration time) {
    return std::chrono::duration_cast<Nanoseconds>(time).count() / static_cast<float>(kBytes);
  }
  [[nodiscard]] std::byte* slot(int local) const {
    return segment_.slot(local, 0, kClass, 1 + told_ % static_cast<std::uint64_t>(round()));
  }
  [[nodiscard]] Words& words(int local) const { return *reinterpret_cast<Words*>(segment_.slot(local, 0, kClass, 0)); }
  void tell() { std::atomic_ref(mine_.told).store(++told_, std::memory_order_release); }
  void hear(std::uint64_t number) {
    while (!failed_ && std::atomic_ref(theirs_.told).load(std::memory_order_acquire) != number) {
      failed_ = Clock::now() > end_;
      relax();
    }
  }

  const Segment& segment_;
  int me_, partner_;
  Words &mine_, &theirs_;
  std::vector<std::byte> here_;
  std::uint64_t told_ = 0;
  bool failed_ = false, refused_ = false;
  Clock::time_point end_ = Clock::now() + kPatience;
};

}  // namespace

std::optional<Costs> measure_costs(const Segment& segment, int me, int partner, const Peer* kernel) {
  Trial trial(segment, me, partner);
  Trial::Given cached, streamed;
  float read_cached = 0, read_streamed = 0, by_kernel = 0;
  for (const bool mine : {(me < partner), (me > partner)}) {
    if (mine) {
      cached = trial.give(trial.round(), [&](std::byte* slot) { trial.fill(slot, kernels::copy); });
      streamed = trial.give(0, [&](std::byte* slot) { trial.fill(slot, kernels::copy_streaming); });
      if (kernel != nullptr) static_cast<void>(trial.give(0, [&](std::byte*) { trial.touch_buffer(); }));
    } else {
      read_cached = trial.take(trial.round(), [&](const std::byte* slot) { trial.read(slot); });
      read_streamed = trial.take(0, [&](const std::byte* slot) { trial.read(slot); });
      if (kernel != nullptr) by_kernel = trial.take(0, [&](const std::byte*) { trial.read_buffer(*kernel); });
    }
  }
  if (trial.failed()) return std::nullopt;
  const bool sooner = streamed.all < cached.all;
  return Costs{sooner, sooner ? streamed.store : cached.store, sooner ? read_streamed : read_cached,
               trial.refused() ? 0 : by_kernel, streamed.all};
}

}  // namespace copse::engine
