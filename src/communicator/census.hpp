// What the ranks of a communicator know of one another while it is made.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "communicator/card.hpp"

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
  // Returns how many ranks of this node there are for each processor on which some of them may run. If the system does not tell
  // where they may run, the result is 1.
  [[nodiscard]] double crowding() const {
    const int processors = processors_for(cards, here);
    return processors == 0 ? 1 : std::max(1.0, static_cast<double>(here.size()) / processors);
  }
};

}  // namespace copse::communicator
