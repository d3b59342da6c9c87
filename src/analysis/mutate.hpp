// Mutants: is the checker able to see? Every single step of a plan is spoilt in every way that a programmer
// might, and the checker must find something in at least one case of the variant.
//
// A mutant that survives the quick cases meets the full ones too. One that survives those is itself proved on
// them: it is explained by a rule that says why, or counted as unexplained:
//   same memory      input and output are one buffer here, so the two names mean the same
//   same value       only what it reads is another place, and every result came out as the same expression: so
//                    that place held the same value, known to be there and not overwritten too soon
//   commutative      the algorithm does not claim to keep rank order, and all ranks still agree
//   harmless move    the signal passed only steps that touch nothing which it guards: for a post, no memory
//                    that others read; for a done, no memory of others
//   same order       another lag that keeps the order of the steps of each fragment (rules.cpp sees to that) and
//                    only changes how fragments overlap
//   implied wait     in no case does the wait teach its rank anything that it did not know: the order
//                    follows from others (by transitivity of happens-before, the step changes nothing)
//   carried          the wrong peer signals only after the right one did, and carries its order along
//   unneeded order   the step does order something, but no two accesses that conflict and are not ordered by
//                    others: the mutant has no race. Safe to keep, and candidates for removal; so is a drain, if a
//                    later one of its area comes before what was sent is overwritten
//   unneeded signal  nobody waits for it in any case
//   needless wait    a wait that a condition spares is made always: slower, and safe, since no case gets stuck
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/cases.hpp"

namespace copse::analysis {

enum class Mutation : std::uint8_t {
  omit,          // the step is missing
  early_signal,  // a post, publish or done before a step that moves data
  late_wait,     // a wait for the ticket before; an acquire as if the ring were deeper by one
  wrong_peer,
  wrong_portion,  // a post or await of the portion before, or after
  lost_reader,  // an acquire that does not wait for one of its readers
  wrong_chunk,
  wrong_place,  // another memory, or another rank's
  swapped,      // operands of a reduction
  wrong_lag,
  wrong_condition,  // on whether something rides
};
inline constexpr int kMutations = 11;
[[nodiscard]] const char* name_of(Mutation mutation);

struct Mutant {
  Mutation mutation{};
  int step = 0;  // of the unspoilt plan
  std::string what;
  Replacement replacement;
  int passed = 0;  // early_signal: how many steps it passed
};

// All mutants of one rank's plan.
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
  std::vector<Survivor> survivors;  // the first of each kind, more of the unexplained
  MutationTally& operator+=(const MutationTally& other);
};

// All mutants of all ranks of the variant, which must itself be right in every case.
[[nodiscard]] MutationTally challenge(const Variant& variant);

}  // namespace copse::analysis
