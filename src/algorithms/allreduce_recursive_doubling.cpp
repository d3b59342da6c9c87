// allreduce, recursive doubling: partners exchange what they have and both combine it, lower ranks first. Where the
// number of ranks is no power of two, neighbours pair up first, and the odd one of a pair gets the result at the end
// (Thakur et al. 2005); so every partial result stands for an interval of ranks, and rank order is kept.
#include <bit>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan allreduce_recursive_doubling(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int rank = request.rank;
  const int members = static_cast<int>(std::bit_floor(static_cast<unsigned>(request.ranks)));
  const int pairs = request.ranks - members;
  const int rounds = std::bit_width(static_cast<unsigned>(members)) - 1;
  const int last_area = rounds + 1;
  builder.loop();

  if (rank < 2 * pairs && rank % 2 == 1) {
    const std::int32_t partner[] = {rank - 1};
    builder.give(0, partner, Builder::input());
    builder.copy(Builder::output(), builder.take(last_area, rank - 1, Builder::output(), Builder::output()));
    return builder.finish();
  }

  const int member = rank < 2 * pairs ? rank / 2 : rank - pairs;
  const auto rank_of = [&](int m) { return m < pairs ? 2 * m : m + pairs; };
  // What this rank has so far is `low` op `high`; it is computed into the place from which it is given on.
  Operand low = Builder::input(), high{};
  if (rank < 2 * pairs) high = builder.take(0, rank + 1, Builder::input(), builder.scratch(0));
  const auto settle = [&](Operand place) {
    if (high.space == plan::Space::none) {
      builder.copy(place, low);
    } else {
      builder.reduce(place, low, high);
    }
  };
  for (int round = 0; round < rounds; ++round) {
    const int other = rank_of(member ^ (1 << round));
    const std::int32_t partner[] = {other};
    const Operand mine = builder.open(round + 1, partner, builder.scratch(round + 1));
    settle(mine);
    builder.post(round + 1, partner, mine);
    const Operand theirs = builder.take(round + 1, other, mine, builder.scratch(0));
    low = other < rank ? theirs : mine;
    high = other < rank ? mine : theirs;
  }
  settle(Builder::output());
  if (rank < 2 * pairs) {
    const std::int32_t partner[] = {rank + 1};
    builder.give(last_area, partner, Builder::output());
  }
  return builder.finish();
}

}  // namespace copse::algorithms
