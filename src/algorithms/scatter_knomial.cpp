// scatter, knomial: blocks go down a k-nomial tree over the ranks in order, wherever they sit, through intermediate buffers
// (NUMACol 3.2, Figure 2; UPC BCOL, binomial). A branch is an interval of ranks, so it travels in one piece. Under get and
// put (NUMACol's pull and push), the buffers are scratches, as in NUMACol: they hold whole messages, and are kept from call
// to call up to 16 MiB. Fragments (NUMACol's static and dynamic ones) overlap the levels.
// Cost: ceil(log_k P) (k-1) a + (P-1) n b for k = 2: half the blocks, a quarter, ... on the longest way
// Wins: blocks of up to some hundred bytes on many ranks: the root serves few
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan scatter_knomial(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  scatter_down(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
