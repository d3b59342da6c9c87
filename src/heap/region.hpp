#pragma once
// The region: the sparse memfd that the heap lives in, and its mapping. Nothing here calls malloc.
//
// The region is as large as the memory, and little of it is in use. What is not in use is closed: it cannot be
// accessed, and it is no part of a core dump. Dumping would write it, and allocate each of its pages; mlockall would
// allocate them too.
#include <stddef.h>
#include <stdint.h>

namespace copse::heap {

// mimalloc hands out its arena in segments of 32 MiB, aligned to their size.
inline constexpr size_t kSegment = size_t{32} << 20;

// The region opens and closes in grains of a huge page, so that their edges split none. A segment has one owner at a
// time, and so has a grain.
inline constexpr size_t kGrain = size_t{2} << 20;

struct Region {
  char* base = nullptr;
  size_t bytes = 0;
  int fd = -1;
  uint64_t device = 0;  // what fstat says of the memfd
  uint64_t inode = 0;
  unsigned char* open = nullptr;  // of each grain: 1 if it is open

  bool contains(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base) < bytes;
  }
  bool is_open(const void* p) const {
    return open[static_cast<size_t>(static_cast<const char*>(p) - base) / kGrain] != 0;
  }
};

// Maps a fresh region of COPSE_HEAP_BYTES (K, M, G or T may follow the number), by default as large as the physical
// memory: memory is charged when touched. All of it is closed. Returns null, or the reason why not, and then leaves
// *region empty.
const char* open_region(Region* region);

void drop_region(Region* region);

// True while the region's descriptor is still the memfd that open_region made: a program may close or reuse any number.
bool descriptor_intact(const Region& region);

// Opens the grains that [start, start + bytes) touches. False, with errno set, if the system refuses.
bool open_grains(const Region& region, const void* start, size_t bytes);

// Closes the grains that lie in [start, start + bytes) as a whole, if they are several. Their pages stay what they are.
void close_grains(const Region& region, const void* start, size_t bytes);

// Replaces the shared mapping by a private copy at the same address, then closes the descriptor. Returns null, or what
// failed. Memory and time are those of the touched pages; without the descriptor, which the program may have closed,
// those of the open grains. The caller's stack must not lie in the region.
const char* make_private(Region* region);

}  // namespace copse::heap
