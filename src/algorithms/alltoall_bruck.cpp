// alltoall, Bruck: a block that has d ranks to go makes one hop for each 1 in the binary form of d, by that power of two. In
// each round, all blocks that make the same hop go together (Bruck et al. 1997). Blocks on their way are packed where the
// next rank takes them from, and nothing is rotated. Ranks handle blocks of other ranks, so all blocks must be of one size.
// Cost: ceil(log2 P) (a + P/2 n b).
// Wins: very small blocks on many ranks.
#include <algorithm>

#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

namespace {

// Returns the number of blocks that go `step` ranks further in one round: those whose distance has that bit set.
int in_round(int ranks, int step) {
  int count = 0;
  for (int distance = 1; distance < ranks; ++distance) count += (distance & step) != 0;
  return count;
}

using plan::Builder;
using plan::Operand;
using plan::Range;

std::uint32_t index_in_round(int distance, int step) {  // among the blocks of the round
  return static_cast<std::uint32_t>(distance / (2 * step) * step + distance % step);
}

// Returns the distances of the blocks of a round, in the order in which they are given. Blocks that start in this round come
// first. They lie in the input, and the wire takes them from there.
std::vector<int> order_of_round(int ranks, int step) {
  std::vector<int> order;
  for (const bool starts : {true, false})
    for (int distance = step; distance < ranks; ++distance)
      if ((distance & step) != 0 && (distance % step == 0) == starts) order.push_back(distance);
  return order;
}

// What this rank does in each round. The step of a round is 2 to the power of its area.
class Bruck {
 public:
  Bruck(Builder& builder, const Request& request) : builder_(builder), request_(request) {}

  void give(int area, int step, const std::vector<int>& order) {
    const int to = at(request_.rank + step);
    std::vector<Operand> values;
    for (const int distance : order) {
      const Range range = block(request_.rank, distance, distance % step);
      if (distance % step != 0) {
        values.push_back(place(area, step, distance, range));
      } else if (!builder_.shares_memory_with(to)) {
        builder_.give(area, std::vector{to}, Builder::input(range));
      } else {
        values.push_back(place(area, step, distance, range));
        builder_.copy(values.back(), Builder::input(range));
      }
    }
    builder_.post(area, std::vector<int>(values.size(), to), values);
  }

  void take(int area, int step, const std::vector<int>& order) {
    const int from = at(request_.rank - step);
    for (const int distance : order) {
      const Range range = block(from, distance, distance % step);
      const int rest = distance / (2 * step) * (2 * step);
      const int next = rest & -rest;  // the step of the block's next hop; 0: it has arrived
      int next_area = area;
      for (int skipped = step; skipped < next; skipped *= 2) ++next_area;
      const Operand home = rest == 0 ? Builder::output(range) : place(next_area, next, distance, range);
      const Operand given = distance % step == 0 ? Builder::input(range) : in_scratch(step, distance, range);
      Operand theirs = builder_.take(area, from, given, home);
      if (builder_.shares_memory_with(from)) theirs = placed(theirs, index_in_round(distance, step));
      builder_.copy(home, theirs);
    }
  }

 private:
  [[nodiscard]] int at(int number) const { return (number + 2 * request_.ranks) % request_.ranks; }
  // Returns the block that has `distance` ranks to go in all, and has gone `gone` of them when it is at rank `here`.
  [[nodiscard]] Range block(int here, int distance, int gone) const {
    return request_.pair(at(here - gone), at(here - gone + distance));
  }
  // Returns where a block on its way lies in the scratch from which the wire takes it. The blocks of earlier rounds come
  // first.
  [[nodiscard]] Operand in_scratch(int step, int distance, Range range) {
    int before = 0;  // blocks of earlier rounds
    for (int earlier = 1; earlier < step; earlier *= 2) before += in_round(request_.ranks, earlier);
    return placed(builder_.scratch(0, range), static_cast<std::uint32_t>(before) + index_in_round(distance, step));
  }
  [[nodiscard]] Operand place(int area, int step, int distance, Range range) {
    const Operand opened = builder_.open(area, std::vector{at(request_.rank + step)}, in_scratch(step, distance, range));
    return opened.space == plan::Space::scratch ? opened : placed(opened, index_in_round(distance, step));
  }

  Builder& builder_;
  const Request& request_;
};

}  // namespace

std::uint32_t alltoall_bruck_pack(const Request& request) {
  int most = 1;
  for (int step = 1; step < request.ranks; step *= 2) most = std::max(most, in_round(request.ranks, step));
  return static_cast<std::uint32_t>(most);
}

plan::Plan alltoall_bruck(const Request& request) {
  Builder builder = request.builder();
  builder.pack(alltoall_bruck_pack(request));
  builder.loop();
  const Range own = request.pair(request.rank, request.rank);
  builder.copy(Builder::output(own), Builder::input(own));
  Bruck bruck(builder, request);
  int area = 0;
  for (int step = 1; step < request.ranks; step *= 2, ++area) {
    const std::vector<int> order = order_of_round(request.ranks, step);
    bruck.give(area, step, order);
    bruck.take(area, step, order);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
