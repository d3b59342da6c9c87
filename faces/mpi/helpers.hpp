// The helper processes of this node (docs/decisions/helpers.md). They are no part of the MPI's world.
#pragma once

#include "communicator/bootstrap.hpp"
#include "state.hpp"

namespace copse::mpi {

// Starts the helpers that COPSE_COLLECTIVE_PROCESSORS asks for, on every node. Collective over the world.
void start_helpers();
// Tells whether there are helpers on this node.
[[nodiscard]] bool have_helpers();

// Makes a communicator of these ranks and of the node's helpers. If that fails, the result is null on every rank, and the trace
// says why. Collective over the ranks of `callers`.
[[nodiscard]] std::unique_ptr<communicator::Communicator> meet_helpers(communicator::Bootstrap& callers);

// Lets the helpers go, after the last communicator.
void dismiss_helpers();

}  // namespace copse::mpi
