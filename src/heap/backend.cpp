// mimalloc 2.0.9 from the outside: found by name, and told to use our arena and nothing else.
#include <dlfcn.h>
#include <mimalloc.h>
#include <stdio.h>

#include "heap/state.hpp"

namespace copse::heap {
namespace {

constexpr const char* kLibrary = "libmimalloc.so.2";

template <typename Function>
bool find(void* library, const char* name, Function** out) {
  *out = reinterpret_cast<Function*>(dlsym(library, name));
  return *out != nullptr;
}

}  // namespace

const char* open_backend(const Region& region, Backend* backend) {
  static char text[160];
  if (dlopen(kLibrary, RTLD_LAZY | RTLD_NOLOAD) != nullptr) {
    return "the program brings mimalloc itself, and two owners cannot share it";
  }
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    snprintf(text, sizeof text, "%s does not load (Debian: libmimalloc2.0)", kLibrary);
    return text;
  }
  decltype(mi_version)* version = nullptr;
  decltype(mi_option_get)* option_get = nullptr;
  decltype(mi_option_set)* option_set = nullptr;
  decltype(mi_manage_os_memory)* manage = nullptr;
  if (!find(library, "mi_version", &version) || !find(library, "mi_option_get", &option_get) ||
      !find(library, "mi_option_set", &option_set) || !find(library, "mi_manage_os_memory", &manage) ||
      !find(library, "mi_malloc", &backend->malloc) || !find(library, "mi_zalloc", &backend->zalloc) ||
      !find(library, "mi_malloc_aligned_at", &backend->malloc_aligned_at) || !find(library, "mi_realloc", &backend->realloc) ||
      !find(library, "mi_free", &backend->free) || !find(library, "mi_collect", &backend->collect) ||
      !find(library, "mi_usable_size", &backend->usable_size)) {
    snprintf(text, sizeof text, "%s lacks a function of mimalloc %d", kLibrary, MI_MALLOC_VERSION);
    return text;
  }
  // Options are passed by number, and the numbers change between versions with the same soname.
  if (version() != MI_MALLOC_VERSION) {
    snprintf(text, sizeof text, "built for mimalloc %d, found %d; rebuild Copse", MI_MALLOC_VERSION, version());
    return text;
  }
  if (option_get(mi_option_reserve_os_memory) > 0 || option_get(mi_option_reserve_huge_os_pages) > 0) {
    return "MIMALLOC_RESERVE_* gives mimalloc memory of its own; unset it";
  }
  // free() tells mimalloc's blocks from glibc's by address, so every block of mimalloc must lie in the region.
  option_set(mi_option_limit_os_alloc, 1);
  // Segments are committed piece by piece as they are used, because committed memory is part of a core dump.
  option_set(mi_option_eager_commit, 0);
  // With is_committed=false, mimalloc asks for pages by mprotect and gives them back by madvise (advice.cpp).
  if (!manage(region.base, region.bytes, /*is_committed=*/false, /*is_large=*/false, /*is_zero=*/true,
              /*numa_node=*/-1)) {
    return "mimalloc refused the region";
  }
  backend->text = text_of(reinterpret_cast<const void*>(backend->malloc));
  return nullptr;
}

}  // namespace copse::heap
