// A library that takes madvise for itself, as a tracer might: preloaded before the shared heap, it must keep it off.
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int madvise(void* start, size_t bytes, int advice) {
  return (int)syscall(SYS_madvise, start, bytes, advice);
}
