#pragma once
// The shared heap: a malloc whose memory every rank of the node can map.
//
// When libcopse-heap.so is preloaded, malloc and its relatives allocate from one region, a memfd mapped MAP_SHARED. A
// peer that maps the same memfd copies and reduces straight out of the buffers of an unmodified program (reach
// `direct`). The engine uses nothing of the heap but this header. The two functions lie in a library that may be
// absent, so look them up with dlsym(RTLD_DEFAULT, ...), and take their absence as "not active".
//
// Some blocks lie outside the region, in glibc's heap: those allocated before the library started, those that glibc
// allocates for itself, and those allocated once the region is full. So check for each buffer that [p, p + n) lies in
// [base, base + bytes).
#include <stddef.h>
#include <stdint.h>

extern "C" {

struct copse_heap_region {
  void* base;    // where this process maps the region, aligned to 32 MiB
  size_t bytes;  // length of the region; it is sparse, so this is not the memory in use
  int fd;        // the memfd, close-on-exec; offset 0 is base
  // What fstat says about the memfd (st_dev, st_ino). The program may close the descriptor at any moment and open
  // another file under its number. So whoever opens or receives the memfd must check that these two match.
  uint64_t device;
  uint64_t inode;
};

// Fills *region and returns 0 if the shared heap is active and its descriptor is still the memfd. Otherwise returns
// nonzero and leaves *region alone. The heap is never active in a child of fork, which has a private copy of the region
// at the same address. Peers open the memfd through /proc/PID/fd/FD or receive it by SCM_RIGHTS. They must not move its
// file offset.
int copse_heap_region(struct copse_heap_region* region);

// Returns why the heap is not active, for `copse info` and `--trace`: one line without a newline, valid for ever.
// Returns null if the heap is active.
const char* copse_heap_why_not(void);

}  // extern "C"

namespace copse::heap {
using RegionQuery = int (*)(struct copse_heap_region*);
using WhyNotQuery = const char* (*)();
inline constexpr const char* kRegionQueryName = "copse_heap_region";
inline constexpr const char* kWhyNotQueryName = "copse_heap_why_not";
}  // namespace copse::heap
