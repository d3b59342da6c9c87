// What Copse knows of an MPI communicator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "communicator/communicator.hpp"
#include "real.hpp"
#include "sides.hpp"

namespace copse::mpi {

// Calls under way keep it beyond the life of the MPI's communicator.
struct CommState : std::enable_shared_from_this<CommState> {
  MPI_Comm comm{};
  bool freed = false;  // the MPI's communicator, by the program
  bool attached = true;  // the MPI tells when it frees the communicator; else only its wrapped calls do (Freeing)
  int rank = 0, ranks = 1;
  bool devices = false;  // some rank may give memory of one (devices.hpp)
  std::unique_ptr<communicator::Communicator> copse;  // null: calls are passed on
  std::string why_not;                                // then
  std::optional<bool> strict_order;  // do all ranks start persistent calls in one order? Known after the first
  SideMemory input, output;
};

}  // namespace copse::mpi
