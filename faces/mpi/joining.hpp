// When Copse begins to serve a communicator, and how: the ranks look whether it pays, and meet.
#pragma once

#include "state.hpp"

namespace copse::mpi {

// Begins to count the calls on a communicator that Copse may serve, from COPSE_JOIN.
void expect(CommState &state);

// Returns true if Copse serves the communicator from this call on. Collective over the communicator: all ranks call it
// before the same call, which waits for other ranks. With `at_once` Copse begins whether or not it pays.
bool join(CommState &state, bool at_once);

}  // namespace copse::mpi
