// Blocks for pairs of ranks on several nodes, in an alltoall of all ranks or of neighbours. All blocks from the ranks of one node
// to those of another cross the wire as one message (Kumar et al. 2008; Collom, Li, Bienz 2023). Inside a node blocks go directly.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// All blocks that the ranks of one node have for the ranks of another. In each node one rank speaks. The speaker of the first node
// packs the blocks of its node and sends them. The speaker of the second node gives them to the ranks there.
struct Talk {
  struct Part {
    int from;
    std::span<const int> to;  // ascending
  };
  int here = -1;  // who speaks on this rank's node
  int there = -1;  // who speaks on the other node; only the speaker of this node asks for that
  std::vector<Part> parts;  // ascending by `from`
  // If blocks lie packed at the speaker of this node, the index of the first of them. exchange_by_talks() writes it.
  std::uint32_t base = 0;
};

// The talks of one node, in the order in which a speaker holds them: those of blocks that leave it, and those of blocks that come.
struct Talks {
  Talks() = default;
  Talks(Talks&&) = default;  // a copy would refer to the takers of the original
  std::vector<Talk> leaving, coming;
  std::vector<Group> takers;  // of the parts, where no other list stays as long
};

// Inside a loop: moves the blocks of all pairs for which has_edge(from, to) is true. `talks` has those that leave this rank's node,
// and those that come to it. If only one rank of the node has blocks to send in a talk, or only one gets some, it must be the
// speaker, and nothing is packed there. Uses areas 0 to 2, and scratches 0 and 1. If there are several nodes, all ranks must have
// said give_from_scratch().
void exchange_by_talks(plan::Builder& builder, const Request& request, Talks talks,
                       const std::function<bool(int from, int to)>& has_edge);

// Tell whether the speaker of a talk packs blocks of others, or gives blocks to others.
[[nodiscard]] bool gathers(const Talk& leaving);
[[nodiscard]] bool spreads(const Talk& coming);

// For an alltoall of all ranks. The ranks of a node take turns as its speakers: speaker_for() returns who speaks on node `of` to
// node `with`. most_held() returns the most blocks that a rank shares inside its node, or packs for other nodes.
[[nodiscard]] int speaker_for(const Groups& nodes, std::size_t of, std::size_t with);
[[nodiscard]] std::uint32_t most_held(const Request& request);

}  // namespace copse::algorithms
