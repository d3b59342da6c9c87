// Makes nodes, groups and trees when they are first asked for.
#include "algorithms/shared.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace copse::algorithms {

Groups::Groups(int ranks, const topology::Placement* places, topology::Level level) {
  std::unordered_map<std::int32_t, std::size_t> index;
  of_rank_.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    const std::int32_t id = places == nullptr ? 0 : (*places)[static_cast<std::size_t>(rank)].at(level);
    const auto [at, is_new] = index.emplace(id, groups_.size());
    if (is_new) groups_.emplace_back();
    groups_[at->second].push_back(rank);
    of_rank_.push_back(static_cast<std::uint32_t>(at->second));
  }
  for (const Group& group : groups_) {
    largest_ = std::max(largest_, group.size());
    smallest_ = std::min(smallest_, group.size());
    leaders_.push_back(places == nullptr ? group.front() : topology::speaker_of(group, *places));
  }
}

Group Groups::leaders_ascending() const {
  Group result = leaders_;
  std::sort(result.begin(), result.end());
  return result;
}

std::size_t Teams::index_of(int rank) const {
  if (!singles_.empty())
    return static_cast<std::size_t>(std::lower_bound(singles_.begin(), singles_.end(), rank) - singles_.begin());
  const auto has = [rank](const Group& group) { return std::binary_search(group.begin(), group.end(), rank); };
  return static_cast<std::size_t>(std::find_if(groups_.begin(), groups_.end(), has) - groups_.begin());
}

std::size_t Teams::position(std::size_t index, int rank) const {
  const Members all = (*this)[index];
  return static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), rank) - all.begin());
}

std::span<const std::int32_t> Shared::nodes() const {
  if (!nodes_) {
    nodes_.emplace();
    const auto node = [](const topology::Place& place) { return place.at(topology::Level::node); };
    const bool several = places_ != nullptr && std::any_of(places_->begin(), places_->end(), [&](const auto& place) {
                           return node(place) != node(places_->front());
                         });
    if (several)
      for (const topology::Place& place : *places_) nodes_->push_back(node(place));
  }
  return *nodes_;
}

const Group& Shared::everybody() const {
  if (everybody_.empty()) {
    everybody_.resize(static_cast<std::size_t>(ranks_));
    std::iota(everybody_.begin(), everybody_.end(), 0);
  }
  return everybody_;
}

const Groups& Shared::groups(topology::Level level) const {
  auto& groups = groups_[static_cast<std::size_t>(level)];
  if (!groups) groups.emplace(ranks_, places_, level);
  return *groups;
}

const std::vector<std::vector<Group>>& Shared::inside(topology::Level outer, topology::Level inner) const {
  auto& result = inside_[{outer, inner}];
  if (result.empty()) {
    result.resize(groups(outer).size());
    for (const Group& group : groups(inner)) result[groups(outer).index_of(group.front())].push_back(group);
  }
  return result;
}

}  // namespace copse::algorithms
