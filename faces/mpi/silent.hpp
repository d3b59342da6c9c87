// A rank that uses the MPI without Copse. It never answers what the ranks with Copse ask one another, and it cannot be asked.
#pragma once

#include <sys/types.h>

namespace copse::mpi {

// Returns the process id of a rank of this world that uses the MPI without Copse. Returns 0 if no such rank is seen. This sees
// only processes of this node that the parent of this one has started, by itself or by a script. Most launchers start ranks so.
pid_t rank_without_copse();

}  // namespace copse::mpi
