// alltoall, Bruck: a block that has d ranks to go travels the powers of two of which d is the sum, one in each round,
// together with all others that go the same way (Bruck et al. 1997). Blocks on their way are packed where the next rank takes
// them from, and nothing is rotated. Ranks handle blocks of other ranks, so all must be of one size.
// Cost: ceil(log2 P) (a + P/2 n b).
// Wins: very small blocks on many ranks.
#include <algorithm>

#include "algorithms/exchange.hpp"

namespace copse::algorithms {

namespace {

// Blocks that go `step` ranks further, all in one round: those whose distance has that power of two in it.
int in_round(int ranks, int step) {
  int count = 0;
  for (int distance = 1; distance < ranks; ++distance) count += (distance & step) != 0;
  return count;
}

}  // namespace

std::uint32_t alltoall_bruck_pack(const Request &request) {
  int most = 1;
  for (int step = 1; step < request.ranks; step *= 2) most = std::max(most, in_round(request.ranks, step));
  return static_cast<std::uint32_t>(most);
}

plan::Plan alltoall_bruck(const Request &request) {
  using plan::Builder;
  using plan::Operand;
  using plan::Range;
  Builder builder = request.builder();
  const int rank = request.rank, ranks = request.ranks;
  const auto at = [ranks](int number) { return (number + 2 * ranks) % ranks; };
  // The block that has `distance` to go in all, and has gone `gone` of it when it is at rank `here`.
  const auto block = [&](int here, int distance, int gone) {
    return request.pair(at(here - gone), at(here - gone + distance));
  };
  const auto index_in_round = [](int distance, int step) {  // among those that go `step` in its round
    return static_cast<std::uint32_t>(distance / (2 * step) * step + distance % step);
  };
  // For the wire, what is on its way lies in a scratch, behind those of earlier rounds.
  const auto held_before = [&](int step) {
    int count = 0;
    for (int earlier = 1; earlier < step; earlier *= 2) count += in_round(ranks, earlier);
    return static_cast<std::uint32_t>(count);
  };
  const auto in_scratch = [&](int step, int distance, Range range) {
    return placed(builder.scratch(0, range), held_before(step) + index_in_round(distance, step));
  };
  const auto place = [&](int area, int step, int distance, Range range) {
    const Operand opened = builder.open(area, std::vector{at(rank + step)}, in_scratch(step, distance, range));
    return opened.space == plan::Space::scratch ? opened : placed(opened, index_in_round(distance, step));
  };

  builder.pack(alltoall_bruck_pack(request));
  builder.loop();
  builder.copy(Builder::output(request.pair(rank, rank)), Builder::input(request.pair(rank, rank)));
  int area = 0;
  for (int step = 1; step < ranks; step *= 2, ++area) {
    const int to = at(rank + step), from = at(rank - step);
    // What starts in this round lies in the input, and goes over the wire from there, before the rest.
    std::vector<int> order;
    for (const bool starts : {true, false})
      for (int distance = step; distance < ranks; ++distance)
        if ((distance & step) != 0 && (distance % step == 0) == starts) order.push_back(distance);

    std::vector<Operand> values;
    for (const int distance : order) {
      const Range range = block(rank, distance, distance % step);
      if (distance % step != 0) {
        values.push_back(place(area, step, distance, range));
      } else if (!builder.shares_memory_with(to)) {
        builder.give(area, std::vector{to}, Builder::input(range));
      } else {
        values.push_back(place(area, step, distance, range));
        builder.copy(values.back(), Builder::input(range));
      }
    }
    builder.post(area, std::vector<int>(values.size(), to), values);

    for (const int distance : order) {
      const Range range = block(from, distance, distance % step);
      const int rest = distance / (2 * step) * (2 * step);
      const int next = rest & -rest;  // the step that it goes after this one
      int next_area = area;
      for (int skipped = step; skipped < next; skipped *= 2) ++next_area;
      const Operand home = rest == 0 ? Builder::output(range) : place(next_area, next, distance, range);
      const Operand given = distance % step == 0 ? Builder::input(range) : in_scratch(step, distance, range);
      Operand theirs = builder.take(area, from, given, home);
      if (builder.shares_memory_with(from)) theirs = placed(theirs, index_in_round(distance, step));
      builder.copy(home, theirs);
    }
  }
  return builder.finish();
}

}  // namespace copse::algorithms
