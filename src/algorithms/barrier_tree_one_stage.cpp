// barrier, tree with a release in one stage: arrivals go up a k-nomial tree over the machine's levels, and then every rank
// reads the root's signal (HMPI 2.6 with the one-stage broadcast of 2.2).
// Cost: ceil(log_k Q) (k-1) a inside a region of Q ranks, as much for each level above it, and a for the release
// Wins: one package with a cache that all share: HMPI found one stage best on two sockets
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_tree_one_stage(const Request& request) {
  plan::Builder builder = request.builder();
  meet(builder, request.machine_tree(shape::Form::k_nomial), request.ranks_tree(shape::Form::flat), request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
