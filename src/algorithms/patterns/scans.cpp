// Prefixes in rank order.
#include "algorithms/patterns/scans.hpp"

#include <bit>

#include "algorithms/patterns/signals.hpp"
#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

void flat_prefixes(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank;
  std::vector<int> after;
  for (int other = rank + 1; other < request.ranks; ++other) after.push_back(other);
  builder.give(0, after, Builder::input());
  std::vector<Fetch> items;
  for (int other = 0; other < rank; ++other) {
    const int place = exclusive && other + 1 == rank ? 1 : 0;  // the fold takes this one first, and keeps it for the second
    items.emplace_back([&builder, other, place] { return builder.take(0, other, Builder::input(), builder.scratch(place)); });
  }
  if (!exclusive) items.emplace_back([] { return Builder::input(); });
  if (!items.empty()) fold(builder, Builder::output(), items, items.size() - 1);
}

void doubling_prefixes(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank, ranks = request.ranks;
  Operand before;                  // the sum of the known ranks before this one
  Sum with{Builder::input(), {}};  // the sum of the known ranks up to this one
  Builder::need_areas(dissemination_rounds(static_cast<std::size_t>(ranks), 2));
  int area = 0;
  for (int distance = 1; distance < ranks; distance *= 2, ++area) {
    if (rank + distance < ranks) {
      const std::vector<int> reader{rank + distance};
      const Operand place = builder.open(area, reader, builder.scratch(area + 2));
      settle(builder, place, with);
      builder.post(area, reader, place);
      with = {place, {}};
    }
    if (rank < distance) continue;
    if (!exclusive && with.high.space != plan::Space::none) {
      settle(builder, Builder::output(), with);
      with = {Builder::output(), {}};
    }
    const Operand theirs = builder.take(area, rank - distance, builder.scratch(area + 2), builder.scratch(0));
    if (exclusive) {
      // The sum of the ranks before this one is kept by itself. It is combined with this rank's input only where the sum of
      // both is given on.
      const int next = 2 * distance;
      const bool last = next >= ranks || (rank < next && rank + next >= ranks);
      const Operand sum = last ? Builder::output() : builder.scratch(1);
      settle(builder, sum, before.space == plan::Space::none ? Sum{theirs, {}} : Sum{theirs, before});
      before = sum;
      with = {before, Builder::input()};
    } else {
      with = {theirs, with.low};
    }
  }
  if (!exclusive) settle(builder, Builder::output(), with);
  if (exclusive && rank > 0) builder.copy(Builder::output(), before);
}

void binomial_prefixes(Builder& builder, const Request& request, bool exclusive) {
  const int rank = request.rank, ranks = request.ranks;
  const int ones = std::countr_one(static_cast<unsigned>(rank));
  const int width = 1 << ones;  // the number of ranks in the block that ends with this one
  Sum before;                   // the sum of the known ranks before this one
  const auto settled = [&]() -> Operand {
    if (before.high.space != plan::Space::none) {
      settle(builder, builder.scratch(0), before);
      before = {builder.scratch(0), {}};
    }
    return before.low;
  };
  const auto take_before = [&](int area, int from, int given, int home) {
    const Operand known = settled();
    before = {builder.take(area, from, builder.scratch(given), builder.scratch(home)), known};
  };
  // Up. What comes over the wire stays in its scratch until it is combined with the next value. So two scratches take turns.
  int number = 0;
  for (int distance = 1; distance < width; distance *= 2, ++number) take_before(0, rank - distance, 4, 1 + number % 2);
  std::vector<int> readers;  // the ranks that take from this one on the way down
  for (int distance = width / 2; distance > 0; distance /= 2)
    if (rank + distance < ranks) readers.push_back(rank + distance);
  Sum block{Builder::input(), {}};  // the sum of the known ranks up to this one
  const bool wanted = rank + width < ranks || (rank < width && !readers.empty());
  if (ones > 0 && (wanted || !exclusive)) block = {settled(), Builder::input()};
  if (rank + width < ranks) {
    const std::vector<int> reader{rank + width};
    const Operand place = builder.open(0, reader, builder.scratch(4));
    settle(builder, place, block);
    builder.post(0, reader, place);
    block = {place, {}};
  }
  // Down.
  if (rank >= width) {
    if (exclusive) {
      take_before(1, rank - width, 5, 3);
      if (!readers.empty()) block = {settled(), Builder::input()};
    } else {
      if (block.high.space != plan::Space::none) {
        settle(builder, Builder::output(), block);
        block = {Builder::output(), {}};
      }
      block = {builder.take(1, rank - width, builder.scratch(5), builder.scratch(3)), block.low};
    }
  }
  if (!readers.empty()) {
    const Operand place = builder.open(1, readers, builder.scratch(5));
    settle(builder, place, block);
    builder.post(1, readers, place);
    block = {place, {}};
  }
  if (!exclusive) settle(builder, Builder::output(), block);
  if (exclusive && rank > 0) settle(builder, Builder::output(), before);
}

}  // namespace copse::algorithms
