/* A rank refuses a broadcast between nodes, and the communicator is freed. What the root has sent must not come to the next
 * communicator. Prints "stale: right" on rank 0. */
#include <mpi.h>
#include <stdio.h>

enum { kTurns = 4 };

/* Makes a broadcast of one number, which rank 1 refuses if it should. Returns whether it has the right value or error. */
static int broadcast(int rank, int number, int refuses) {
  int value = rank == 0 ? number : -1, error;
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Barrier(comm);
  error = MPI_Bcast(&value, rank == 1 && refuses ? -1 : 1, MPI_INT, 0, comm);
  MPI_Comm_free(&comm);
  return rank == 1 && refuses ? error != MPI_SUCCESS : error == MPI_SUCCESS && value == number;
}

int main(int argc, char** argv) {
  int rank, turn, right = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (turn = 0; turn < kTurns; ++turn) {
    if (!broadcast(rank, 100 + turn, 1)) right = 0;
    if (!broadcast(rank, 1000 + turn, 0)) right = 0;
  }
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (rank == 0) printf("stale: %s\n", right ? "right" : "wrong");
  MPI_Finalize();
  return !right;
}
