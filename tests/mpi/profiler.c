/* A small profiler of the usual kind. It wraps some MPI calls, counts them, calls PMPI_, and prints the counts on
 * rank 0 at the end. It knows nothing about Copse. */
#include <mpi.h>
#include <stdio.h>

static long allreduces, broadcasts, barriers;

int MPI_Allreduce(const void* in, void* out, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  ++allreduces;
  return PMPI_Allreduce(in, out, count, type, op, comm); /* a jump, so no return address lies in this library */
}

int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  const int result = PMPI_Bcast(buffer, count, type, root, comm);
  ++broadcasts;
  return result;
}

int MPI_Barrier(MPI_Comm comm) {
  const int result = PMPI_Barrier(comm);
  ++barriers;
  return result;
}

int MPI_Finalize(void) {
  int rank;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("profiler: %ld allreduces, %ld broadcasts, %ld barriers\n", allreduces, broadcasts, barriers);
  return PMPI_Finalize();
}
