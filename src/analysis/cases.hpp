// Cases: what a variant is proved on.
//
// The cases of a variant are sequences of calls: fragments 1, 2, 3 and more than the rings are deep; in place and not;
// the same plans back to back, another root between, other algorithms between, all on the same lines and slots.
#pragma once

#include <cstdint>
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
[[nodiscard]] Call call_of(const Variant& variant, int fragments, bool in_place);
[[nodiscard]] std::vector<NamedCase> cases(const Variant& variant, Effort effort);

// What a row has to be proved on: 1 to 64 ranks, and 96, 128 and 257.
[[nodiscard]] std::vector<int> full_ranks();
// Up to so many ranks every root, with full effort.
inline constexpr int kEveryRoot = 32;
// Up to so many ranks every radix that a user may force, on one placement and root for each number of ranks: with quick
// and with full effort.
[[nodiscard]] constexpr int every_radix(Effort effort) { return effort == Effort::quick ? 8 : 64; }

// The cases of a row's variants, checked: of so many of the combinations as the effort is worth, which depends on what
// they take, not on time.
struct Failure {
  std::string name;
  std::vector<Finding> findings;
};
struct Tally {
  std::uint64_t combinations = 0, possible = 0;  // of placement, root and radix, each by every carrier
  std::uint64_t variants = 0, plans = 0, cases = 0, steps = 0, accesses = 0, failed = 0;
  std::uint64_t spoiled = 0;      // mixed cases that prove nothing: another algorithm fails without this one
  std::vector<Failure> failures;  // the first few
  Tally& operator+=(const Tally& other);
};
[[nodiscard]] Tally verify(const algorithms::Algorithm& row, int ranks, Effort effort,
                           const topology::Machine* only = nullptr);

}  // namespace copse::analysis
