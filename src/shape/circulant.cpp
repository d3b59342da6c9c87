// Builds schedules over the circulant graph.
#include "shape/circulant.hpp"

#include <algorithm>
#include <cstddef>

namespace copse::shape {
namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

// The block that one rank gets in each of q consecutive rounds. Blocks are numbered relative to this phase of q rounds.
// One block is new to the rank's phase; in the first phase it is the first block that ever reaches the rank. The others
// have the numbers -q to -1 of the phase before. Modulo q, the rank gets each number once.
class Receives {
 public:
  Receives(const std::vector<int>& skips, int ranks, int rank)
      : skips_(skips), rounds_(static_cast<int>(skips.size())), target_(ranks + rank), blocks_(skips.size()) {
    skips_.push_back(ranks);
    free_.assign(skips_.size(), true);
    const int base = base_block(rank);
    free_[at(base)] = false;
    search(0, rounds_, 2 * ranks);
    for (int& block : blocks_) block = block == rounds_ ? base : block - rounds_;
  }
  [[nodiscard]] const std::vector<int>& blocks() const { return blocks_; }

 private:
  // Returns the smallest of the skips, taken largest first, that lead from the root to the rank.
  [[nodiscard]] int base_block(int rank) const {
    for (int k = rounds_ - 1; k >= 0; --k) {
      if (rank == skips_[at(k)]) return k;
      if (rank > skips_[at(k)]) rank -= skips_[at(k)];
    }
    return rounds_;
  }

  // A block that arrives in round k has by then reached one of the ranks between target - skip[k + 1] and target -
  // skip[k]. This depth-first search walks the paths to those ranks along ever smaller skips. For one round after the
  // other it finds a path that ends with the skip of a block that has not been taken yet. `below` bounds the end of the
  // path.
  void search(int position, int block, int below) {
    for (; block >= 0; --block) {
      if (!free_[at(block)]) continue;
      const int next = position + skips_[at(block)];
      if (round_ == rounds_ || next > target_ - skips_[at(round_)] || next >= below) continue;
      if (next <= target_ - skips_[at(round_ + 1)]) search(next, block, below);
      if (round_ == rounds_ || position > target_ - skips_[at(round_ + 1)]) return;
      below = next;
      blocks_[at(round_++)] = block;
      free_[at(block)] = false;
    }
  }

  std::vector<int> skips_;
  int rounds_;
  int target_;
  int round_ = 0;
  std::vector<int> blocks_;
  std::vector<bool> free_;
};

}  // namespace

std::vector<int> circulant_skips(int ranks) {
  std::vector<int> skips;
  for (int skip = ranks; skip > 1;) skips.push_back(skip = (skip + 1) / 2);
  std::reverse(skips.begin(), skips.end());
  return skips;
}

std::vector<Arrival> circulant_arrivals(int ranks, int rank, int blocks) {
  std::vector<Arrival> arrivals(at(blocks));
  if (rank == 0) {
    for (int block = 0; block < blocks; ++block) arrivals[at(block)] = {block, 0};
    return arrivals;
  }
  const std::vector<int> skips = circulant_skips(ranks);
  const int q = static_cast<int>(skips.size()), rounds = blocks - 1 + q;
  const std::vector<int> receives = Receives(skips, ranks, rank).blocks();
  const int skipped = (q - rounds % q) % q;  // rounds that the first phase lacks, so that the last phase is whole
  std::vector<bool> has(at(blocks), false);
  for (int round = 0; round < rounds; ++round) {
    const int k = (round + skipped) % q;
    const int block = std::min(receives[at(k)] + round - k, blocks - 1);
    if (block < 0 || has[at(block)]) continue;
    has[at(block)] = true;
    arrivals[at(block)] = {round, (rank + ranks - skips[at(k)]) % ranks};
  }
  return arrivals;
}

}  // namespace copse::shape
