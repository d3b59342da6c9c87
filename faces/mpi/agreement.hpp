// Which processes can be asked anything at all. A rank that runs without Copse never answers, and a rank of another build
// may answer something else: who is asked, and the size of the first answer, must not depend on what either of them knows.
#pragma once

#include <array>
#include <cstdint>

#include "family.hpp"

namespace copse::mpi {

// Do all ranks of the communicator belong to this process's MPI_COMM_WORLD? If any rank says no, all of them do, and none
// needs to ask another. Only the ranks of one world have agreed that they all run Copse.
bool in_one_world(MPI_Comm comm, int ranks);

// The identity of this library's file: the same on ranks that understand one another.
std::uint64_t build_id();

// What a rank says in MPI_Init; of each word the least that any rank says is what all get. Builds that differ must
// understand this much of one another: the number of words, and the first two, never change.
struct Word {
  enum : std::size_t { build, minus_build, first_mistaken, wanted, untraced, unbound, first_without_heap, spare, count };
};
using Words = std::array<int, Word::count>;

// Collective over the world. Says so now and then where other ranks let this one wait for long.
Words least_of_all(const Words &mine, int rank);

}  // namespace copse::mpi
