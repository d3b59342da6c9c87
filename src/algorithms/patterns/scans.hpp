// Prefixes.
#pragma once

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Prefixes, inside a loop, in rank order. The output gets the combined values of the ranks before this one and, unless
// `exclusive`, of this one. These functions use lines or slots only. Input and output may be the same memory, so other ranks
// may not read the buffers of a rank that goes on.
//
// Every rank takes the inputs of all ranks before it.
void flat_prefixes(plan::Builder& builder, const Request& request, bool exclusive);
// In round i, every rank gives the rank 2^i ahead what it has of the 2^i ranks up to itself (Hillis and Steele 1986).
void doubling_prefixes(plan::Builder& builder, const Request& request, bool exclusive);
// A rank whose number ends in t ones combines the 2^t ranks up to itself, and gives the result to the rank at the end of the
// next such block. Then prefixes come down the same way (Sanders and Traeff 2006).
void binomial_prefixes(plan::Builder& builder, const Request& request, bool exclusive);

}  // namespace copse::algorithms
