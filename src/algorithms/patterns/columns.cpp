// Teams, the columns of their leaders, and what follows from them.
#include "algorithms/patterns/columns.hpp"

#include <algorithm>

#include "algorithms/patterns/rounds.hpp"

namespace copse::algorithms {

using topology::Level;

Columns::Columns(const Request& request)
    : nodes_(request.shared->groups(Level::node)), regions_(request.shared->inside(Level::node, Level::numa)),
      places_(request.places), count_(std::min(request.radix, static_cast<int>(nodes_.smallest()))) {}

std::vector<int> Columns::team(int node, int column) const {
  std::vector<int> ranks;
  for (const Group& region : regions_[static_cast<std::size_t>(node)]) ranks.insert(ranks.end(), region.begin(), region.end());
  const auto start = [&](int of) { return ranks.begin() + static_cast<std::ptrdiff_t>(ranks.size()) * of / count_; };
  return {start(column), start(column + 1)};
}

int Columns::leader(int node, int column) const {
  const std::vector<int> ranks = team(node, column);
  return places_ == nullptr ? ranks.front() : topology::speaker_of(ranks, *places_);
}

std::optional<int> Columns::led_by(int rank) const {
  for (int column = 0; column < count_; ++column)
    if (leader(node_of(rank), column) == rank) return column;
  return std::nullopt;
}

std::vector<int> Columns::leaders_beside(int rank) const {
  std::vector<int> result;
  for (int column = 0; column < count_; ++column)
    if (const int each = leader(node_of(rank), column); each != rank) result.push_back(each);
  return result;
}

std::vector<int> Columns::others_beside(int rank) const {
  std::vector<int> result = nodes_.of(rank);
  std::erase(result, rank);
  return result;
}

plan::Range Columns::part(int column) const { return {static_cast<std::uint32_t>(column), 1, static_cast<std::uint32_t>(count_)}; }

plan::Range Columns::piece(int column, int number) const {
  return {static_cast<std::uint32_t>(column * nodes() + number), 1, static_cast<std::uint32_t>(count_ * nodes())};
}

const shape::SurveyedTree& column_tree(const Request& request) {
  return request.shared->tree({"columns", {request.radix, request.root}}, [&] {
    const Columns columns(request);
    const int home = columns.node_of(request.root);
    shape::Tree tree = shape::unlinked(request.ranks, request.root);
    const auto hang = [&tree](int child, int parent) {
      if (child == parent) return;
      tree.parent[static_cast<std::size_t>(child)] = parent;
      tree.children[static_cast<std::size_t>(parent)].push_back(child);
    };
    for (const int rank : columns.ranks_of(home)) hang(rank, request.root);
    for (int node = 0; node < columns.nodes(); ++node) {
      for (int column = 0; node != home && column < columns.count(); ++column) {
        const int leader = columns.leader(node, column);
        hang(leader, columns.leader(home, column));
        for (const int rank : columns.team(node, column)) hang(rank, leader);
      }
    }
    shape::order_children(tree);
    return shape::SurveyedTree(std::move(tree));
  });
}

Rounds column_rounds(const Request& request, int rank) {
  const Columns columns(request);
  const int home = columns.node_of(rank);
  const std::optional<int> led = columns.led_by(rank);
  // Returns the blocks that a column carries for a range of nodes, but not that of rank `without`.
  const auto carried = [&](int column, const plan::Range& nodes, int without) {
    std::vector<int> blocks;
    for (std::uint32_t i = 0; i < nodes.count; ++i)
      for (const int each : columns.team(static_cast<int>((nodes.first + i) % nodes.of), column))
        if (each != without) blocks.push_back(each);
    return runs_of(std::move(blocks), request.ranks);
  };
  constexpr int kNobody = -1;

  Rounds rounds(1);
  for (int column = 0; column < columns.count(); ++column) {
    const std::vector<int> team = columns.team(home, column);
    if (std::find(team.begin(), team.end(), rank) == team.end()) continue;
    if (const int leader = columns.leader(home, column); leader != rank)
      rounds.front().given.push_back({leader, {request.block(rank)}});
    for (const int each : team)
      if (led && each != rank) rounds.front().taken.push_back({each, {request.block(each)}});
  }
  for (const Round& between : doubling_rounds(columns.nodes(), home)) {
    Round& round = rounds.emplace_back();
    if (!led) continue;
    for (const auto side : {&Round::given, &Round::taken})
      for (const Parcel& parcel : between.*side)
        (round.*side).push_back({columns.leader(parcel.rank, *led), carried(*led, parcel.blocks.front(), kNobody)});
  }
  const plan::Range everywhere{0, static_cast<std::uint32_t>(columns.nodes()), static_cast<std::uint32_t>(columns.nodes())};
  Round& last = rounds.emplace_back();
  for (const int other : columns.others_beside(rank)) {
    if (led) last.given.push_back({other, carried(*led, everywhere, other)});
    if (const auto column = columns.led_by(other)) last.taken.push_back({other, carried(*column, everywhere, rank)});
  }
  return rounds;
}

}  // namespace copse::algorithms
