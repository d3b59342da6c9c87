// broadcast, multi_lane: as many ranks of each node lead as the radix says. The root gives each leader of its node a part of the
// message. Each part goes along a chain of nodes, from leader to leader, and the ranks of a node take the parts from its leaders
// (Traeff and Hunold 2020; NUMACol 3).
// Cost: (N - 2 + F) (a + n/(LF) b) over N nodes for L leaders and F fragments, and n b inside a node
// Wins: long messages on several nodes, where one rank does not fill the network
#include "algorithms/patterns/columns.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;

void give_from_root(Builder& builder, const Request& request, const Columns& columns) {
  const std::vector<int> others = columns.others_beside(request.rank);
  std::vector<int> readers;
  std::vector<plan::Range> parts;
  for (const int other : others) {
    for (int column = 0; column < columns.count(); ++column) {
      readers.push_back(other);
      parts.push_back(columns.part(column));
    }
  }
  if (!readers.empty()) builder.give_parts(0, readers, parts, Builder::input());
  builder.reclaim(others);
}

}  // namespace

plan::Plan broadcast_multi_lane(const Request& request) {
  Builder builder = request.builder();
  const Columns columns(request);
  const int rank = request.rank, here = columns.node_of(rank);
  const bool is_root = rank == request.root, beside_root = here == columns.node_of(request.root);
  const Chain chain(columns, request.root, rank);
  const std::optional<int> led = columns.led_by(rank);
  const auto take = [&](int area, int from, int column) {
    const Operand home = Builder::output(columns.part(column));
    const Operand as = from == request.root ? Builder::input(home.range) : home;
    builder.bring(area, from, as, home);
  };

  builder.loop();
  if (is_root) give_from_root(builder, request, columns);
  if (led) {
    std::vector<int> readers;
    if (chain.after) readers.push_back(columns.leader(*chain.after, *led));
    if (!beside_root)
      for (const int other : columns.others_beside(rank)) readers.push_back(other);
    if (!is_root) take(beside_root ? 0 : 1, beside_root ? request.root : columns.leader(*chain.before, *led), *led);
    builder.give(1, readers, is_root ? Builder::input(columns.part(*led)) : Builder::output(columns.part(*led)));
    builder.reclaim(readers);
    builder.lag(1);
  }
  for (int column = 0; !is_root && column < columns.count(); ++column)
    if (column != led) take(beside_root ? 0 : 1, beside_root ? request.root : columns.leader(here, column), column);
  return builder.finish();
}

}  // namespace copse::algorithms
