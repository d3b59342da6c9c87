/* Starts allreduces for ever, and says which process each rank is. For tests that kill something. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD); /* the ranks of Copse meet in blocking calls */
  for (int i = 0;; ++i) {
    double mine = rank, sum = 0;
    MPI_Request request;
    MPI_Iallreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (i == 100) {
      printf("process %d\n", (int)getpid());
      fflush(stdout);
    }
  }
}
