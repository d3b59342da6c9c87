// Mutants show whether the checker finds faults. Every single step of a plan is spoilt in every way that a programmer might
// spoil it, and the checker must find something in at least one case of the variant.
//
// A mutant that survives the quick cases is run on the full ones, too. One that survives those is itself proved on them.
// Then a rule explains it and says why, or it counts as unexplained:
//   same memory      Input and output are one buffer here, so the two names mean the same.
//   same value       The step only reads another place, and every result came out as the same expression. So that place
//                    held the same value, known to be there and not overwritten too soon.
//   commutative      The algorithm does not claim to keep rank order, and all ranks still agree.
//   harmless move    The signal passed only steps that touch nothing that it guards. A post guards memory that others
//                    read, and a done guards memory of others. Or the expect passed only steps that do not use its place.
//   same order       The other lag keeps the order of the steps of each fragment (rules.cpp ensures that) and only changes
//                    how fragments overlap.
//   implied wait     In no case does the wait teach its rank anything new. The order follows from other waits (by
//                    transitivity of happens-before, the step changes nothing).
//   carried          The wrong peer signals only after the right one did, and carries its order along.
//   unneeded order   The step does order something, but no two conflicting accesses that nothing else orders: the
//                    mutant has no race. Such steps are safe to keep, and candidates for removal. This includes a drain if
//                    a later one of its area comes before what was sent is overwritten.
//   unneeded signal  Nobody waits for the signal in any case.
//   needless wait    A wait that a condition spares is always made. This is slower but safe, since no case gets stuck.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/cases.hpp"

namespace copse::analysis {

enum class Mutation : std::uint8_t {
  omit,          // the step is missing
  early_signal,  // a post, publish or done is before a step that moves data
  late_wait,     // a wait is for the ticket before; an acquire assumes a ring deeper by one
  wrong_peer,
  wrong_portion,  // a post or await has the portion before or after
  lost_reader,  // an acquire does not wait for one of its readers
  wrong_chunk,
  wrong_place,  // another memory, or that of another rank
  swapped,      // the operands of a reduction
  wrong_lag,
  wrong_condition,  // a wrong condition on whether something rides
  early_expect,  // an expect is before a step that uses its place, or waits for those who do
};
inline constexpr int kMutations = 12;
[[nodiscard]] const char* name_of(Mutation mutation);

struct Mutant {
  Mutation mutation{};
  int step = 0;  // the step in the unspoilt plan
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

struct MutationTally {
  std::uint64_t made[kMutations]{}, caught[kMutations]{}, excused[kExcuses]{};
  std::vector<Survivor> survivors;  // the first of each kind, and more of the unexplained ones
  MutationTally& operator+=(const MutationTally& other);
};

// Checks all mutants of all ranks of the variant. Throws std::logic_error if the variant itself is not right in every case.
[[nodiscard]] MutationTally challenge(const Variant& variant);

}  // namespace copse::analysis
