/* A program that makes the same call often, and lives on when one rank's call is refused. The others get an error or their results.
 *
 * Usage: refused_often CALLS INTS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, errors = 0, least = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int calls = argc > 1 ? atoi(argv[1]) : 1000, ints = argc > 2 ? atoi(argv[2]) : 1;
  int *const in = calloc((size_t)ints, sizeof *in), *const out = calloc((size_t)ints, sizeof *out);
  for (int call = 0; call < calls; ++call) {
    const MPI_Op op = rank == 0 && call % 37 == 5 ? MPI_OP_NULL : MPI_SUM;
    errors += MPI_Allreduce(in, out, ints, MPI_INT, op, MPI_COMM_WORLD) != MPI_SUCCESS;
  }
  MPI_Allreduce(&errors, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("at least %d errors on every rank\n", least);
  free(in), free(out);
  MPI_Finalize();
  return 0;
}
