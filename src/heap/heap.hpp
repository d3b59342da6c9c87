#pragma once
// The shared heap: malloc whose memory every rank of the node can map.
//
// libcopse-heap.so, preloaded, lets malloc and its relatives allocate from one region, a memfd mapped MAP_SHARED. A
// peer that maps the same memfd copies and reduces straight out of the buffers of an unmodified program (DESIGN: reach
// direct). This header is all that the engine sees of it. The two functions live in a library that may not be there:
// look them up by name with dlsym(RTLD_DEFAULT, ...), and take their absence as "not active".
//
// Not every block lies in the region: what was allocated before the library came up, by glibc for itself, or once the
// region was full lies in glibc's heap. So ask of each buffer whether [p, p + n) lies in [base, base + bytes).
#include <stddef.h>
#include <stdint.h>

extern "C" {

struct copse_heap_region {
  void* base;    // where this process maps the region; aligned to 32 MiB
  size_t bytes;  // its length; sparse, so it says nothing of the memory in use
  int fd;        // the memfd, close-on-exec; offset 0 is base
  // What fstat says of the memfd (st_dev, st_ino). The program may close the descriptor at any moment and open a file
  // under its number: whoever opens or receives the memfd must find these two, or it is not the heap.
  uint64_t device;
  uint64_t inode;
};

// Fills *region and returns 0 while the shared heap is active and its descriptor is still the memfd; otherwise returns
// nonzero and leaves *region alone. It is never active in a child of fork: that child has a private copy of the region
// at the same address. Peers open the memfd through /proc/PID/fd/FD, or receive it by SCM_RIGHTS; they must not move
// its file offset.
int copse_heap_region(struct copse_heap_region* region);

// Why the heap is not active, for `copse info` and `--trace`: one line without a newline, valid for ever. Null while
// it is active.
const char* copse_heap_why_not(void);

}  // extern "C"

namespace copse::heap {
using RegionQuery = int (*)(struct copse_heap_region*);
using WhyNotQuery = const char* (*)();
inline constexpr const char* kRegionQueryName = "copse_heap_region";
inline constexpr const char* kWhyNotQueryName = "copse_heap_why_not";
}  // namespace copse::heap
