// The MPI that this library is compiled for. One source serves three binary interfaces: classic MPICH (and Intel MPI),
// Open MPI 4 and 5, and the MPI standard ABI (MPI-5.0 20). The library links to none of them. It looks the process's
// MPI up at run time (real.hpp).
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

// A handle argument as it arrives. Some MPIs use int and some use pointers, and a library that is preloaded under the
// wrong MPI must still pass the argument on whole.
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

// Returns the address of a symbol of this process's MPI, or null if there is none.
void* mpi_symbol(const char* name);

#if defined(COPSE_MPI_OPENMPI)
// Open MPI's predefined handles are the addresses of its globals. They are looked up, because the library does not link
// to Open MPI.
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

#define COPSE_WORLD_FILE "libcopse-world-openmpi.so"
inline constexpr std::string_view kFamily = "Open MPI", kLibrary = "libcopse-mpi-openmpi.so", kWorldLibraryFile = COPSE_WORLD_FILE;
inline bool builtin(MPI_Op) { return false; }
#elif defined(COPSE_MPI_ABI)
#define COPSE_WORLD_FILE "libcopse-world-abi.so"
inline constexpr std::string_view kFamily = "the MPI standard ABI", kLibrary = "libcopse-mpi-abi.so",
                                  kWorldLibraryFile = COPSE_WORLD_FILE;
// Handles of predefined objects are below 4096 (MPI-5.0 20.4).
inline bool builtin(MPI_Op op) { return raw_of(op) < 4096; }
#elif defined(COPSE_MPI_MPICH)
#define COPSE_WORLD_FILE "libcopse-world-mpich.so"
inline constexpr std::string_view kFamily = "MPICH or Intel MPI", kLibrary = "libcopse-mpi-mpich.so",
                                  kWorldLibraryFile = COPSE_WORLD_FILE;
// The two upper bits of an MPICH handle are its kind: 0 is invalid, 1 is built in.
inline bool builtin(MPI_Op op) { return static_cast<unsigned>(op) >> 30 <= 1; }
#else
#error "define COPSE_MPI_MPICH, COPSE_MPI_OPENMPI or COPSE_MPI_ABI"
#endif
// Open MPI treats a buffer that is given twice as MPI_IN_PLACE, and programs rely on that. MPICH returns
// MPI_ERR_BUFFER.
inline constexpr bool kTwiceIsInPlace = kFamily == "Open MPI";
// The receive buffer of rank 0 means nothing in MPI_Exscan. MPICH still compares it with the send buffer. If both are one, it
// refuses the call on rank 0 alone, and the other ranks wait for ever.
inline constexpr bool kRefusesLegalExscan = kFamily != "Open MPI";
// A communicator that Open MPI makes from one with another topology keeps the marks of both, and MPI_Topo_test may name the
// other one. Asking for what is not there then crashes. The other MPIs are not to be asked twice: Intel MPI's standard ABI has
// another number for MPI_ERRORS_RETURN than its header, so that a wrong question ends the program.
inline constexpr bool kTopologyIsSure = kFamily != "Open MPI";

}  // namespace copse::mpi
