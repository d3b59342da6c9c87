// MPI_Alloc_mem under the shared heap: memory that the MPI hands out lies where only the MPI can reach it; memory of
// the shared heap, every rank of the node can.
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <unordered_set>

#include "heap/heap.hpp"
#include "report.hpp"
#include "session.hpp"

namespace copse::mpi {
namespace {

constexpr std::size_t kAlign = 128;

std::mutex mutex;
auto &ours = *new std::unordered_set<void *>;  // never destroyed (session.hpp)

bool heap_active() {
  static const auto query = reinterpret_cast<heap::RegionQuery>(dlsym(RTLD_DEFAULT, heap::kRegionQueryName));
  struct copse_heap_region region {};
  return query != nullptr && query(&region) == 0;
}

void *allocate(std::size_t bytes) {
  void *memory = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const std::lock_guard lock(mutex);
  if (memory != nullptr) ours.insert(memory);
  return memory;
}

bool forget(void *memory) {
  const std::lock_guard lock(mutex);
  return ours.erase(memory) != 0;
}

}  // namespace

#define COPSE_EXPORT(symbol) asm(symbol) __attribute__((visibility("default")))

extern "C" {

int exported_Alloc_mem(std::intptr_t bytes, Raw info, void *pointer) COPSE_EXPORT("MPI_Alloc_mem");
int exported_Alloc_mem(std::intptr_t bytes, Raw info, void *pointer) {
  const bool awake = wake(__builtin_return_address(0));
  // An info may ask for what only the MPI knows.
  if (awake && bytes > 0 && handle<MPI_Info>(info) == MPI_INFO_NULL && heap_active()) {
    if (void *memory = guarded("MPI_Alloc_mem", [&] { return allocate(static_cast<std::size_t>(bytes)); })) {
      *static_cast<void **>(pointer) = memory;
      return MPI_SUCCESS;
    }
  }
  return real().Alloc_mem(bytes, info, pointer);
}

int exported_PAlloc_mem(std::intptr_t bytes, Raw info, void *pointer) COPSE_EXPORT("PMPI_Alloc_mem");
int exported_PAlloc_mem(std::intptr_t bytes, Raw info, void *pointer) {
  return awake_for_pmpi(__builtin_return_address(0)) ? exported_Alloc_mem(bytes, info, pointer)
                                                     : real().Alloc_mem(bytes, info, pointer);
}

int exported_Free_mem(void *memory) COPSE_EXPORT("MPI_Free_mem");
int exported_Free_mem(void *memory) {
  if (forget(memory)) {
    std::free(memory);
    return MPI_SUCCESS;
  }
  if (real().Free_mem == nullptr) wake(__builtin_return_address(0));
  return real().Free_mem(memory);
}
int exported_PFree_mem(void *memory) COPSE_EXPORT("PMPI_Free_mem");
int exported_PFree_mem(void *memory) { return exported_Free_mem(memory); }

}  // extern "C"

}  // namespace copse::mpi
