/* Sums integers, and then real numbers. Prints a hash of the real sums' bits, which must not depend on what Copse has learned from
 * the integers. Argument: how many integer sums. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMost = 8192 };

int main(int argc, char** argv) {
  static const int counts[] = {16, 300, 2000, kMost};
  static int in[kMost], out[kMost];
  static double real_in[kMost], real_out[kMost];
  int rank, ranks;
  uint64_t hash = 1469598103934665603u;
  const long calls = argc > 1 ? atol(argv[1]) : 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (long i = 0; i < calls; ++i) MPI_Allreduce(in, out, counts[i / 25 % 4], MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  for (int i = 0; i < kMost; ++i) real_in[i] = 1.0 / (3 + i + 7 * rank);
  for (int c = 0; c < 4; ++c) {
    MPI_Allreduce(real_in, real_out, counts[c] / 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < counts[c] / 2; ++i) hash = (hash ^ *(const uint64_t*)&real_out[i]) * 1099511628211u;
  }
  if (rank == 0) printf("%llx\n", (unsigned long long)hash);
  MPI_Finalize();
  return 0;
}
