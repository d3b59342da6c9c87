// reduce_scatter, reduce then scatter: all blocks are combined up a tree over the ranks in order. Every rank then takes its
// own block from the line or slot of rank 0 (HMPI 2.6).
// Cost: ceil(log_k P) (k-1) (a + P n (b + c)) + a + n b.
// Wins: very small blocks on many ranks, and between nodes if rank order must be kept.
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_reduce_then_scatter(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const plan::Range all = request.block(0, request.ranks), mine = request.block(request.rank);
  const shape::SurveyedTree& tree = request.ranks_tree(shape::Form::k_nomial);
  const Operand result = Builder::output(mine);
  builder.pack(all.count);
  builder.loop();
  const auto others = request.others();
  Operand combined = combine_in_root(builder, tree, request.rank, 0, others, all);
  if (request.rank == tree.root) {
    std::vector<Operand> parts;
    for (const int other : others) {
      parts.push_back(combined);
      parts.back().range = request.block(other);
    }
    builder.post(1, others, parts);
    combined.range = mine;
    builder.copy(result, combined);
  } else {
    builder.bring(1, tree.root, Builder::in_slot(mine), result, all);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
