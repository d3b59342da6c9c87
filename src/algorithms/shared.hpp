// What the plans of all ranks have in common: the nodes of the ranks, their groups, and trees over them. If code builds the
// plans of many ranks, it lets their requests share one Shared. Then the first rank that asks for a tree builds it, and the
// plan of one rank costs only its own steps. A Shared is a cache: everything in it follows from the ranks, the places and the graph
// of the requests, which are the same in all of them. Only one thread at a time may use it.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "shape/hierarchy.hpp"
#include "topology/placement.hpp"

namespace copse::algorithms {

using Group = std::vector<int>;  // ranks that share something, ascending

// A division of all ranks into groups. The group of rank 0 is the first.
class Groups {
 public:
  Groups(int ranks, const topology::Placement* places, topology::Level level);  // one group if `places` is null

  [[nodiscard]] std::size_t size() const { return groups_.size(); }
  [[nodiscard]] const Group& operator[](std::size_t index) const { return groups_[index]; }
  [[nodiscard]] const Group& front() const { return groups_.front(); }
  [[nodiscard]] auto begin() const { return groups_.begin(); }
  [[nodiscard]] auto end() const { return groups_.end(); }
  [[nodiscard]] std::size_t index_of(int rank) const { return of_rank_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] const Group& of(int rank) const { return groups_[index_of(rank)]; }
  // The leader of each group: the first rank next to a network card, or else the first.
  [[nodiscard]] const Group& leaders() const { return leaders_; }
  [[nodiscard]] int leader_of(int rank) const { return leaders_[index_of(rank)]; }
  [[nodiscard]] Group leaders_ascending() const;
  [[nodiscard]] std::size_t largest() const { return largest_; }  // the number of ranks in the largest group
  [[nodiscard]] std::size_t smallest() const { return smallest_; }

 private:
  std::vector<Group> groups_;
  Group leaders_;
  std::vector<std::uint32_t> of_rank_;
  std::size_t largest_ = 0, smallest_ = SIZE_MAX;
};

// An ordered list of teams. The teams are either groups or single ranks. The list refers to them and does not copy them.
class Teams {
 public:
  using Members = std::span<const int>;
  Teams(std::span<const Group> groups) : groups_(groups), count_(groups.size()) {}  // NOLINT: groups are teams
  static Teams singles(Members ascending) {
    Teams teams{std::span<const Group>{}};
    teams.singles_ = ascending;
    teams.count_ = ascending.size();
    return teams;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] Members operator[](std::size_t index) const {
    return singles_.empty() ? Members(groups_[index]) : singles_.subspan(index, 1);
  }
  [[nodiscard]] std::size_t index_of(int rank) const;
  // Returns the position of a rank in its team, which is team `index`.
  [[nodiscard]] std::size_t position(std::size_t index, int rank) const;

 private:
  std::span<const Group> groups_;
  Members singles_;
  std::size_t count_;
};

class Shared {
 public:
  explicit Shared(int ranks, const topology::Placement* places = nullptr) : ranks_(ranks), places_(places) {}

  // Returns the node of each rank, or nothing if all ranks are on one node.
  [[nodiscard]] std::span<const std::int32_t> nodes() const;
  [[nodiscard]] const Group& everybody() const;
  [[nodiscard]] const Groups& groups(topology::Level level) const;
  // Returns, for each group of the outer level, the groups of the inner level that are in it.
  [[nodiscard]] const std::vector<std::vector<Group>>& inside(topology::Level outer, topology::Level inner) const;

  // tree() returns the tree that make() builds, and calls make() only once for each key.
  struct Key {
    std::string_view name;  // a literal, because it is not copied
    std::array<int, 4> numbers{};
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  template <class Make>
  [[nodiscard]] const shape::SurveyedTree& tree(const Key& key, Make&& make) const {
    auto& tree = trees_[key];
    if (!tree) tree = std::make_unique<const shape::SurveyedTree>(make());
    return *tree;
  }
  // kept() does the same for anything else that all ranks know. The name is a literal, and has one type.
  template <class T, class Make>
  [[nodiscard]] const T& kept(std::string_view name, Make&& make) const {
    auto& kept = kept_[name];
    if (!kept) kept = std::make_shared<const T>(make());
    return *static_cast<const T*>(kept.get());
  }

 private:
  int ranks_;
  const topology::Placement* places_;
  mutable std::optional<std::vector<std::int32_t>> nodes_;
  mutable Group everybody_;
  mutable std::array<std::optional<Groups>, topology::kLevels> groups_;
  mutable std::map<std::pair<topology::Level, topology::Level>, std::vector<std::vector<Group>>> inside_;
  mutable std::map<Key, std::unique_ptr<const shape::SurveyedTree>> trees_;
  mutable std::map<std::string_view, std::shared_ptr<const void>> kept_;
};

}  // namespace copse::algorithms
