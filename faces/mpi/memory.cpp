// MPI_Alloc_mem under the shared heap. Only the MPI can reach the memory that it hands out itself, but every rank of
// the node can reach memory of the shared heap.
#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <unordered_set>

#include "exports.hpp"
#include "heap/heap.hpp"

namespace copse::mpi {
namespace {

constexpr std::size_t kAlign = 128;

std::mutex mutex;
auto& ours = *new std::unordered_set<void*>;  // never destroyed (session.hpp)

bool heap_active() {
  static const auto query = reinterpret_cast<heap::RegionQuery>(dlsym(RTLD_DEFAULT, heap::kRegionQueryName));
  struct copse_heap_region region{};
  return query != nullptr && query(&region) == 0;
}

void* allocate(std::size_t bytes) {
  void* memory = std::aligned_alloc(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
  const std::lock_guard lock(mutex);
  if (memory != nullptr) ours.insert(memory);
  return memory;
}

bool forget(void* memory) {
  const std::lock_guard lock(mutex);
  return ours.erase(memory) != 0;
}

}  // namespace

extern "C" {

// A call with an info goes to the MPI, because the info may ask for something that only the MPI knows.
COPSE_EXPORT(Served, Alloc_mem, (std::intptr_t bytes, Raw info, void* pointer), (bytes, info, pointer),
             next().Alloc_mem(bytes, info, pointer), real().Alloc_mem(bytes, info, pointer),
             void* const memory = bytes > 0 && handle<MPI_Info>(info) == MPI_INFO_NULL && heap_active()
                                      ? allocate(static_cast<std::size_t>(bytes))
                                      : nullptr;
             if (memory == nullptr) return real().Alloc_mem(bytes, info, pointer); *static_cast<void**>(pointer) = memory;
             return MPI_SUCCESS;)

COPSE_EXPORT(Always, Free_mem, (void* memory), (memory), next().Free_mem(memory), real().Free_mem(memory),
             if (!forget(memory)) return real().Free_mem(memory);
             std::free(memory); return MPI_SUCCESS;)

}  // extern "C"

}  // namespace copse::mpi
