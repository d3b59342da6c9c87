// How data is stored into slots: into the caches, or past them.
//
// A trial finds which stores arrive sooner (trial.hpp). But threads move among processors, and the processors of a virtual
// machine move among the host's cores. So a store into the caches is timed now and then. If it takes longer than the whole
// way past the caches took in the trial, the reader's cache has become a far one. Each rank may decide this for itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace copse::engine {

class SlotStores {
 public:
  // The limit in ns a byte if there was no trial. No near cache takes so long, and every far one that was measured takes
  // longer.
  static constexpr float kSlow = 0.25F;

  SlotStores() = default;  // always into the caches
  // Stores into the caches that take more than `slow` ns a byte speak for stores past them. With 0, the first choice stays.
  SlotStores(bool past, float slow) : past_(past), slow_(slow) {}

  // Stores of at least this many bytes go past the caches. For fewer bytes, the way to memory is longer than what it saves.
  [[nodiscard]] std::size_t past_from() const { return past_ ? kPastFrom : SIZE_MAX; }
  // Stores of fewer bytes go into the caches and are not timed.
  [[nodiscard]] std::size_t matters_from() const { return past_ ? kPastFrom : slow_ > 0 ? kTimedFrom : SIZE_MAX; }

  // Tells whether the next store should go into the caches and be timed.
  [[nodiscard]] bool asks(std::size_t bytes) {
    if (slow_ == 0 || bytes < kTimedFrom) return false;
    return streak_ > 0 || ++stores_ % (past_ ? kEveryPast : kEveryCached) == 0;
  }
  void took(std::size_t bytes, std::chrono::duration<float, std::nano> time) {
    const bool slow = time.count() > slow_ * static_cast<float>(bytes);
    streak_ = slow != past_ ? streak_ + 1 : 0;
    if (streak_ < kStreak) return;
    past_ = slow;
    streak_ = 0;
  }

 private:
  static constexpr std::size_t kPastFrom = 2048, kTimedFrom = 8192;
  // A timed store costs little if stores go into the caches anyway, and several times such a store if they do not.
  static constexpr std::uint32_t kEveryCached = 8, kEveryPast = 128;
  static constexpr int kStreak = 3;  // stores in a row that must agree; a single one may have met an interrupt

  bool past_ = false;
  float slow_ = 0;
  int streak_ = 0;
  std::uint32_t stores_ = 0;
};

}  // namespace copse::engine
