// What it costs to bring bytes to another rank of the node, measured: by which stores, through slots or by the kernel.
//
// Where two ranks' caches are far from one another (the core complexes of an AMD EPYC, packages), a store to a line that
// the other has read waits until that one has let go of it, and few such stores are under way at once. Stores past the
// caches do not wait, and the other reads from memory as fast as it would from a cache so far away. Where the caches are
// near, the way through memory may be the longer one, and the kernel's copy, which looks each page up, too.
#pragma once

#include <optional>

#include "engine/reach/peer.hpp"
#include "engine/segment.hpp"

namespace copse::engine {

struct Costs {
  std::uint8_t streamed = 0;  // 1: stores past the caches bring a slot sooner
  // ns a byte: to fill a slot so, to read one, to have the kernel copy (0: it cannot); all the way past the caches.
  float write = 0, read = 0, kernel = 0, past = 0;
};

// Called by two ranks of a node at the same time, with their numbers on it swapped, while nobody uses the segment.
// `kernel`: how the partner is reached, or null to leave the kernel out. Takes two to five ms, and at most 8 ms when the other
// does not come; then the answer is empty. Who comes late may still read slots that the other already uses: it throws away
// what it read.
[[nodiscard]] std::optional<Costs> measure_costs(const Segment &segment, int me, int partner, const Peer *kernel);

}  // namespace copse::engine
