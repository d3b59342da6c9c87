/* Reductions whose bits depend on the order of their operands, even of two: MAX and MIN of zeros with a sign, and sums of what is
 * no number. Each is made often, and must give the same bits every time.
 *
 * Usage: same_bits CALLS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 3000 };

static void fill(unsigned long long* bits, int count, int rank) {
  static const unsigned long long values[][2] = {
      {0x0000000000000000, 0x8000000000000000},  /* 0 and -0 */
      {0x8000000000000000, 0x0000000000000000},
      {0x7ff8000000000001, 0xfff8000000000002},  /* two NaNs */
      {0x3ff0000000000000, 0x7ff8000000000003},  /* 1 and a NaN */
  };
  for (int i = 0; i < count; ++i) bits[i] = values[i % 4][rank % 2];
}

int main(int argc, char** argv) {
  static const int counts[] = {1, 8, 200, kMost};
  static unsigned long long in[8 * kMost], out[kMost], first[3][4][4][kMost];
  int rank, differ = 0, all = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const MPI_Op ops[] = {MPI_MAX, MPI_MIN, MPI_SUM};
  const int calls = argc > 1 ? atoi(argv[1]) : 100;
  fill(in, 8 * kMost, rank);
  for (int size = 0; size < 4; ++size) {
    for (int call = 0; call < calls; ++call) {
      for (int op = 0; op < 3; ++op) {
        for (int which = 0; which < 4; ++which) {
          const int count = counts[size];
          memset(out, 0, sizeof out);
          switch (which) {
            case 0: MPI_Allreduce(in, out, count, MPI_DOUBLE, ops[op], MPI_COMM_WORLD); break;
            case 1: MPI_Reduce(in, out, count, MPI_DOUBLE, ops[op], 1, MPI_COMM_WORLD); break;
            case 2: MPI_Scan(in, out, count, MPI_DOUBLE, ops[op], MPI_COMM_WORLD); break;
            default: MPI_Reduce_scatter_block(in, out, count, MPI_DOUBLE, ops[op], MPI_COMM_WORLD);
          }
          unsigned long long* const wanted = first[op][which][size];
          if (call == 0) memcpy(wanted, out, sizeof out);
          differ += memcmp(wanted, out, sizeof out) != 0;
        }
      }
    }
  }
  MPI_Reduce(&differ, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d calls gave other bits than the first one\n", all);
  MPI_Finalize();
  return 0;
}
