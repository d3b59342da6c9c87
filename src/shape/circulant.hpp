// The circulant graph, and the order in which blocks travel over it: a round-optimal broadcast of n blocks (Traeff
// 2024, "Optimal broadcast schedules in logarithmic time", arXiv 2407.18004). In each round every rank r sends at most
// one block to rank r + skip and receives at most one from rank r - skip. The skips come from halving P again and
// again; they serve ceil(log2 P) rounds and then repeat. The broadcast takes n - 1 + ceil(log2 P) rounds for any number
// of blocks. No algorithm in which a rank sends and receives one block at a time needs fewer.
#pragma once

#include <vector>

namespace copse::shape {

// Returns the skips. skips[k] serves the rounds k, k + q, k + 2 q, ... with q = ceil(log2 P) = skips.size().
[[nodiscard]] std::vector<int> circulant_skips(int ranks);

// When a rank gets a block, and from whom.
struct Arrival {
  int round = 0;  // from 0
  int from = 0;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

// Returns the arrivals of blocks 0 to blocks - 1 at `rank`. Rank 0 has all blocks: there block b arrives in round b
// from rank 0 itself, and is first sent in that round. Takes O(blocks + log^2 P) time.
[[nodiscard]] std::vector<Arrival> circulant_arrivals(int ranks, int rank, int blocks);

}  // namespace copse::shape
