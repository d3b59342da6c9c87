// The life of the drop-in in one process: looking for the MPI, passing on, working, passing on again. It ends with the
// process, not before: the destructors of a program's libraries, which may call MPI, run later than Copse's would. So nothing
// that a call may need is ever destroyed.
#pragma once

#include <atomic>

#include "real.hpp"

namespace copse::mpi {

enum class Phase : int {
  asleep,   // no wrapped function called yet, or MPI_Init not yet done
  passing,  // for good: wrong MPI, bad settings, disabled, no MPI, finalised
  working,
  beneath,  // working, with another tool behind: MPI_ calls are handed to it first (see stacked_tools)
};

namespace detail {
extern std::atomic<Phase> phase;
}
inline Phase phase() { return detail::phase.load(std::memory_order_acquire); }

// The wrapper's first step in any phase but `working`: looks for the MPI, and begins to work if the MPI is
// initialised (MPI_Init itself may have bypassed the wrapper). True if this call is Copse's now.
bool wake(const void *caller);

// Is a call of PMPI_Name Copse's? Only if it may come from another tool, or comes from Fortran (Open MPI's bindings call
// PMPI_Name, with everything converted to C's); never from the MPI itself, nor from a program that wants the MPI's own.
inline bool awake_for_pmpi(const void *caller) {
  return wake(caller) && !in_mpi(caller) && (stacked_tools().any() || in_fortran(caller));
}

// Around the real MPI_Init. The first is true if the second is to follow, which is collective over the world.
bool before_init(const void *caller);
void after_init();

}  // namespace copse::mpi
