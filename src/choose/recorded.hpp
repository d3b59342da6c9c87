// Rules for machines of many processors, found by the price on the recorded machines. The built-in rules come from machines of two
// processors. Where something else was clearly cheaper by price on a recorded machine, recorded/ has a row for it
// (`copse-native price --rows` writes them). Ranks on an unknown machine use the rows of the one that is most like it.
#pragma once

#include <span>
#include <string_view>

#include "choose/rule.hpp"
#include "topology/placement.hpp"

namespace copse::choose {

inline constexpr int kLikeNone = -1;

// A recorded machine, or several nodes of it, each with `cores` ranks.
struct Recorded {
  std::string_view name;
  const char* file;  // the name of the file of its rows, as users see it
  int packages, regions, caches, cores;  // on several nodes, what the ranks of one node use
  int nodes = 1;
};
[[nodiscard]] std::span<const Recorded> recorded();

// Returns the number of the recorded machine on which the ranks would sit most as they do here: in as many packages, NUMA regions
// and caches of one node, or on as many nodes. Returns kLikeNone for few ranks, for ranks that are not placed in blocks, and for
// places that are like those of no recorded machine.
[[nodiscard]] int most_like(const topology::Placement& places);

// Returns the rows of one of recorded(). There are none for kLikeNone.
[[nodiscard]] std::span<const Rule> recorded_rules(int number);
// A test has seen that the rows have plans for up to so many ranks. For more ranks, Copse first tries whether there is a plan.
inline constexpr int kTriedRanks = 512;
// Tells whether a rule is one of recorded_rules() or of rules(). Otherwise it is a user's.
[[nodiscard]] bool is_of_ours(const Rule& rule);

}  // namespace copse::choose
