// allgather, multi-leader: the leader of each NUMA region takes the blocks of its region. The leaders exchange what they
// have, and each region takes the rest from its leader (Kandalla et al. 2009).
// Cost: 3 a + (2P + P/R) n b at each of R leaders.
// Wins: small blocks on several regions: every link between leaders is crossed once each way.
#include "algorithms/patterns/exchange.hpp"
#include "algorithms/patterns/node_trees.hpp"

namespace copse::algorithms {

plan::Plan allgather_multi_leader(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::Tree forest = cut_between(request.machine_tree(shape::Form::flat), request, topology::Level::numa);
  builder.loop();
  allgather_in(builder, request, 0, forest_rounds(forest, request.rank), From::zero);
  return builder.finish();
}

}  // namespace copse::algorithms
