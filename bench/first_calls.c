/* Takes the time of the first calls of many shapes: first_calls
 * or makes so many calls of one kind, for bench/instructions.py: first_calls KIND BYTES CALLS
 *
 * A shape is a collective with a root and a size. Its first call also makes the plan and compiles it. The communicator has
 * been called before, and the memory has been touched. Rank 0 prints the shapes, and the mean microseconds of their first,
 * second, third and fourth calls. A call takes as long as its slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 1 << 18, kKinds = 8, kTimes = 4 };

static char *from, *to;
static int rank, ranks;

static void call(int kind, int bytes, int root) {
  const int doubles = bytes / 8;
  switch (kind) {
    case 0: MPI_Bcast(to, bytes, MPI_CHAR, root, MPI_COMM_WORLD); break;
    case 1: MPI_Reduce(from, to, doubles, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD); break;
    case 2: MPI_Allreduce(from, to, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); break;
    case 3: MPI_Gather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, root, MPI_COMM_WORLD); break;
    case 4: MPI_Scatter(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, root, MPI_COMM_WORLD); break;
    case 5: MPI_Allgather(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD); break;
    case 6: MPI_Alltoall(from, bytes, MPI_CHAR, to, bytes, MPI_CHAR, MPI_COMM_WORLD); break;
    default: MPI_Scan(from, to, doubles, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

int main(int argc, char** argv) {
  double sums[kTimes] = {0};
  int shapes = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  from = malloc((size_t)ranks * kMost), to = malloc((size_t)ranks * kMost);
  memset(from, 0, (size_t)ranks * kMost), memset(to, 0, (size_t)ranks * kMost);
  for (int i = 0; i < 100; ++i) MPI_Barrier(MPI_COMM_WORLD);
  if (argc == 4) {
    for (int i = atoi(argv[3]); i > 0; --i) call(atoi(argv[1]), atoi(argv[2]), 0);
    return MPI_Finalize();
  }
  for (int bytes = 8; bytes <= kMost; bytes *= 4)
    for (int root = 0; root < ranks; ++root)
      for (int kind = 0; kind < kKinds; ++kind) {
        ++shapes;
        for (int time = 0; time < kTimes; ++time) {
          double mine, all;
          MPI_Barrier(MPI_COMM_WORLD);
          const double start = MPI_Wtime();
          call(kind, bytes, root);
          mine = MPI_Wtime() - start;
          PMPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
          if (rank == 0) sums[time] += all;
        }
      }
  if (rank == 0) printf("%d", shapes);
  for (int time = 0; rank == 0 && time < kTimes; ++time) printf(" %.3f", 1e6 * sums[time] / shapes);
  if (rank == 0) printf("\n");
  MPI_Finalize();
  return 0;
}
