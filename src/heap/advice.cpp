// Two system calls that must not act on the region's pages as usual: madvise and mprotect.
//
// madvise. On a private heap, MADV_DONTNEED and MADV_FREE return pages, which then read as zero. On a shared mapping
// they only unmap the pages: the memory stays charged, and a reader that expects zeros finds old bytes. The region must
// behave like a private heap, both to the program and to mimalloc. So here these two punch the pages out of the file
// (MADV_REMOVE).
//
// Libraries that register memory with a network card (UCX, Open MPI, libfabric) must hear of that. They hook madvise by
// writing a jump over the function's first bytes, and the code behind the jump makes the system call itself. So our
// function must stay out of their sight and must call the function that they find. The version of its symbol provides
// both: programs and libraries refer to madvise with a version and get ours, while dlsym without a version finds
// glibc's.
//
// mprotect. mimalloc calls it for the pages that it is about to use, and the region opens there. The program's own
// calls go to the system unchanged.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "heap/state.hpp"

namespace copse::heap {
namespace {

int (*next_madvise)(void*, size_t, int) = nullptr;

int pass_on(void* start, size_t bytes, int advice) {
  if (next_madvise != nullptr) return next_madvise(start, bytes, advice);
  return static_cast<int>(syscall(SYS_madvise, start, bytes, advice));
}

// The pages may be closed: mimalloc accesses them again only after a new mprotect.
int give_back(void* start, size_t bytes) {
  int result = pass_on(start, bytes, MADV_REMOVE);
  if (result != 0 && errno == EINVAL) {  // the process has called mlockall
    syscall(SYS_munlock, start, bytes);
    result = static_cast<int>(syscall(SYS_madvise, start, bytes, MADV_REMOVE));
    syscall(SYS_mlock2, start, bytes, MLOCK_ONFAULT);
  }
  if (result == 0) close_grains(state.region, start, bytes);
  return result;
}

}  // namespace

void drop_pages(void* start, size_t bytes) { pass_on(start, bytes, MADV_DONTNEED); }

const char* find_madvise() {
  next_madvise = reinterpret_cast<int (*)(void*, size_t, int)>(dlsym(RTLD_NEXT, "madvise"));
  // This mode redirects every call of madvise by name, including ours and mimalloc's.
  const char* const ucx = getenv("UCX_MEM_MMAP_HOOK_MODE");
  if (ucx != nullptr && strcasecmp(ucx, "reloc") == 0) {
    return "UCX_MEM_MMAP_HOOK_MODE=reloc takes over the heap's way to give memory back; unset it, or set bistro";
  }
  return nullptr;
}

const char* hooks_hold() {
  static char* page = nullptr;
  static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
  const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  const char* why = nullptr;
  pthread_mutex_lock(&turn);
  if (page == nullptr) page = static_cast<char*>(state.backend.malloc_aligned_at(bytes, bytes, 0));
  if (page == nullptr || !state.region.is_open(page)) {
    why = "mimalloc gives no memory, or the mprotect that it calls is not the heap's: is another library preloaded?";
  } else {
    syscall(SYS_munlock, page, bytes);  // locked pages, after mlockall, refuse the advice
    *page = 1;
    // The call is by name, as in the program and in mimalloc.
    if (madvise(page, bytes, MADV_DONTNEED) != 0 || *static_cast<volatile char*>(page) != 0)
      why = "the heap cannot give memory back: another library has redirected madvise, or a sandbox refuses it";
  }
  pthread_mutex_unlock(&turn);
  return why;
}

}  // namespace copse::heap

// The names by which others call these functions. They carry the version of glibc's first ones, and no name is the
// default version.
#define COPSE_VERSIONED(name)                                                       \
  __asm__(".symver copse_heap_" #name ", " #name "@" COPSE_HEAP_LIBC_VERSION "\n"); \
  extern "C" __attribute__((visibility("default"), used)) int copse_heap_##name

COPSE_VERSIONED(madvise)(void* start, size_t bytes, int advice) noexcept {
  using namespace copse::heap;
  const bool discards = advice == MADV_DONTNEED || advice == MADV_FREE;
  if (!discards || state.frozen || !state.region.contains(start)) return pass_on(start, bytes, advice);
  const bool by_mimalloc = state.backend.text.contains(__builtin_return_address(0));
  if (by_mimalloc && advice == MADV_DONTNEED) return give_back(start, bytes);
  return pass_on(start, bytes, MADV_REMOVE);
}

COPSE_VERSIONED(mprotect)(void* start, size_t bytes, int protection) noexcept {
  using namespace copse::heap;
  const bool commits = protection == (PROT_READ | PROT_WRITE) && !state.frozen && state.region.contains(start) &&
                       state.backend.text.contains(__builtin_return_address(0));
  if (commits) return open_grains(state.region, start, bytes) ? 0 : -1;
  return static_cast<int>(syscall(SYS_mprotect, start, bytes, protection));
}
