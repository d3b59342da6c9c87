// Signals without data, for barriers.
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

using plan::Builder;

void meet(Builder& builder, const shape::Tree& up, const shape::Tree& down, int rank) {
  const auto me = static_cast<std::size_t>(rank);
  for (int child : up.children[me]) builder.await_signal(0, child);
  if (rank != up.root) {
    const std::int32_t parent[] = {up.parent[me]};
    builder.signal(0, parent);
    builder.await_signal(1, down.parent[me]);
  }
  builder.signal(1, down.children[me]);
}

int dissemination_rounds(std::size_t teams, int radix) {
  int rounds = 0;
  for (std::size_t known = 1; known < teams; known *= static_cast<std::size_t>(radix)) ++rounds;
  return rounds;
}

void disseminate(Builder& builder, const Teams& teams, int rank, int radix, int area) {
  const std::size_t count = teams.size(), here = teams.index_of(rank), position = teams.position(here, rank);
  const std::size_t size = teams[here].size();
  Builder::need_areas(area + dissemination_rounds(count, radix));
  for (std::size_t known = 1; known < count; known *= static_cast<std::size_t>(radix), ++area) {
    std::vector<std::int32_t> listeners, heard;
    for (std::size_t far = known; far < count && far < known * static_cast<std::size_t>(radix); far += known) {
      const auto after = teams[(here + far) % count], before = teams[(here + count - far) % count];
      for (std::size_t i = position; i < after.size(); i += size) listeners.push_back(after[i]);
      heard.push_back(before[position % before.size()]);
    }
    builder.signal(area, listeners);
    for (std::int32_t from : heard) builder.await_signal(area, from);
  }
}

}  // namespace copse::algorithms
