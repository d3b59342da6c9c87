// reduce, flat: the root takes every rank's message and combines them (UPC REF).
// Cost: a + (P-1) n (b + c) through lines and slots, a + (P-1) n c by get
// Wins: two to four ranks; short messages of ranks that share too few processors
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_flat(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  combine_up(builder, request.ranks_tree(shape::Form::flat), request.rank, 0, request.root);
  return builder.finish();
}

}  // namespace copse::algorithms
