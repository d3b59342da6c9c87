// Gives the MPI the communicator that stands for MPI_COMM_WORLD, in every call that takes a communicator.
#include <dlfcn.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <utility>

#include "world_library.hpp"

namespace copse::mpi {

thread_local const void* last_caller = nullptr;

const WorldView* world_view() {
  static const WorldView* const found = [] {
    const auto viewer = reinterpret_cast<WorldViewer>(dlsym(RTLD_NEXT, kWorldViewer));
    return viewer == nullptr ? nullptr : viewer();
  }();
  return found;
}

void* Behind::look(const void* caller) {
  void* found = dlsym(RTLD_NEXT, name_);
  if (found == nullptr && world_view() != nullptr) found = world_view()->function(name_, caller);
  if (found == nullptr) std::fprintf(stderr, "copse: %s: this MPI has no such function\n", name_);
  found_.store(found, std::memory_order_relaxed);
  return found;
}

namespace {

template <unsigned communicators, std::size_t... position>
int pass(Behind& behind, const void* caller, std::index_sequence<position...>, const std::array<Raw, sizeof...(position)>& given) {
  return call(behind, caller, ((communicators >> position & 1) != 0 ? for_mpi(given[position], caller) : given[position])...);
}

template <unsigned communicators, class... Arguments>
int pass(Behind& behind, const void* caller, Arguments... arguments) {
  return pass<communicators>(behind, caller, std::index_sequence_for<Arguments...>(), {arguments...});
}

// The MPI may know its own attributes only on its own MPI_COMM_WORLD.
bool is_mpis(int keyval) {
  for (const int its : {MPI_TAG_UB, MPI_HOST, MPI_IO, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE, MPI_LASTUSEDCODE, MPI_APPNUM})
    if (keyval == its) return true;
  return false;
}

int get_attribute(Behind& behind, const void* caller, Raw comm, int keyval, void* value, int* found) {
  return call(behind, caller, is_mpis(keyval) ? comm : for_mpi(comm, caller), keyval, value, found);
}

// The MPI also calls the handler of its own MPI_COMM_WORLD: for errors that belong to no communicator.
int set_handler(Behind& behind, const void* caller, Raw comm, Raw handler) {
  const Raw given = for_mpi(comm, caller);
  const int result = call(behind, caller, given, handler);
  return result == MPI_SUCCESS && given != comm ? call(behind, caller, comm, handler) : result;
}

}  // namespace

#define PARAMETERS_1 Raw a
#define PARAMETERS_2 PARAMETERS_1, Raw b
#define PARAMETERS_3 PARAMETERS_2, Raw c
#define PARAMETERS_4 PARAMETERS_3, Raw d
#define PARAMETERS_5 PARAMETERS_4, Raw e
#define PARAMETERS_6 PARAMETERS_5, Raw f
#define PARAMETERS_7 PARAMETERS_6, Raw g
#define PARAMETERS_8 PARAMETERS_7, Raw h
#define PARAMETERS_9 PARAMETERS_8, Raw i
#define PARAMETERS_10 PARAMETERS_9, Raw j
#define PARAMETERS_11 PARAMETERS_10, Raw k
#define PARAMETERS_12 PARAMETERS_11, Raw l
#define ARGUMENTS_1 a
#define ARGUMENTS_2 ARGUMENTS_1, b
#define ARGUMENTS_3 ARGUMENTS_2, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define ARGUMENTS_6 ARGUMENTS_5, f
#define ARGUMENTS_7 ARGUMENTS_6, g
#define ARGUMENTS_8 ARGUMENTS_7, h
#define ARGUMENTS_9 ARGUMENTS_8, i
#define ARGUMENTS_10 ARGUMENTS_9, j
#define ARGUMENTS_11 ARGUMENTS_10, k
#define ARGUMENTS_12 ARGUMENTS_11, l
#define WORLD_CALL(name, count, communicators) \
  COPSE_STANDS_BEFORE(name, (PARAMETERS_##count), return pass<communicators>(behind, caller, ARGUMENTS_##count);)

extern "C" {
#include "world_calls.def"
COPSE_STANDS_BEFORE(_Comm_get_attr, (Raw comm, int keyval, void* value, int* found),
                    return get_attribute(behind, caller, comm, keyval, value, found);)
COPSE_STANDS_BEFORE(_Attr_get, (Raw comm, int keyval, void* value, int* found),
                    return get_attribute(behind, caller, comm, keyval, value, found);)
COPSE_STANDS_BEFORE(_Comm_set_errhandler, (Raw comm, Raw handler), return set_handler(behind, caller, comm, handler);)
COPSE_STANDS_BEFORE(_Errhandler_set, (Raw comm, Raw handler), return set_handler(behind, caller, comm, handler);)

#if defined(COPSE_MPI_MPICH)
// The Fortran bindings of MPICH and Intel MPI do not call the C functions for attributes.
COPSE_STANDS_BEFORE(I_Comm_get_attr, (Raw comm, int keyval, void* value, int* found, Raw kind),
                    return call(behind, caller, for_mpi(comm, caller), keyval, value, found, kind);)
COPSE_STANDS_BEFORE(I_Comm_get_attr_fort, (Raw comm, int keyval, void* value, int* found, Raw kind),  // Intel's mpif.h
                    return call(behind, caller, for_mpi(comm, caller), keyval, value, found, kind);)
COPSE_STANDS_BEFORE(I_Comm_set_attr, (Raw comm, int keyval, void* value, Raw kind),
                    return call(behind, caller, for_mpi(comm, caller), keyval, value, kind);)
#endif

// Copse's library looks for these symbols (world_view.hpp).
__attribute__((visibility("default"))) extern const char copse_world_library[];
const char copse_world_library[] = COPSE_WORLD_FILE;
__attribute__((visibility("default"))) const WorldView* copse_world_viewed() { return world_view(); }
__attribute__((visibility("default"))) const void* copse_world_caller() { return last_caller; }
}

}  // namespace copse::mpi
