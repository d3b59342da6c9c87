// A list of ranks in the order in which they came, each once. A short list is searched; a long one has a set beside it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <vector>

namespace copse::plan {

class RankList {
 public:
  void add(std::int32_t rank) {
    if (ranks_.size() < kShort) {
      if (std::find(ranks_.begin(), ranks_.end(), rank) == ranks_.end()) ranks_.push_back(rank);
      return;
    }
    if (known_.empty()) known_.insert(ranks_.begin(), ranks_.end());
    if (known_.insert(rank).second) ranks_.push_back(rank);
  }
  [[nodiscard]] std::span<const std::int32_t> all() const { return ranks_; }
  [[nodiscard]] bool empty() const { return ranks_.empty(); }

 private:
  static constexpr std::size_t kShort = 32;
  std::vector<std::int32_t> ranks_;
  std::unordered_set<std::int32_t> known_;  // empty while the list is short
};

}  // namespace copse::plan
