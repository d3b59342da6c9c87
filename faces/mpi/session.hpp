// The life of the drop-in in one process: it looks for the MPI, passes calls on, works, and passes on again. It lasts
// until the process ends. The destructors of a program's libraries may call MPI and run later than Copse's would, so
// nothing that a call may need is ever destroyed.
#pragma once

#include <atomic>

#include "real.hpp"

namespace copse::mpi {

enum class Phase : int {
  asleep,   // before the first wrapped call, or before MPI_Init is done
  passing,  // from now on: wrong MPI, bad settings, disabled, no MPI, or finalised
  working,
  beneath,  // working, with another tool behind that gets MPI_ calls first (see stacked_tools)
};

namespace detail {
extern std::atomic<Phase> phase;
}
inline Phase phase() { return detail::phase.load(std::memory_order_acquire); }

// The first step of a wrapper in any phase but `working`. Looks for the MPI and starts work if the MPI is initialised:
// MPI_Init itself may have bypassed its wrapper. Returns true if this call is now Copse's.
bool wake(const void* caller);

// Returns whether a call of PMPI_Name is Copse's. It is if it may come from another tool, or if it comes from Open
// MPI's Fortran bindings, which call PMPI_Name with all arguments converted to C. Calls from the MPI itself, and from a
// program that wants the MPI's own function, are not.
inline bool awake_for_pmpi(const void* caller) {
  return wake(caller) && !in_mpi(caller) && (stacked_tools().any() || in_fortran(caller));
}

// These surround the real MPI_Init. after_init() is collective over the world; call it only if before_init() returned
// true.
bool before_init(const void* caller);
void after_init();

}  // namespace copse::mpi
