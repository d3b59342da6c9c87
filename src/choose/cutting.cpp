// Cuts messages.
#include "choose/cutting.hpp"

#include <algorithm>
#include <bit>

namespace copse::choose {

plan::Rings rings_for(bool oversubscribed, int ranks) {
  // Few lines stay in the first cache. Many lines let a root run far ahead of ranks that wait for a processor.
  if (oversubscribed) return {512, {{{256, 1024}, {64, 8192}, {16, kLargestSlot}}}};
  // A slot is filled fastest once the reader's second cache has dropped it, so the rings of few ranks come round only
  // after 2 MiB.
  const auto large = std::max(std::uint32_t{plan::kLeastDepth}, std::bit_floor(64U / static_cast<std::uint32_t>(ranks)));
  return {64, {{{32, 1024}, {16, 8192}, {large, kLargestSlot}}}};
}

Cut cut(const plan::SlotClasses& slots, const Decision& decision, std::size_t count, std::size_t element_bytes) {
  Cut cut;
  const algorithms::Footprint& footprint = decision.footprint;
  const std::size_t bytes = count * element_bytes;
  std::size_t fragment_bytes = decision.fragment_bytes;
  if (decision.halves && bytes > kHalvesAbove) fragment_bytes = (bytes + 1) / 2;
  if (decision.carrier != plan::Carrier::line) {
    const std::size_t most = slots.back().bytes / footprint.pack;
    if (footprint.slots && (fragment_bytes == 0 || fragment_bytes > most)) fragment_bytes = most;
    if (fragment_bytes > 0) cut.fragment_count = std::max<std::size_t>(1, fragment_bytes / element_bytes);
  }
  if (footprint.slots) {
    const std::size_t largest = cut.fragment_count == 0 ? count : std::min(count, cut.fragment_count);
    cut.slot_class = plan::class_for(slots, largest * element_bytes * footprint.pack);
  }
  return cut;
}

// A rank's blocks may ride together, with a table of their ends.
std::size_t longest_of_all(const Decision& decision) {
  const std::size_t most = std::min(decision.ride_bytes, kLargestSlot) / decision.footprint.pack;
  return most - std::min(most, sizeof(std::uint32_t));
}

}  // namespace copse::choose
