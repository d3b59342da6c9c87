// Recursive doubling over teams of ranks.
#include "algorithms/patterns/doubling.hpp"

#include <algorithm>
#include <bit>

#include "algorithms/patterns/node_trees.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

int doubling_areas(std::size_t teams) { return std::bit_width(teams) - 1 + (std::has_single_bit(teams) ? 0 : 2); }

namespace {

// Knows which ranks exchange with each other, and which exchanges anybody needs. The first teams form pairs. The members,
// which double up, are the even team of each pair and the teams without a pair.
class Doubling {
 public:
  Doubling(const Teams& teams, const Wanted& wanted)
      : teams_(teams), wanted_(wanted), members_(std::bit_floor(teams.size())), pairs_(teams.size() - members_) {}

  [[nodiscard]] std::size_t members() const { return members_; }
  [[nodiscard]] std::size_t pairs() const { return pairs_; }
  [[nodiscard]] bool paired(std::size_t group) const { return group < 2 * pairs_; }
  [[nodiscard]] std::size_t partner(std::size_t group, std::size_t distance) const {
    const std::size_t member = (paired(group) ? group / 2 : group - pairs_) ^ distance;
    return member < pairs_ ? 2 * member : member + pairs_;
  }

  [[nodiscard]] bool wants(int rank) const { return !wanted_ || wanted_(rank); }
  // Tells whether anybody needs what a rank of a member has before the exchange at this distance.
  [[nodiscard]] bool needs(std::size_t group, int rank, std::size_t distance) const {
    if (wants(rank)) return true;
    if (distance >= members_) return paired(group) && !listeners(group, rank, group ^ 1).empty();
    return needs(group, rank, 2 * distance) || !readers(group, rank, partner(group, distance), 2 * distance).empty();
  }

  // Returns the rank of team `from` that this rank hears. The i-th rank of a team of s ranks is heard, in another team, by
  // the ranks at i, i + s, ...
  [[nodiscard]] int heard(std::size_t group, int rank, std::size_t from) const {
    return teams_[from][teams_.position(group, rank) % teams_[from].size()];
  }
  // Returns the ranks of team `to` that want the result from this rank.
  [[nodiscard]] std::vector<int> listeners(std::size_t group, int rank, std::size_t to) const {
    auto result = images(group, rank, to);
    std::erase_if(result, [&](int reader) { return !wants(reader); });
    return result;
  }
  // Returns the ranks of team `to` that need this rank's value for the exchanges from this distance on.
  [[nodiscard]] std::vector<int> readers(std::size_t group, int rank, std::size_t to, std::size_t distance) const {
    auto result = images(group, rank, to);
    std::erase_if(result, [&](int reader) { return !needs(to, reader, distance); });
    return result;
  }

 private:
  [[nodiscard]] std::vector<int> images(std::size_t group, int rank, std::size_t to) const {
    std::vector<int> result;
    for (std::size_t i = teams_.position(group, rank); i < teams_[to].size(); i += teams_[group].size())
      result.push_back(teams_[to][i]);
    return result;
  }

  const Teams& teams_;
  const Wanted& wanted_;
  std::size_t members_, pairs_;
};

}  // namespace

bool needed_to_double_up(const Teams& teams, int rank, const Wanted& wanted) {
  const Doubling doubling(teams, wanted);
  const std::size_t here = teams.index_of(rank);
  if (doubling.paired(here) && here % 2 == 1) return !doubling.readers(here, rank, here ^ 1, 1).empty();
  return doubling.needs(here, rank, 1);
}

Sum double_up(Builder& builder, const Teams& teams, int rank, int area, Sum mine, const Wanted& wanted) {
  Builder::need_areas(area + doubling_areas(teams.size()));
  const Doubling doubling(teams, wanted);
  const std::size_t here = teams.index_of(rank), neighbour = here ^ 1;
  const int last_area = area + doubling_areas(teams.size()) - 1;
  const bool needed = needed_to_double_up(teams, rank, wanted);

  if (doubling.paired(here)) {
    if (needed && mine.high.space != plan::Space::none) {
      settle(builder, Builder::output(), mine);
      mine = {Builder::output()};
    }
    const int other = doubling.heard(here, rank, neighbour);
    if (here % 2 == 1) {
      if (needed) builder.give(area, doubling.readers(here, rank, neighbour, 1), mine.low);
      if (!doubling.wants(rank)) return {};
      builder.bring(last_area, other, Builder::output(), Builder::output());
      return {Builder::output()};
    }
    if (needed) mine.high = builder.take(area, other, mine.low, builder.scratch(0));
  }
  if (!needed) return {};
  if (doubling.pairs() > 0) ++area;

  for (std::size_t distance = 1; distance < doubling.members(); distance *= 2, ++area) {
    const std::size_t there = doubling.partner(here, distance);
    const auto readers = doubling.readers(here, rank, there, 2 * distance);
    // The sum is computed into the place from which it is given.
    const Operand place = builder.open(area, readers, builder.scratch(area + 1));
    settle(builder, place, mine);
    builder.post(area, readers, place);
    if (!doubling.needs(here, rank, 2 * distance)) return {};
    const Operand theirs = builder.take(area, doubling.heard(here, rank, there), place, builder.scratch(0));
    mine = there < here ? Sum{theirs, place} : Sum{place, theirs};
  }
  if (!doubling.paired(here)) return mine;
  settle(builder, Builder::output(), mine);
  builder.give(last_area, doubling.listeners(here, rank, neighbour), Builder::output());
  return {Builder::output()};
}

void double_up_over_nodes(Builder& builder, const Request& request, int area, const Sum& mine) {
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const int release = area + doubling_areas(nodes.size());
  Builder::need_areas(release + 1);
  if (request.rank == nodes.leader_of(request.rank)) {
    const Group leaders = nodes.leaders_ascending();
    settle(builder, Builder::output(), double_up(builder, Teams::singles(leaders), request.rank, area, mine));
  }
  send_down(builder, below_leaders(request), request.rank, release, Builder::output());
}

}  // namespace copse::algorithms
