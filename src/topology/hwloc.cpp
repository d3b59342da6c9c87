// Opens hwloc and finds its functions.
#include "topology/hwloc.hpp"

#include <dlfcn.h>

#include <string>

#include "topology/error.hpp"

namespace copse::topology {
namespace {

// The loader gives the library of this name that the process has already, which is the MPI's own if it brings one. Otherwise it
// looks in the system, and last where hwloc was when Copse was built.
void* open_library() {
  std::string reason;
  for (const char* name : {COPSE_HWLOC_NAME, COPSE_HWLOC_FILE}) {
    if (void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
    if (const char* const why = dlerror(); why != nullptr && reason.empty()) reason = why;
  }
  throw Error("hwloc", "its library cannot be opened (" + reason + ")", "hwloc 2.5 or later", "install it (Debian: libhwloc15)");
}

Hwloc open() {
  void* const library = open_library();
  Hwloc functions;
  const auto find = [&]<class Function>(Function& function, const char* name) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr)
      throw Error("hwloc", std::string(COPSE_HWLOC_NAME " lacks ") + name, "hwloc 2.5 or later", "install a newer one");
  };
#define COPSE_HWLOC_FIND(name) find(functions.name, "hwloc_" #name);
  COPSE_HWLOC_FUNCTIONS(COPSE_HWLOC_FIND)
#undef COPSE_HWLOC_FIND
  return functions;
}

}  // namespace

const Hwloc& hwloc() {
  static const Hwloc functions = open();  // tried again by the next call if it throws
  return functions;
}

}  // namespace copse::topology
