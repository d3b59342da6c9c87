#pragma once
// The region: the sparse memfd that the heap lives in, and its mapping. Nothing here calls malloc.
//
// The region is as large as the physical memory, and little of it is in use. The unused part is closed: it cannot be
// accessed and is not part of core dumps. A dump would write it and so allocate all its pages. mlockall would allocate
// them too.
#include <stddef.h>
#include <stdint.h>

namespace copse::heap {

// mimalloc divides its arena into segments of 32 MiB, aligned to their size.
inline constexpr size_t kSegment = size_t{32} << 20;

// The region opens and closes in grains. A grain is a huge page, so that the edges of an open part split none. A
// segment has one owner at a time, and therefore so has a grain.
inline constexpr size_t kGrain = size_t{2} << 20;

struct Region {
  char* base = nullptr;
  size_t bytes = 0;
  int fd = -1;
  uint64_t device = 0;  // st_dev, as fstat gave it for the memfd
  uint64_t inode = 0;
  unsigned char* open = nullptr;  // for each grain: 1 if it is open

  bool contains(const void* p) const { return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(base) < bytes; }
  bool is_open(const void* p) const { return open[static_cast<size_t>(static_cast<const char*>(p) - base) / kGrain] != 0; }
};

// Maps a fresh region of COPSE_HEAP_BYTES (a number, or a number with K, M, G or T). The default is the size of the physical
// memory, or less if a rank cannot spare as many addresses for each rank of its node. Memory is charged only when touched. All of
// the region is closed. Returns null, or the reason for a failure, which leaves *region empty.
const char* open_region(Region* region);

void drop_region(Region* region);

// Returns whether the region's descriptor is still the memfd that open_region made. The program may close any
// descriptor and reuse its number.
bool descriptor_intact(const Region& region);

// Opens the grains that [start, start + bytes) touches. Returns false and sets errno if the system refuses.
bool open_grains(const Region& region, const void* start, size_t bytes);

// Closes the grains that lie wholly in [start, start + bytes), if there are several. Their contents stay.
void close_grains(const Region& region, const void* start, size_t bytes);

// Replaces the shared mapping by a private copy at the same address and closes the descriptor. What is closed stays closed.
// Returns null, or the reason for a failure. The copy takes memory and time for the touched pages or, if the program has closed
// the descriptor, for all open grains. No signal handler may run meanwhile, and the caller's stack must not lie in the region.
const char* make_private(Region* region);

}  // namespace copse::heap
