// Ranks of MPI_COMM_WORLD that are helpers and never enter the program (CDCP IV.B).
#pragma once

#include <vector>

#include "communicator/desk.hpp"

namespace copse::mpi {

// Must be called before MPI_Init. Where ranks may become helpers, sees to it that they end as helpers.
void prepare_to_stay_outside();

// Takes the last ranks of each node out of the program, as many as COPSE_COLLECTIVE_PROCESSORS says. In these ranks this function
// does not return: they serve until they are dismissed, and then end. For the others, another communicator stands for
// MPI_COMM_WORLD from now on. Returns the desks of this node's helpers. Collective over MPI_COMM_WORLD.
[[nodiscard]] std::vector<communicator::DeskName> take_helpers_out();

}  // namespace copse::mpi
