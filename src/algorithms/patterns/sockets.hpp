// Reductions in which partial results go round inside each socket.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Inside a loop: combines tile i of the message, or block i, for rank i (movement-avoiding, socket-aware: Peng et al. 2023).
// In every socket, the tile goes round the ranks of the socket, and each rank adds its input. At the end, a rank has the
// tiles of the ranks that have its position in their sockets. It gives these tiles to them, and each of them combines what it
// gets in `result`. `home`, an output or a slot, is where partial results lie if neither line nor slot carries them. Uses areas 0
// and 2. Rank order is not kept.
void reduce_scatter_sockets(plan::Builder& builder, const Request& request, plan::Space home, plan::Operand result);

}  // namespace copse::algorithms
