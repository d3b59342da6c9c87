// The MPI's own collectives among the leaders of the nodes, on a communicator that the program never sees.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/wire/wire.hpp"
#include "real.hpp"
#include "underway.hpp"

namespace copse::mpi {

class Leaders {
 public:
  // Collective over `comm`. `leaders` are some of its ranks, in ascending order. `rank` is the rank of this process.
  Leaders(MPI_Comm comm, int rank, std::span<const int> leaders);
  ~Leaders();  // collective over the leaders, unless the MPI is being finalised
  Leaders(const Leaders&) = delete;
  Leaders& operator=(const Leaders&) = delete;

  [[nodiscard]] bool are_ready() const { return ready_; }
  [[nodiscard]] static int live();  // returns the number of Leaders in this process
  // These functions do what delegate(), collect() and abandon() of engine::Wire do.
  bool start(const engine::LeadersCall& what, int tag, std::uint64_t ticket);
  engine::Wired collect(int tag, std::uint64_t ticket);
  void abandon();

 private:
  int start_part(const engine::LeadersCall& part, int root, MPI_Request& request) const;

  MPI_Comm comm_ = MPI_COMM_NULL;  // null on ranks that do not lead
  bool ready_ = false;
  std::vector<int> leaders_;
  std::vector<Started> started_;
};

}  // namespace copse::mpi
