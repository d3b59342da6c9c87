// How what goes into slots is stored: into the caches, or past them.
//
// A trial says what arrives sooner (trial.hpp). But threads move among processors, and those of a virtual machine over the
// host's cores: so now and then a store into the caches is timed. Where it takes longer than the whole way past the caches
// did in the trial, the reader's cache has become a far one; each rank may go by that for itself.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace copse::engine {

class SlotStores {
 public:
  // Where there was no trial: no near cache takes so long, and every far one that was measured takes longer (ns a byte).
  static constexpr float kSlow = 0.25F;

  SlotStores() = default;  // into the caches, and so for ever
  // `slow`: ns a byte, from which a store into the caches speaks for those past them. 0: it stays as it begins.
  SlotStores(bool past, float slow) : past_(past), slow_(slow) {}

  // So many bytes and more go past the caches: for less, the way to memory is longer than what it saves.
  [[nodiscard]] std::size_t past_from() const { return past_ ? kPastFrom : SIZE_MAX; }
  // Less than that need not be told to this.
  [[nodiscard]] std::size_t matters_from() const { return past_ ? kPastFrom : slow_ > 0 ? kTimedFrom : SIZE_MAX; }

  // Is the next store to go into the caches, and to be timed?
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
  // A look costs little where stores go into the caches, and several times such a store where they do not.
  static constexpr std::uint32_t kEveryCached = 8, kEveryPast = 128;
  static constexpr int kStreak = 3;  // one may have met an interrupt

  bool past_ = false;
  float slow_ = 0;
  int streak_ = 0;
  std::uint32_t stores_ = 0;
};

}  // namespace copse::engine
