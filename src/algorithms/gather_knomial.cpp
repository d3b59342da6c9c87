// gather, knomial: blocks go up a k-nomial tree over the ranks in order, wherever they sit, through intermediate buffers
// (NUMACol 3.2, Figure 2; UPC BCOL, binomial). A branch is an interval of ranks, so it travels in one piece. Under get and
// put (NUMACol's pull and push), the buffers are scratches, as in NUMACol: they hold whole messages, and are kept from call
// to call up to 16 MiB. Here fragments are pieces of every block, so NUMACol's halves do overlap the levels.
// Cost: ceil(log_k P) (k-1) a + (P-1) n b at the root, after as much again below it: ranks of m blocks copy m n b
// Wins: blocks of up to some hundred bytes on many ranks: the root waits for few ranks
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_knomial(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, request.ranks_tree(shape::Form::k_nomial), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
