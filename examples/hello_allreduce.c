/* An MPI program that knows nothing about Copse. It adds up the ranks' numbers many times and prints how long a call
 * took.
 *
 *     mpicc -O2 examples/hello_allreduce.c -o hello_allreduce
 *     mpirun -n 2 ./hello_allreduce
 *     build/bin/copse run --trace mpirun -n 2 ./hello_allreduce
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  enum { kCalls = 10000 };
  int rank, ranks, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < kCalls; ++i) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const double seconds = MPI_Wtime() - start;
  if (rank == 0) printf("%d ranks: sum %d, %.2f us a call\n", ranks, sum, seconds / kCalls * 1e6);
  MPI_Finalize();
  return sum == ranks * (ranks - 1) / 2 ? 0 : 1;
}
