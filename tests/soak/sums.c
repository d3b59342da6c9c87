/* Makes blocking and started allreduces of many sizes, and checks every sum. For tests that kill something meanwhile.
 *
 *     sums CALLS
 *
 * At the end it prints "sums: N checks". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kLongest = 20000 };
static long in[kLongest], out[kLongest];

int main(int argc, char** argv) {
  const long calls = argc > 1 ? atol(argv[1]) : 1;
  const int counts[] = {1, 12, 500, kLongest};
  int rank, ranks;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  for (long call = 0; call < calls; ++call) {
    const int count = counts[call / 2 % 4];
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < count; ++i) in[i] = call + i + rank;
    if (call % 2 == 0) MPI_Allreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    else MPI_Iallreduce(in, out, count, MPI_LONG, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) {
      const long expected = (call + i) * ranks + (long)ranks * (ranks - 1) / 2;
      if (out[i] == expected) continue;
      fprintf(stderr, "a wrong sum on rank %d: element %d of call %ld is %ld, expected %ld\n", rank, i, call, out[i], expected);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  if (rank == 0) printf("sums: %ld checks\n", calls);
  MPI_Finalize();
}
