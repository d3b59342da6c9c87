// The world of the program. Some ranks of MPI_COMM_WORLD may be helpers that never enter the program (outside.hpp). Then a
// communicator of the other ranks stands for MPI_COMM_WORLD (docs/decisions/out-of-world.md).
#pragma once

#include <vector>

#include "family.hpp"

namespace copse::mpi {

// Returns the communicator that the program takes for MPI_COMM_WORLD.
[[nodiscard]] MPI_Comm world();
// Returns the number of its ranks.
[[nodiscard]] int world_size();

// The ranks of MPI_COMM_WORLD on this node. Making it is collective.
class NodeRanks {
 public:
  NodeRanks();
  ~NodeRanks();
  NodeRanks(const NodeRanks&) = delete;
  NodeRanks& operator=(const NodeRanks&) = delete;
  [[nodiscard]] bool made() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm comm() const { return comm_; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, ranks_ = 1;
};

// Tells whether the library is loaded that gives the program another communicator for MPI_COMM_WORLD.
[[nodiscard]] bool can_stand_in();
// From now on, `comm` stands for MPI_COMM_WORLD. `members` are the ranks that its ranks have there.
void stand_in(MPI_Comm comm, std::vector<int> members);
// Frees that communicator, if there is one. Collective over the program's ranks.
void end_standing_in();

}  // namespace copse::mpi
