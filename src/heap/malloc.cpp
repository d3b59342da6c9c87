// The allocation functions of the C library, served from the region. C++'s operator new and delete call these.
//
// There are two allocators, and a block's address alone tells them apart: a block in the region is mimalloc's, any
// other is glibc's. So each block goes back to the allocator that gave it, without bookkeeping, even if it was
// allocated before this library was ready or did not fit into the region.
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "heap/heap.hpp"
#include "heap/state.hpp"

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);
}

#define COPSE_EXPORT extern "C" __attribute__((visibility("default")))
#define COPSE_CALLER __builtin_return_address(0)

namespace copse::heap {

constinit State state;

namespace {

const char* why_not = "the library is still being loaded";

// glibc aligns every block to 16 bytes. mimalloc would align a block of 8 bytes to 8.
constexpr size_t kLeast = 16;
size_t at_least(size_t n) { return n < kLeast ? kLeast : n; }

size_t page_size() { return static_cast<size_t>(sysconf(_SC_PAGESIZE)); }

void* allocate(size_t n, const void* caller) {
  if (state.serves(caller)) [[likely]] {
    if (void* p = state.backend.malloc(at_least(n))) [[likely]]
      return p;
  }
  return __libc_malloc(n);
}

void* allocate_aligned(size_t alignment, size_t n, const void* caller) {
  const bool power_of_two = alignment != 0 && (alignment & (alignment - 1)) == 0;
  if (power_of_two && state.serves(caller)) {
    if (void* p = state.backend.malloc_aligned_at(at_least(n), alignment < kLeast ? kLeast : alignment, 0)) return p;
  }
  return __libc_memalign(alignment, n);
}

// mimalloc keeps freed memory for half a second in case it is wanted again. After that it returns the memory only when
// something makes it look. Freeing a large block does so here, at most twice a second. Every block of more than 128 KiB
// starts at a multiple of 64 KiB; few other blocks do.
bool may_be_large(const void* p) { return (reinterpret_cast<uintptr_t>(p) & 0xffff) == 0; }

void give_back_now_and_then() {
  static constinit std::atomic<int64_t> due{0};
  constexpr int64_t kHalfSecond = 500;
  timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const int64_t now = int64_t{time.tv_sec} * 1000 + time.tv_nsec / 1000000;
  int64_t seen = due.load(std::memory_order_relaxed);  // relaxed: no other data depends on this clock
  if (now < seen || !due.compare_exchange_strong(seen, now + kHalfSecond, std::memory_order_relaxed)) return;
  state.backend.collect(false);
}

// A frozen heap allocates nothing any more, so the pages of a freed block can go at once. Small blocks stay.
void drop_inherited(void* p) {
  const uintptr_t page = page_size();
  const uintptr_t from = (reinterpret_cast<uintptr_t>(p) + page - 1) & ~(page - 1);
  const uintptr_t to = (reinterpret_cast<uintptr_t>(p) + state.backend.usable_size(p)) & ~(page - 1);
  constexpr size_t kWorthwhile = size_t{64} << 10;
  if (to > from && to - from >= kWorthwhile) drop_pages(reinterpret_cast<void*>(from), to - from);
}

void release(void* p) {
  const int error = errno;  // POSIX: free keeps errno, but giving memory back may set it
  if (!state.region.contains(p)) {
    __libc_free(p);
  } else if (!state.frozen) [[likely]] {
    state.backend.free(p);
    if (may_be_large(p)) [[unlikely]]
      give_back_now_and_then();
  } else {
    drop_inherited(p);
  }
  errno = error;
}

void* resize(void* p, size_t n, const void* caller) {
  if (p == nullptr) return allocate(n, caller);
  if (!state.region.contains(p)) return __libc_realloc(p, n);
  if (n == 0) {
    release(p);
    return nullptr;
  }
  if (!state.frozen) {
    if (void* q = state.backend.realloc(p, at_least(n))) return q;
  }
  const size_t usable = state.backend.usable_size(p);
  if (n <= usable && n > usable / 2) return p;
  void* const q = __libc_malloc(n);
  if (q == nullptr) return nullptr;
  memcpy(q, p, n < usable ? n : usable);
  release(p);
  return q;
}

// Looks for an allocator of the program, or one that was preloaded before this library. Returns null if malloc is ours.
const char* other_allocator() {
  static char text[200];
  Dl_info first{}, mine{};
  ElfW(Sym)* symbol = nullptr;
  if (dladdr1(dlsym(RTLD_DEFAULT, "malloc"), &first, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) == 0 ||
      dladdr(&state, &mine) == 0 || first.dli_fbase == mine.dli_fbase) {
    return nullptr;
  }
  if (symbol != nullptr && symbol->st_shndx == SHN_UNDEF) return nullptr;  // a program's PLT entry for our malloc
  snprintf(text, sizeof text, "%s has an allocator of its own, which comes first", first.dli_fname);
  return text;
}

// Returns why the heap, which still serves the program, can no longer be shared. Returns null if it can.
const char* lost_since_start() {
  if (!descriptor_intact(state.region))
    return "the program has closed the heap's descriptor, or uses its number for a file of its own";
  return hooks_hold();
}

const char* start() {
  if (const char* why = other_allocator()) return why;
  if (const char* why = find_madvise()) return why;
  const Text glibc = text_of(reinterpret_cast<const void*>(&__libc_malloc));
  if (glibc.bytes == 0) return "the C library's code is not found";
  if (const char* why = open_region(&state.region)) return why;
  if (const char* why = open_backend(state.region, &state.backend)) {
    drop_region(&state.region);
    return why;
  }
  // From here on mimalloc keeps its own data in the region. So the region stays, even if the heap does not start.
  if (const char* why = hooks_hold()) return why;
  guard_forks();
  state.activate(glibc);
  return nullptr;
}

__attribute__((constructor)) void load() { why_not = start(); }

}  // namespace
}  // namespace copse::heap

using copse::heap::allocate;
using copse::heap::allocate_aligned;
using copse::heap::lost_since_start;
using copse::heap::page_size;
using copse::heap::release;
using copse::heap::resize;
using copse::heap::state;

COPSE_EXPORT void* malloc(size_t n) { return allocate(n, COPSE_CALLER); }

COPSE_EXPORT void free(void* p) { release(p); }

COPSE_EXPORT void cfree(void* p) { release(p); }

COPSE_EXPORT void* calloc(size_t count, size_t size) {
  size_t n = 0;
  if (state.serves(COPSE_CALLER) && !__builtin_mul_overflow(count, size, &n)) {
    if (void* p = state.backend.zalloc(copse::heap::at_least(n))) return p;
  }
  return __libc_calloc(count, size);
}

COPSE_EXPORT void* realloc(void* p, size_t n) { return resize(p, n, COPSE_CALLER); }

COPSE_EXPORT void* reallocarray(void* p, size_t count, size_t size) {
  size_t n = 0;
  if (__builtin_mul_overflow(count, size, &n)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resize(p, n, COPSE_CALLER);
}

COPSE_EXPORT void* memalign(size_t alignment, size_t n) { return allocate_aligned(alignment, n, COPSE_CALLER); }

COPSE_EXPORT void* aligned_alloc(size_t alignment, size_t n) { return allocate_aligned(alignment, n, COPSE_CALLER); }

COPSE_EXPORT int posix_memalign(void** out, size_t alignment, size_t n) {
  if (alignment < sizeof(void*) || (alignment & (alignment - 1)) != 0) return EINVAL;
  const int error = errno;
  void* const p = allocate_aligned(alignment, n, COPSE_CALLER);
  errno = error;
  if (p == nullptr) return ENOMEM;
  *out = p;
  return 0;
}

COPSE_EXPORT void* valloc(size_t n) { return allocate_aligned(page_size(), n, COPSE_CALLER); }

COPSE_EXPORT void* pvalloc(size_t n) {
  const size_t page = page_size();
  size_t rounded = 0;
  if (__builtin_add_overflow(n, page - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate_aligned(page, rounded / page * page, COPSE_CALLER);
}

COPSE_EXPORT size_t malloc_usable_size(void* p) {
  if (state.region.contains(p)) return state.backend.usable_size(p);
  // Several threads may look the function up at once. They find the same, so the variable needs no lock. (The library
  // is built without thread-safe statics.)
  static constinit std::atomic<size_t (*)(void*)> known{nullptr};
  auto* next = known.load(std::memory_order_relaxed);
  if (next == nullptr) {
    next = reinterpret_cast<size_t (*)(void*)>(dlsym(RTLD_NEXT, "malloc_usable_size"));
    known.store(next, std::memory_order_relaxed);
  }
  return next(p);
}

COPSE_EXPORT int copse_heap_region(struct copse_heap_region* region) {
  if (!state.active() || lost_since_start() != nullptr) return -1;
  *region = {state.region.base, state.region.bytes, state.region.fd, state.region.device, state.region.inode};
  return 0;
}

COPSE_EXPORT const char* copse_heap_why_not() {
  if (state.frozen) return "this process is a forked child, whose heap is a private copy of its parent's";
  return state.active() ? lost_since_start() : copse::heap::why_not;
}
