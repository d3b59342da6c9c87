// neighbor_alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks are short, they ride
// together with its publication, and the rank waits for nobody who takes them. Longer ones are read where they lie, as in KNEM's
// scatter (KNEM IV.B). Nobody needs to know all lengths, so none are exchanged (docs/decisions/one-way.md). A neighbour on another
// node gets a message, whose length both know.
// Cost: a + d n b for short blocks to and from d neighbours; 2 a + d n b for long ones
// Wins: wherever all buffers can be reached
#include <algorithm>

#include "algorithms/patterns/patterns.hpp"

namespace copse::algorithms {

namespace {

// Returns how many blocks a giver has for ranks of its own node before that for `rank`, which is one of them.
std::uint32_t ridden_before(const Request& request, int giver, int rank) {
  const Groups& nodes = request.shared->groups(topology::Level::node);
  const auto before = [&](int taker) { return taker < rank && nodes.index_of(taker) == nodes.index_of(giver); };
  const std::vector<int>& takers = request.graph->takers_of(giver);
  return static_cast<std::uint32_t>(std::count_if(takers.begin(), takers.end(), before));
}

}  // namespace

plan::Plan neighbor_alltoall_one_way(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const int rank = request.rank;
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  std::vector<int> near, far;
  std::vector<plan::Range> ridden;
  std::vector<plan::Operand> sent;
  for (const int taker : request.graph->takers_of(rank)) {
    if (builder.shares_memory_with(taker)) {
      near.push_back(taker);
      ridden.push_back(request.pair(rank, taker));
    } else {
      far.push_back(taker);
      sent.push_back(Builder::input(request.pair(rank, taker)));
    }
  }
  builder.ride(near, ridden);
  builder.post(0, far, sent);
  const plan::Range own = request.pair(rank, rank);
  if (request.graph->has_edge(rank, rank)) builder.copy(Builder::output(own), Builder::input(own));
  for (const Graph::Giver& giver : request.givers()) {
    const std::uint32_t number = builder.shares_memory_with(giver.rank) ? ridden_before(request, giver.rank, rank) : 0;
    builder.take_ride(giver.rank, request.pair(giver.rank, rank), number);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
