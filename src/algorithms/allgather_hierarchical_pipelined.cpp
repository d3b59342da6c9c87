// allgather, hierarchical and pipelined: every rank gives its block straight to rank 0, and all blocks go down a tree from
// there. On a machine of one level, the tree has two levels: the leaders of the regions take the blocks from rank 0, and the
// ranks of each region take them from their leader (KNEM VI.E, which puts the broadcast of KNEM V after the gather of KNEM
// IV.B). While fragments are on their way down, the next ones are gathered.
// Cost: (2 + n/m) (a + P m b) with fragments of m bytes; P-1 blocks enter the memory of rank 0, and R-1 leaders read it
// Wins: against gather_broadcast, on several NUMA regions: all blocks cross each link between two regions once
#include "algorithms/patterns/blocks.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allgather_hierarchical_pipelined(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int rank = request.rank;
  const plan::Range mine = request.block(rank), all = request.block(0, request.ranks);
  const auto new_to = [&](int other) {  // the blocks before and after that rank's own
    std::vector<plan::Range> result;
    if (other > 0) result.push_back(request.block(0, other));
    if (other + 1 < request.ranks) result.push_back(request.block(other + 1, request.ranks - 1 - other));
    return result;
  };
  const shape::SurveyedTree& down = request.flat_levels_tree();
  const auto& children = down.children[static_cast<std::size_t>(rank)];
  builder.pack(all.count);

  builder.loop();
  gather_up(builder, request.ranks_tree(shape::Form::flat), rank, 0);
  if (rank != down.root) builder.copy(Builder::output(mine), Builder::input(mine));
  builder.lag(kLag);
  if (rank != down.root) {
    for (const plan::Range& blocks : new_to(rank)) {
      const plan::Operand home = Builder::output(blocks);
      builder.bring(1, down.parent[static_cast<std::size_t>(rank)], home, home, all);
    }
  }
  if (!children.empty()) {
    std::vector<int> readers;
    std::vector<plan::Range> parts;
    for (const int child : children) {
      for (const plan::Range& blocks : new_to(child)) parts.push_back(blocks);
      readers.resize(parts.size(), child);
    }
    builder.give_parts(1, readers, parts, Builder::output(all));
  }
  builder.reclaim(children);
  return builder.finish();
}

}  // namespace copse::algorithms
