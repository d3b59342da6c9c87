// When Copse begins to serve a communicator, and how: the ranks look whether it pays, and meet.
#pragma once

#include "state.hpp"

namespace copse::mpi {

namespace detail {
extern constinit thread_local bool asking_mpi;
}
// Copse's own requests to the MPI may run collectives inside the MPI. Those must not come back to Copse. While this
// lives, this thread's calls are passed on.
class AskingMpi {
 public:
  AskingMpi() { detail::asking_mpi = true; }
  ~AskingMpi() { detail::asking_mpi = false; }
  AskingMpi(const AskingMpi&) = delete;
  AskingMpi& operator=(const AskingMpi&) = delete;
};

// Begins to count the calls on a communicator that Copse may serve, from COPSE_JOIN.
void expect(CommState& state);

// Returns true if Copse serves the communicator from this call on. Collective over the communicator: all ranks call it
// before the same call, which waits for other ranks. With `at_once` Copse begins whether or not it pays.
bool join(CommState& state, bool at_once);

}  // namespace copse::mpi
