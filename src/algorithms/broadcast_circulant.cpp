// broadcast, circulant: blocks travel over a circulant graph. In every round a rank gives one block and gets one, and there
// are as few rounds as possible (Traeff 2024, arXiv 2407.18004). Here a message has four blocks for every round that the
// first block takes to reach all ranks. A rank gives a block to its takers as soon as it has it. Over the wire, the block
// goes in its round.
// Cost: (N - 1 + ceil(log2 P)) (a + n b / N) with N = 4 ceil(log2 P) blocks: at most 5/4 n b
// Wins: long messages on any number of equally near ranks; fewer rounds than a ring, and no rank reads all data of another
#include "algorithms/registry.hpp"
#include "shape/circulant.hpp"

namespace copse::algorithms {

plan::Plan broadcast_circulant(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int ranks = request.ranks, turned = (request.rank - request.root + ranks) % ranks;
  const std::vector<int> skips = shape::circulant_skips(ranks);
  const int latency = static_cast<int>(skips.size()), blocks = 4 * latency;
  const auto block_of = [&](int block) {
    return plan::Range{static_cast<std::uint32_t>(block), 1, static_cast<std::uint32_t>(blocks)};
  };
  const auto rank_of = [&](int position) { return (position + request.root) % ranks; };

  struct Move {
    int block, round, peer, portion;
  };
  const auto arrivals_at = [&](int position) { return shape::circulant_arrivals(ranks, position, blocks); };
  const auto mine = arrivals_at(turned);
  std::vector<Move> gives, takes;
  for (int skip : skips) {
    const int to = (turned + skip) % ranks, from = (turned + ranks - skip) % ranks;
    const auto theirs = arrivals_at(to), before = arrivals_at(from);
    for (int block = 0; block < blocks; ++block) {
      const auto at = static_cast<std::size_t>(block);
      if (to != 0 && theirs[at].from == turned) gives.push_back({block, theirs[at].round, rank_of(to), 0});
      if (turned != 0 && mine[at].from == from) takes.push_back({block, mine[at].round, rank_of(from), before[at].round});
    }
  }

  builder.loop();
  const auto give_block = [&](int block, int round) {
    std::vector<int> near;
    for (const Move& give : gives)
      if (give.block == block && builder.shares_memory_with(give.peer)) near.push_back(give.peer);
    builder.portion(round);
    const plan::Operand value = turned == 0 ? Builder::input(block_of(block)) : Builder::output(block_of(block));
    if (!near.empty()) builder.give(0, near, value);
    builder.reclaim(near);
  };
  for (int round = 0; round < blocks - 1 + latency; ++round) {
    if (turned == 0 && round < blocks) give_block(round, round);
    for (const Move& give : gives) {
      if (give.round != round || builder.shares_memory_with(give.peer)) continue;
      const std::vector<int> far{give.peer};
      builder.give(0, far, turned == 0 ? Builder::input(block_of(give.block)) : Builder::output(block_of(give.block)));
    }
    for (const Move& take : takes) {
      if (take.round != round) continue;
      const plan::Operand home = Builder::output(block_of(take.block));
      const plan::Operand as = take.peer == request.root ? Builder::input(home.range) : home;
      builder.portion(take.portion);
      builder.bring(0, take.peer, as, home);
      give_block(take.block, round);
    }
  }
  return builder.finish();
}

}  // namespace copse::algorithms
