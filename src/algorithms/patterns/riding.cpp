// The code that gives and takes blocks one way.
#include "algorithms/patterns/riding.hpp"

#include <algorithm>
#include <vector>

namespace copse::algorithms {

using plan::Builder;

void give_one_way(Builder& builder, std::span<const int> takers, const std::function<plan::Range(int)>& block_for) {
  std::vector<int> near, far;
  std::vector<plan::Range> ridden;
  std::vector<plan::Operand> sent;
  for (const int taker : takers) {
    const plan::Range block = block_for(taker);
    if (!builder.shares_memory_with(taker)) {
      far.push_back(taker);
      sent.push_back(Builder::input(block));
      continue;
    }
    near.push_back(taker);
    const bool follows = !ridden.empty() && (ridden.back().first + ridden.back().count) % block.of == block.first;
    if (follows) ++ridden.back().count;
    else ridden.push_back(block);
  }
  builder.ride(near, ridden);
  builder.post(0, far, sent);
}

void take_one_way(Builder& builder, int giver, plan::Range block, std::span<const int> takers_before) {
  const auto rides = [&](int taker) { return builder.shares_memory_with(taker); };
  const auto before = rides(giver) ? std::count_if(takers_before.begin(), takers_before.end(), rides) : 0;
  builder.take_ride(giver, block, static_cast<std::uint32_t>(before));
}

}  // namespace copse::algorithms
