// The neighbours of a communicator's ranks: what MPI calls its virtual topology (MPI-4.1, 8).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/graph.hpp"
#include "communicator/bootstrap.hpp"
#include "family.hpp"
#include "groups.hpp"

namespace copse::mpi {

// The ranks that give to this rank, and the ranks to which it gives, in the order of the blocks in its buffers. The block of
// MPI_PROC_NULL is not used.
struct Neighbors {
  std::vector<int> sources, destinations;
};

struct Neighborhood {
  Neighbors mine;
  algorithms::Graph graph;
};

// Asks the ranks of a communicator for their neighbours. Collective over the ranks of `bootstrap`, if the communicator has a
// topology. If Copse cannot make calls among these neighbours, the result is empty on all ranks, and `why_not` is the reason.
std::optional<Neighborhood> meet_neighbors(MPI_Comm comm, communicator::Bootstrap& bootstrap, std::string& why_not);

// Returns the neighbourhood of an intercommunicator: every rank and all ranks of the other group are neighbours in both directions.
Neighborhood between(const TwoGroups& groups);

}  // namespace copse::mpi
