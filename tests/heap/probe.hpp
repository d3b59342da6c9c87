// What the cases of heap_probe share.
#pragma once

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "heap/heap.hpp"

#define EXPECT(condition)                                                                       \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "heap_probe: %s:%d: expected %s\n", __FILE_NAME__, __LINE__, #condition); \
      _exit(1);                                                                                 \
    }                                                                                           \
  } while (false)

namespace copse::test {

using Region = struct copse_heap_region;

inline bool look_up(Region* region) {
  const auto query = reinterpret_cast<copse::heap::RegionQuery>(dlsym(RTLD_DEFAULT, copse::heap::kRegionQueryName));
  EXPECT(query != nullptr);
  return query(region) == 0;
}

inline const char* why_not() {
  return reinterpret_cast<copse::heap::WhyNotQuery>(dlsym(RTLD_DEFAULT, copse::heap::kWhyNotQueryName))();
}

inline Region region() {
  Region found{};
  EXPECT(look_up(&found));
  return found;
}

inline Region nowhere;

inline bool shared(const void* p) {
  static const Region found = region();
  return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(found.base) < found.bytes;
}

// Hides a pointer from the compiler, which then can assume nothing about its alignment or contents.
template <typename T>
T* opaque(T* p) {
  asm volatile("" : "+r"(p) : : "memory");
  return p;
}

inline bool aligned(const void* p, size_t alignment) { return reinterpret_cast<uintptr_t>(opaque(p)) % alignment == 0; }

inline bool all_zero(const char* p, size_t n) { return n == 0 || (p[0] == 0 && memcmp(p, p + 1, n - 1) == 0); }

inline void fill(char* p, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; ++i) p[i] = static_cast<char>(seed + i * 31);
}

inline bool holds(const char* p, size_t n, uint64_t seed) {
  for (size_t i = 0; i < n; ++i) {
    if (p[i] != static_cast<char>(seed + i * 31)) return false;
  }
  return true;
}

inline size_t charged_bytes() {
  struct stat status;
  EXPECT(fstat(region().fd, &status) == 0);
  return static_cast<size_t>(status.st_blocks) * 512;
}

inline int wait_for(pid_t child) {
  int status = 0;
  EXPECT(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// Runs `body` in a forked child. A failed EXPECT in it fails the probe.
inline int in_fork(const std::function<void()>& body) {
  const pid_t child = fork();
  EXPECT(child >= 0);
  if (child == 0) {
    body();
    _exit(0);
  }
  return wait_for(child);
}

// pages_probe.cpp
void stays_out_of_the_way();
void locked();
void crash();
void hooked_by_ucx();
void redirected_by_ucx();
void hooked_by_a_jump();

}  // namespace copse::test
