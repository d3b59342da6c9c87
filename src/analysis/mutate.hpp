// Mutants show whether the checker finds faults. Every single step of a plan is spoilt in every way that a programmer might
// spoil it, and so are the fragments that its loops run for, and what the plan says as a whole. The checker must find something
// in at least one case of the variant.
//
// Most explanations of survivors trust the checker, and would excuse one that sees no order at all. So mutants are also counted
// by kind of step, and a test records how many of each kind are caught at least (tests/data/mutants.txt).
//
// A mutant that survives the quick cases is run on the full ones, too. One that survives those is itself proved on them.
// Then a rule explains it and says why, or it counts as unexplained:
//   same memory      Input and output are one buffer here, so the two names mean the same.
//   same value       The step only reads another place, and every result came out as the same expression. So that place
//                    held the same value, known to be there and not overwritten too soon. Or a loop copies a fragment again.
//   commutative      The algorithm does not claim to keep rank order, and all ranks still agree.
//   harmless move    The signal passed only steps that touch nothing that it guards. A post guards memory that others
//                    read, and a done guards memory of others. Or the expect passed only steps that do not use its place.
//   same order       The other lag keeps the order of the steps of each fragment (rules.cpp ensures that) and only changes
//                    how fragments overlap.
//   implied wait     Cases come to the wait, and in none of them does it teach its rank anything new. The order follows from
//                    other waits (by transitivity of happens-before, the step changes nothing).
//   carried          The wrong peer, or the wrong area of it, signals only after the right one did, and carries its order along.
//   unneeded order   The step does order something, but no two conflicting accesses that nothing else orders: the
//                    mutant has no race. Such steps are safe to keep, and candidates for removal. This includes a drain if
//                    a later one of its area comes before what was sent is overwritten. It includes loops that move no data.
//   unneeded signal  No step of any plan waits for the post. Or it is a done, and no rank of the node acquires in this call. Later
//                    calls move the progress before anybody looks at it.
//   needless wait    A wait that a condition spares is always made. This is slower but safe, since no case gets stuck.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/cases.hpp"

namespace copse::analysis {

enum class Mutation : std::uint8_t {
  omit,  // the step is missing
  early_signal,  // a post, publish or done is before a step that moves data
  late_wait,  // a wait is for the ticket before; an acquire assumes a ring deeper by one
  wrong_peer,
  wrong_area,
  wrong_portion,  // a step has the portion before or after
  wrong_more,  // a message ends too early, or goes on
  lost_reader,  // an acquire does not wait for one of its readers
  wrong_chunk,
  wrong_place,  // another memory, or that of another rank; an acquire of the line alone
  wrong_origin,  // packed blocks are thought to begin with another block
  swapped,  // the operands of a reduction
  wrong_lag,
  wrong_fragments,  // a loop runs for other fragments
  wrong_condition,  // a wrong condition on whether something rides
  early_expect,  // an expect is before a step that uses its place, or waits for those who do
  wrong_whole,  // the plan as a whole disagrees with the others on what all plans must say alike
};
inline constexpr int kMutations = 17;
[[nodiscard]] const char* name_of(Mutation mutation);

struct Mutant {
  Mutation mutation{};
  int step = 0;  // the step in the unspoilt plan; for wrong_fragments, the first of the loop
  // The kind of step, as its text begins. In front of it stands "riding" if the step moves or announces what may ride, and
  // otherwise "conditional" if it has a condition. What is no step is a "loop" or a "plan".
  std::string kind;
  std::string what;
  Replacement replacement;
  int passed = 0;  // early_signal and early_expect: number of steps that the step passed
};

// Returns all mutants of one rank's plan.
[[nodiscard]] std::vector<Mutant> mutants(const Variant& variant, int rank);

enum class Excuse : std::uint8_t {
  none,
  same_memory,
  same_value,
  commutative,
  harmless_move,
  same_order,
  implied_wait,
  carried,
  unneeded_order,
  unneeded_signal,
  needless_wait,
};
inline constexpr int kExcuses = 11;
[[nodiscard]] const char* name_of(Excuse excuse);

struct Survivor {
  std::string variant, what;
  Excuse excuse{};
};

struct MutantCount {
  std::uint64_t made = 0, caught = 0;
  MutantCount& operator+=(const MutantCount& other);
};
using MutationCounts = std::array<MutantCount, kMutations>;
[[nodiscard]] MutantCount sum_of(const MutationCounts& counts);

struct MutationTally {
  std::map<std::string, MutationCounts> by_kind;  // of step
  std::uint64_t excused[kExcuses]{};
  std::vector<Survivor> survivors;  // the first of each kind, and more of the unexplained ones
  MutationTally& operator+=(const MutationTally& other);
  [[nodiscard]] MutationCounts by_mutation() const;
};

// Checks all mutants of all ranks of the variant. Throws std::logic_error if the variant itself is not right in every case.
[[nodiscard]] MutationTally challenge(const Variant& variant);

}  // namespace copse::analysis
