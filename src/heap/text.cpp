// Reads the loader's list of objects and their segments.
#include "heap/text.hpp"

#include <link.h>
#include <stddef.h>

namespace copse::heap {
namespace {

struct Search {
  const void* inside;
  Text found;
};

int look_into(dl_phdr_info* object, size_t, void* argument) {
  auto* const search = static_cast<Search*>(argument);
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const auto& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    const Text text{object->dlpi_addr + segment.p_vaddr, segment.p_memsz};
    if (text.contains(search->inside)) {
      search->found = text;
      return 1;
    }
  }
  return 0;
}

}  // namespace

Text text_of(const void* inside) {
  Search search{inside, {}};
  dl_iterate_phdr(look_into, &search);
  return search.found;
}

}  // namespace copse::heap
