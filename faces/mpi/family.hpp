// The MPI that this library is compiled for. One source serves three binary interfaces: classic MPICH (also Intel
// MPI), Open MPI 4 and 5, and the MPI standard ABI (MPI-5.0 20). None of them is linked: whatever MPI the process runs
// is found when it runs (real.hpp).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#if defined(COPSE_MPI_ABI)
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

namespace copse::mpi {

// An argument that holds a handle, as it arrives: some MPIs use int, some pointers, and a library preloaded under the
// wrong MPI must still hand it on whole.
using Raw = std::uintptr_t;

template <class Handle>
Handle handle(Raw raw) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(raw);
  } else {
    return static_cast<Handle>(raw);
  }
}

template <class Handle>
Raw raw_of(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Raw>(handle);
  } else {
    return static_cast<Raw>(static_cast<unsigned>(handle));
  }
}

// A symbol of the MPI in this process, by name; null if it has none.
void *mpi_symbol(const char *name);

#if defined(COPSE_MPI_OPENMPI)
// Open MPI's predefined handles are addresses of its globals; look them up instead of linking to them.
template <std::size_t N>
struct GlobalName {
  char text[N];
  constexpr GlobalName(const char (&name)[N]) { std::copy_n(name, N, text); }  // NOLINT: implicit on purpose
};
template <class Handle, GlobalName name>
Handle global_handle() {
  static const Handle found = static_cast<Handle>(mpi_symbol(name.text));
  return found;
}
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) (::copse::mpi::global_handle<type, #global>())

inline constexpr std::string_view kFamily = "Open MPI", kLibrary = "libcopse-mpi-openmpi.so";
inline bool builtin(MPI_Op) { return false; }
#elif defined(COPSE_MPI_ABI)
inline constexpr std::string_view kFamily = "the MPI standard ABI", kLibrary = "libcopse-mpi-abi.so";
// MPI-5.0 20.4: handles of predefined objects are below 4096.
inline bool builtin(MPI_Op op) { return raw_of(op) < 4096; }
#elif defined(COPSE_MPI_MPICH)
inline constexpr std::string_view kFamily = "MPICH or Intel MPI", kLibrary = "libcopse-mpi-mpich.so";
// The two upper bits of MPICH's handles are the kind: 0 invalid, 1 built in.
inline bool builtin(MPI_Op op) { return static_cast<unsigned>(op) >> 30 <= 1; }
#else
#error "define COPSE_MPI_MPICH, COPSE_MPI_OPENMPI or COPSE_MPI_ABI"
#endif
// Open MPI takes a buffer that is given twice for MPI_IN_PLACE, and programs rely on that; MPICH has MPI_ERR_BUFFER for it.
inline constexpr bool kTwiceIsInPlace = kFamily == "Open MPI";

}  // namespace copse::mpi
