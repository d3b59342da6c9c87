// The ranks of a communicator as one of them reaches them, and the memory that it shares with the ranks of its node.
#pragma once

#include <utility>
#include <vector>

#include "engine/reach/peer.hpp"
#include "engine/segment.hpp"

namespace copse::engine {

struct Neighbours {
  Neighbours(const Segment& shared, std::vector<Peer> reached, int rank)
      : segment(shared), peers(std::move(reached)), me(rank), me_here(peer(rank).local) {
    for (std::size_t other = 0; other < peers.size(); ++other)
      if (peers[other].local >= 0) rank_of_local.push_back(static_cast<int>(other));
  }

  Segment segment;
  std::vector<Peer> peers;         // peers[r] is rank r
  std::vector<int> rank_of_local;  // the ranks of this node, by their numbers on it
  int me;                          // this rank
  int me_here;                     // this rank's number on the node

  [[nodiscard]] const Peer& peer(int rank) const { return peers[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int on_node() const { return static_cast<int>(rank_of_local.size()); }
  [[nodiscard]] int rank_of(int local) const { return rank_of_local[static_cast<std::size_t>(local)]; }
  [[nodiscard]] int callers() const { return static_cast<int>(peers.size() - segment.geometry().helpers); }
  [[nodiscard]] Line& own_progress() const { return segment.progress(me_here); }
};

}  // namespace copse::engine
