// Cases: the sequences of calls on which a variant is proved.
//
// The calls have 1, 2, 3 and more fragments than the rings are deep. They are in place and not in place. The same plans run
// back to back, with another root in between, or with other algorithms in between, all on the same lines and slots.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "analysis/checker.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {

struct NamedCase {
  std::string name;
  Case subject;
  bool mixed = false;  // other algorithms take part
};

// A call of the variant's plans, in so many fragments if it can be cut.
[[nodiscard]] ScriptedCall call_of(const Variant& variant, int fragments, bool in_place);
[[nodiscard]] std::vector<NamedCase> cases(const Variant& variant, Effort effort);

// Returns the numbers of ranks on which a row has to be proved: 1 to 65, and 96, 128 and 257.
[[nodiscard]] std::vector<int> full_ranks();
// With full effort, every root is checked up to this number of ranks.
inline constexpr int kEveryRoot = 32;
// Returns the largest number of ranks for which every radix that a user may force is checked, on one root for each number of
// ranks. Up to 64 ranks have one placement of the sample, and for each level of machines one with as many objects of that level
// as ranks (a quick proof: for nodes alone). More ranks have one on one node and one on two. A tree is flat if the radix is at
// least the number of ranks, so it takes many ranks to make a tree of its own with a large radix.
[[nodiscard]] constexpr int every_radix(Effort effort) { return effort == Effort::quick ? 8 : 257; }

// The results of checking the cases of a row's variants. How many of the combinations are checked depends on the effort and
// on the work that they take, not on time.
struct Failure {
  std::string name;
  std::vector<Finding> findings;
};
struct Tally {
  std::uint64_t combinations = 0, possible = 0;  // of placement, root and radix, each by every carrier
  std::uint64_t variants = 0, plans = 0, cases = 0, steps = 0, accesses = 0, failed = 0;
  std::uint64_t spoiled = 0;  // mixed cases that prove nothing, because another algorithm fails without this one
  std::set<int> radices;  // those that made plans of their own
  std::vector<Failure> failures;  // the first few
  Tally& operator+=(const Tally& other);
};
[[nodiscard]] Tally verify(const algorithms::Algorithm& row, int ranks, Effort effort, const topology::Machine* only = nullptr,
                           plan::Modes modes = {});

}  // namespace copse::analysis
