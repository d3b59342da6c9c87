// The circulant graph, and the order in which blocks travel over it: round-optimal broadcast of n blocks (Traeff 2024,
// "Optimal broadcast schedules in logarithmic time", arXiv 2407.18004). In round i every rank r gives at most one
// block to rank r + skip, and gets at most one from rank r - skip; the skips, for ceil(log2 P) rounds and then again,
// are P halved again and again. Whatever the number of blocks, that takes n - 1 + ceil(log2 P) rounds: no algorithm in
// which a rank gives and gets one block at a time needs fewer.
#pragma once

#include <vector>

namespace copse::shape {

// skips[k] for the rounds k, k + q, k + 2 q, ... with q = ceil(log2 P) = skips.size().
[[nodiscard]] std::vector<int> circulant_skips(int ranks);

// When a rank gets a block, and from whom.
struct Arrival {
  int round = 0;  // from 0
  int from = 0;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

// The arrivals of blocks 0 to blocks - 1 at `rank`, rank 0 having them all: there block b counts as come in round b,
// from itself, and is first given away in that round. O(blocks + log^2 P) time.
[[nodiscard]] std::vector<Arrival> circulant_arrivals(int ranks, int rank, int blocks);

}  // namespace copse::shape
