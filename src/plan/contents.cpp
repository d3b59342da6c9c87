// Finds the blocks in buffers.
#include "plan/plan.hpp"

namespace copse::plan {

int index_in(Extent extent, int owner, std::uint32_t block, int ranks) {
  const auto mine = static_cast<std::uint32_t>(owner), all = static_cast<std::uint32_t>(ranks);
  switch (extent) {
    case Extent::none: return -1;
    case Extent::message: return 0;
    case Extent::own: return block == mine ? 0 : -1;
    case Extent::all: return static_cast<int>(block);
    case Extent::row: return block / all == mine ? static_cast<int>(block % all) : -1;
    case Extent::column: return block % all == mine ? static_cast<int>(block / all) : -1;
  }
  return -1;
}

int blocks_in(Extent extent, int ranks) {
  switch (extent) {
    case Extent::none: return 0;
    case Extent::message:
    case Extent::own: return 1;
    default: return ranks;
  }
}

std::uint32_t block_at(Extent extent, int owner, int index, int ranks) {
  switch (extent) {
    case Extent::own: return static_cast<std::uint32_t>(owner);
    case Extent::row: return static_cast<std::uint32_t>(owner * ranks + index);
    case Extent::column: return static_cast<std::uint32_t>(index * ranks + owner);
    default: return static_cast<std::uint32_t>(index);
  }
}

}  // namespace copse::plan
