// neighbor_alltoall, one way: every rank gives as the root of a scatter does, one way (Copse). If its blocks are short, they ride
// together with its publication, and the rank waits for nobody who takes them. Longer ones are read where they lie, as in KNEM's
// scatter (KNEM IV.B). Nobody needs to know all lengths, so none are exchanged (docs/decisions/one-way.md). A neighbour on another
// node gets a message, whose length both know.
// Cost: a + d n b for short blocks to and from d neighbours; 2 a + d n b for long ones
// Wins: wherever all buffers can be reached
#include <algorithm>
#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;

// Returns how many blocks a giver of this node has for ranks of the node before that for this rank.
std::uint32_t ridden_before(const Builder& builder, const Request& request, const Graph::Giver& giver) {
  const auto before = std::span(request.graph->takers_of(giver.rank)).first(static_cast<std::size_t>(giver.number));
  return static_cast<std::uint32_t>(
      std::count_if(before.begin(), before.end(), [&](int taker) { return builder.shares_memory_with(taker); }));
}

}  // namespace

plan::Plan neighbor_alltoall_one_way(const Request& request) {
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
    const std::uint32_t number = builder.shares_memory_with(giver.rank) ? ridden_before(builder, request, giver) : 0;
    builder.take_ride(giver.rank, request.pair(giver.rank, rank), number);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
