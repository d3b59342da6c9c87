// reduce, multi_lane: as many ranks of each node lead as the radix says. Each leader combines its part of the messages of its node,
// and adds what comes from the next node along a chain. The leaders of the root's node give the root the finished parts (Bayatpour
// et al. 2017, "Scalable Reduction Collectives with Data Partitioning-based Multi-Leader Design"; Traeff and Hunold 2020).
// Cost: (N - 2 + F) (a + Q n/(LF) (b + c)) over N nodes of Q ranks, for L leaders and F fragments, and n b to the root
// Wins: long messages on several nodes, where one rank does not fill the network, or combines too slowly
#include "algorithms/patterns/columns.hpp"
#include "algorithms/patterns/tiles.hpp"

namespace copse::algorithms {

plan::Plan reduce_multi_lane(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  builder.keep_in_slots();
  const Columns columns(request);
  const Chain chain(columns, request.root, request.rank);
  const int rank = request.rank;
  const std::vector<int> leaders = columns.leaders_beside(rank);
  const auto partial = [&](int column) { return Builder::in_slot(columns.part(column)); };

  builder.loop();
  std::vector<plan::Range> parts;
  for (const int leader : leaders) parts.push_back(columns.part(*columns.led_by(leader)));
  builder.share_input(0, leaders, parts);
  if (const auto led = columns.led_by(rank)) {
    const plan::Range mine = columns.part(*led);
    std::vector<Fetch> items{[mine] { return Builder::input(mine); }};
    for (const int member : columns.others_beside(rank))
      items.emplace_back([&builder, member, mine] { return builder.take_part(0, member, mine, builder.scratch(0, mine)); });
    if (chain.after) {
      items.emplace_back([&, from = columns.leader(*chain.after, *led)] {
        return builder.take(1, from, partial(*led), builder.scratch(0, mine));
      });
    }
    if (rank == request.root) {
      fold(builder, Builder::output(mine), items, 0);
    } else {
      const int area = chain.before ? 1 : 2;
      const std::vector<int> up{chain.before ? columns.leader(*chain.before, *led) : request.root};
      const Operand place = builder.open(area, up, partial(*led));
      fold(builder, place, items, 0);
      builder.post(area, up, place);
    }
  }
  if (rank == request.root) {
    std::vector<Finished> finished;
    for (const int leader : leaders) finished.push_back({leader, partial(*columns.led_by(leader))});
    take_finished(builder, 2, finished);
  }
  builder.reclaim_input(leaders);
  return builder.finish();
}

}  // namespace copse::algorithms
