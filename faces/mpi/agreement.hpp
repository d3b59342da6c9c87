// Finding out whether the ranks run the same Copse. A rank without Copse never answers, and a rank with another build
// may answer something else. So neither the choice of whom to ask nor the size of the first answer may depend on
// anything that such a rank does not know.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <vector>

#include "family.hpp"

namespace copse::mpi {

// Returns the rank in world() of each rank of the communicator, MPI_UNDEFINED for a rank of another world. An intercommunicator
// also has another group. `ranks` is the number of ranks in the group that is asked about.
enum class Group : bool { own, other };
std::vector<int> world_ranks(MPI_Comm comm, int ranks, Group which = Group::own);

// Returns whether all these ranks belong to this process's world(), by world_ranks(). All ranks of the communicator get
// the same answer, so none needs to ask another. Only the ranks of one world have agreed that they all run Copse.
bool in_one_world(const std::vector<int>& members);
inline constexpr const char* kSeveralWorlds = "ranks of another MPI_COMM_WORLD";  // the reason not to serve other ranks

// Identifies this library's file. Ranks with the same identity understand one another.
std::uint64_t build_id();

// The numbers that a rank contributes in MPI_Init. Every rank gets, for each word, the least that any rank contributed.
// Builds that differ must still understand the number of words and the first two words, so these never change.
struct Word {
  enum : std::size_t { build, minus_build, first_mistaken, wanted, untraced, unbound, first_without_heap, joins_at, count };
};
using Words = std::array<int, Word::count>;
// The value of Word::wanted of a rank that wants Copse and helpers beside the ranks, or among those that the launcher has started.
// The value is 1 for a rank that wants Copse alone, and 0 for a rank that does not want Copse.
inline constexpr int kWithHelpers = 2, kWithRanksAsHelpers = 3;

// Collective over the world. Prints a line now and then if the other ranks keep this one waiting for long. Ends the program if
// one of them will never answer (silent.hpp).
Words least_of_all(const Words& mine, int rank);
// Returns whether this process has made that exchange, so that all ranks of the world run Copse and know what all want. It has not
// if MPI_Init has bypassed its wrapper.
bool have_met_all();

// A rank that has waited so long for the others looks whether one of them runs without Copse. If so, this ends the program, because
// that rank never answers. `what` is what this rank cannot do without it.
inline constexpr std::chrono::steady_clock::duration kPatienceWithRanks = std::chrono::seconds(20);
void end_if_a_rank_is_silent(int rank, const char* what);

}  // namespace copse::mpi
