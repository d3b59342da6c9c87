// Numbers keys from 0, in the order in which they first come. It is a hash table that does not allocate for each key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace copse::analysis {

class Numbers {
 public:
  // Returns the key's number, and whether the key is new.
  std::pair<std::uint32_t, bool> of(std::uint64_t key) {
    if (2 * count_ >= entries_.size()) grow();
    Entry& entry = entries_[place_of(key)];
    const bool fresh = entry.number == kNone;
    if (fresh) entry = {key, count_++};
    return {entry.number, fresh};
  }
  static constexpr std::uint32_t kNone = 0xffffffff;
  // Returns the key's number, or kNone if it has never come.
  [[nodiscard]] std::uint32_t find(std::uint64_t key) const { return entries_.empty() ? kNone : entries_[place_of(key)].number; }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::uint32_t number = kNone;
  };

  // Returns where the key stands, or would stand.
  [[nodiscard]] std::size_t place_of(std::uint64_t key) const {
    const std::size_t mask = entries_.size() - 1;
    std::size_t at = (key * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (entries_[at].number != kNone && entries_[at].key != key) at = (at + 1) & mask;
    return at;
  }
  void grow() {
    std::vector<Entry> old(entries_.empty() ? 16 : 2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old)
      if (entry.number != kNone) entries_[place_of(entry.key)] = entry;
  }

  std::vector<Entry> entries_;  // a power of two of them, at least half of them free
  std::uint32_t count_ = 0;
};

}  // namespace copse::analysis
