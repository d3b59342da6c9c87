#pragma once
// The state that the allocation functions check on every call. It passes through three stages, in this order:
//   cold    before the library's constructor, and for good if it finds a reason not to start: glibc serves all.
//   active  mimalloc serves from the region; glibc serves itself, and what the region cannot hold.
//   frozen  in a child of fork: glibc serves all, and what was inherited from the parent is only read and dropped.
#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "heap/region.hpp"
#include "heap/text.hpp"

namespace copse::heap {

// The functions of mimalloc in use. mimalloc is loaded by name and privately. So its own malloc and operator new stay
// out of the program's symbols, and its absence is a reason not to start rather than a failed load.
struct Backend {
  void* (*malloc)(size_t) noexcept;
  void* (*zalloc)(size_t) noexcept;
  // mi_malloc_aligned of 2.0.9 is wrong: it believes that any block of 256, 512 or 1024 bytes is aligned to its size.
  void* (*malloc_aligned_at)(size_t size, size_t alignment, size_t offset) noexcept;
  void* (*realloc)(void*, size_t) noexcept;
  void (*free)(void*) noexcept;
  void (*collect)(bool force) noexcept;
  size_t (*usable_size)(const void*) noexcept;
  Text text;  // mimalloc's code
};

struct State {
  Region region;
  Backend backend{};
  bool frozen = false;

  // The code whose allocations glibc serves: [lo, lo + bytes). While the heap is active, that is libc.so itself. Its own
  // data (its FILEs and their locks) must not be shared even between fork and the private copy, because glibc resets
  // locks in the child before any fork handler runs. In the other states the range covers all code, so one comparison
  // answers both questions.
  std::atomic<uintptr_t> excluded_lo{0};
  std::atomic<uintptr_t> excluded_bytes{UINTPTR_MAX};

  bool serves(const void* caller) const {
    const uintptr_t bytes = excluded_bytes.load(std::memory_order_acquire);  // pairs with activate()
    return reinterpret_cast<uintptr_t>(caller) - excluded_lo.load(std::memory_order_relaxed) >= bytes;
  }
  bool active() const { return excluded_bytes.load(std::memory_order_acquire) != UINTPTR_MAX; }
  void activate(const Text& excluded) {
    excluded_lo.store(excluded.lo, std::memory_order_relaxed);
    excluded_bytes.store(excluded.bytes, std::memory_order_release);  // pairs with serves() and active()
  }
  void freeze() {
    frozen = true;
    excluded_bytes.store(UINTPTR_MAX, std::memory_order_release);
  }
};

extern State state;

// Loads mimalloc and gives it the region as its only arena. Returns null, or the reason for a failure.
const char* open_backend(const Region& region, Backend* backend);

// Looks up the system's madvise. Returns null, or the reason why the heap must stay off.
const char* find_madvise();

// Checks that mimalloc's calls of mprotect, and all calls of madvise, still arrive here. Returns null, or what may be
// in the way.
const char* hooks_hold();

// Does MADV_DONTNEED on private pages.
void drop_pages(void* start, size_t bytes);

// From now on, a child of fork gets a private copy of the region before it goes on, and its heap is frozen.
void guard_forks();

}  // namespace copse::heap
