// gather, one way: the root waits for the other ranks. As long as their blocks are short, none of them waits for the root
// (Copse). A short block rides with the publication that says that it is there. A longer one is written into the root's
// output, as in KNEM's gather (KNEM IV.B). Each rank decides by the length of its own block, which only it and the root know.
// So this is the gatherv that exchanges no sizes (docs/decisions/one-way.md). A rank of another node sends a message.
// Cost: a + n b for a short block; 2 a + n b for a long one
// Wins: blocks of different lengths, wherever all buffers can be reached
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan gather_one_way(const Request& request) {
  using plan::Builder;
  plan::Builder builder = request.builder();
  const plan::Range mine = request.block(request.rank);
  if (request.rank != request.root) {
    builder.ride({&request.root, 1}, {&mine, 1});
    return builder.finish();
  }
  for (const int other : request.others())
    if (builder.shares_memory_with(other)) builder.expose_output();
  builder.copy(Builder::output(mine), Builder::input(mine));
  for (const bool near : {false, true})  // so that nothing keeps it from expecting the messages
    for (const int other : request.others())
      if (builder.shares_memory_with(other) == near) builder.take_ride(other, request.block(other));
  return builder.finish();
}

}  // namespace copse::algorithms
