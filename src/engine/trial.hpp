// Which stores bring a slot sooner to another rank, measured.
//
// Where two ranks' caches are far from one another (the core complexes of an AMD EPYC, packages), a store to a line that
// the other has read waits until that one has let go of it, and few such stores are under way at once. Stores past the
// caches do not wait, and the other reads from memory as fast as it would from a cache so far away. Where the caches are
// near, the way through memory may be the longer one.
#pragma once

#include "engine/segment.hpp"

namespace copse::engine {

// From so many bytes on that holds: for less, the store's way to memory is longer than what it saves.
inline constexpr std::size_t kStreamFrom = 2048;

// Called by two ranks of a node at the same time, with their numbers on it swapped, while nobody uses the segment: does
// a slot that I write past the caches arrive sooner? Takes some 0.2 ms, and at most 4 ms when the
// other does not come; then the answer is no.
[[nodiscard]] bool streaming_is_sooner(const Segment &segment, int me, int partner);

}  // namespace copse::engine
