// gather, hierarchical: blocks go up k-nomial trees over every level of the machine (NUMACol 3, Table 1: hierarchical
// binomial). If the ranks are not placed in blocks, a branch is not an interval of ranks and travels in pieces. That costs
// copies of single blocks, and gaps. NUMACol 3.2 therefore builds this tree over the ranks in order (knomial).
// Cost: sum over L levels of ceil(log_k g) (k-1) a, g being a level's groups in one above, and (P-1) n b at the root
// Wins: small blocks over several NUMA regions or nodes, with the ranks in blocks: each boundary is crossed once
#include "algorithms/patterns/blocks.hpp"

namespace copse::algorithms {

plan::Plan gather_hierarchical(const Request& request) {
  plan::Builder builder = request.builder();
  builder.loop();
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  gather_up(builder, request.machine_tree(shape::Form::k_nomial), request.rank, 0);
  return builder.finish();
}

}  // namespace copse::algorithms
