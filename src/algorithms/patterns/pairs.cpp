// Blocks for pairs of ranks, and what a node shares of them.
#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

std::vector<Range> pair_runs(const Request& request, int from, std::span<const int> to) {
  std::vector<Range> runs;
  for (const int rank : to) {
    const Range block = request.pair(from, rank);
    if (!runs.empty() && runs.back().first + runs.back().count == block.first) {
      ++runs.back().count;
    } else {
      runs.push_back(block);
    }
  }
  return runs;
}

std::vector<int> others_here(const Builder& builder, const Request& request) {
  std::vector<int> result = request.others();
  std::erase_if(result, [&](int other) { return !builder.shares_memory_with(other); });
  return result;
}

std::vector<int> share_here(Builder& builder, const Request& request, int area,
                            const std::function<std::vector<Range>(int)>& runs_for) {
  std::vector<int> takers, readers;
  std::vector<Range> parts;
  for (const int other : others_here(builder, request)) {
    const std::vector<Range> runs = runs_for(other);
    if (runs.empty()) continue;
    takers.push_back(other);
    parts.insert(parts.end(), runs.begin(), runs.end());
    readers.resize(parts.size(), other);
  }
  builder.share_input(area, readers, parts);
  return takers;
}

void take_blocks(Builder& builder, const Request& request, int area, std::span<const int> others, bool keeps_own) {
  const plan::Range own = request.pair(request.rank, request.rank);
  if (keeps_own) builder.copy(Builder::output(own), Builder::input(own));
  for (const int other : others) {
    const plan::Range theirs = request.pair(other, request.rank);
    builder.copy(Builder::output(theirs), builder.take_part(area, other, theirs, Builder::output(theirs)));
  }
}

Operand placed(Operand place, std::uint32_t index) {
  place.origin = (place.range.first + place.range.of - index) % place.range.of;
  return place;
}

Operand placed_if_staged(const Operand& operand, std::uint32_t index) {
  return is_staged(operand) ? placed(operand, index) : operand;
}

}  // namespace copse::algorithms
