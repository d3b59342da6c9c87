// What the ranks of a node can reach of one another's memory. Each rank tries it, and all ranks agree on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/card.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

// What the cards say, and what the first ranks of the nodes have found out (survey.hpp).
struct Census {
  int rank = 0;
  std::vector<Card> cards;
  std::vector<int> here;  // the ranks of this rank's node
  int nodes = 0;
  bool crowded = false;  // more ranks than processors on some node
  std::uint64_t last_cache_bytes = 0;  // see NodeFacts

  [[nodiscard]] const Card& card(int other) const { return cards[static_cast<std::size_t>(other)]; }
  [[nodiscard]] const Card& mine() const { return card(rank); }
  [[nodiscard]] int leader() const { return here.front(); }
};

struct Reach {
  std::vector<engine::Peer> peers;                      // by rank
  std::vector<std::shared_ptr<engine::Mapping>> heaps;  // the shared heaps in which `peers` locates buffers
  std::string heap_why_not, kernel_why_not;             // why it does not work from here; empty: it works
  bool threads = true;                                  // all ranks of this node are threads of this process
};
[[nodiscard]] Reach find_reach(const Census& census, const choose::Settings& settings);

}  // namespace copse::communicator
