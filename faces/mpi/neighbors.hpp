// The neighbours of a communicator's ranks: what MPI calls its virtual topology (MPI-4.1, 8).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "algorithms/graph.hpp"
#include "communicator/bootstrap.hpp"
#include "family.hpp"

namespace copse::mpi {

// Who gives to this rank and to whom it gives, in the order of the blocks in its buffers. MPI_PROC_NULL has a block that is not
// used.
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

}  // namespace copse::mpi
