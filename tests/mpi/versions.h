/* What the MPI at hand has. Open MPI 5 says that it is of MPI 3.1, but has more. */
#pragma once
#include <mpi.h>

#if MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5
#define HAS_PERSISTENT 1
#else
#define HAS_PERSISTENT 0
#endif
