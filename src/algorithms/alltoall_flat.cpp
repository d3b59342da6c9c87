// alltoall, flat: every rank takes its block from every other rank, beginning with the next one. So no two ranks read from
// the same rank at the same time (the rotated order of KNEM IV.C). There is one round: a rank packs its blocks for all the
// others.
// Cost: a + (P-1) n b; twice the copies if staged.
// Wins: nearly always within a node; for very small blocks on very many ranks, fewer signals are better (bruck).
#include "algorithms/patterns/blocks.hpp"
#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

plan::Plan alltoall_flat(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  builder.loop();
  share_blocks(builder, request, 0);
  take_blocks(builder, request, 0, request.others());
  return builder.finish();
}

}  // namespace copse::algorithms
