// Large blocks that come from many ranks, or go to many, one copy at a time.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Gather (by put) and scatter (by get) of large blocks. All ranks but the root stand in rings. In each ring a token goes
// round, and the rank that has it copies (NUMACol 3.2). A rank passes the token on before it copies the last fragment. So
// blocks smaller than a fragment, which is the paper's threshold, do not wait for each other. Ranks of the root's NUMA region
// pass it on at once, because their copies stay off the links. Uses areas 0 and 1.
void pass_tokens(plan::Builder& builder, const Request& request, int tokens);

// Gather (by get) and scatter (by put) of large blocks, where the root alone copies. The root goes round the ranks after it,
// and tells each rank when its whole block has been copied (NUMACol Table 1). Uses area 0.
void go_round(plan::Builder& builder, const Request& request);

}  // namespace copse::algorithms
