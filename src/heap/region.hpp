#pragma once
// The region: the sparse memfd that the heap lives in, and its mapping. Nothing here calls malloc.
#include <stddef.h>
#include <stdint.h>

namespace copse::heap {

// mimalloc hands out its arena in segments of 32 MiB, aligned to their size.
inline constexpr size_t kSegment = size_t{32} << 20;

struct Region {
  char* base = nullptr;
  size_t bytes = 0;
  int fd = -1;
  uint64_t device = 0;  // what fstat says of the memfd
  uint64_t inode = 0;

  bool contains(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base) < bytes;
  }
};

// Maps a fresh region of COPSE_HEAP_BYTES (K, M, G or T may follow the number), by default as large as the physical
// memory: memory is charged when touched. Returns null, or the reason why not, and then leaves *region empty.
const char* open_region(Region* region);

// True while the region's descriptor is still the memfd that open_region made: a program may close or reuse any number.
bool descriptor_intact(const Region& region);

// Replaces the shared mapping by a private copy at the same address, then closes the descriptor. Returns null, or what
// failed. Memory and time are those of the touched pages. The caller's stack must not lie in the region.
const char* make_private(Region* region);

}  // namespace copse::heap
