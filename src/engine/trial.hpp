// Measures the cost of bringing bytes to another rank of the node: by which stores, through slots or by the kernel.
//
// The caches of two ranks may be far apart (the core complexes of an AMD EPYC, packages). Then a store to a line that the
// other rank has read waits until that rank's cache has let go of it, and few such stores are under way at once. Stores past
// the caches do not wait, and the other rank reads from memory as fast as it would from such a far cache. If the caches are
// near, the way through memory may be longer, and so may the kernel's copy, which looks up each page.
#pragma once

#include <optional>

#include "engine/reach/peer.hpp"
#include "engine/segment.hpp"

namespace copse::engine {

struct Costs {
  std::uint8_t streamed = 0;  // 1: stores past the caches bring a slot sooner
  // Costs in ns a byte. `write` is for filling a slot with these stores, and `read` is for reading a slot. `kernel` is for a copy
  // by the kernel, or 0 if the kernel cannot copy. `past` is for the whole way past the caches.
  float write = 0, read = 0, kernel = 0, past = 0;
};

// Two ranks of a node call this at the same time, with their numbers on the node swapped, while nobody uses the segment.
// `kernel` says how the partner is reached, or is null to leave the kernel out. The trial takes two to five ms. If the other
// rank does not come, it takes at most 8 ms, and the answer is empty. A rank that comes late may still read slots that the
// other already uses; it throws away what it read.
[[nodiscard]] std::optional<Costs> measure_costs(const Segment& segment, int me, int partner, const Peer* kernel);

}  // namespace copse::engine
