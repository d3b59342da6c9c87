/* How much of an allreduce is hidden behind computation (CDCP Figure 5).
 *
 *   mpirun -n 2 ./overlap MODE BYTES MICROSECONDS CALLS
 *
 * MODE is `blocking` (compute, then MPI_Allreduce), `test` (MPI_Iallreduce, then compute in pieces with an MPI_Test after each),
 * `wait` (MPI_Iallreduce, compute without a call, then MPI_Wait) or `none` (compute only). The computation takes so many
 * microseconds of the processor's time. One line for each mode, with the mean over all ranks: microseconds of the clock and of the
 * processor for each iteration, and those that the calls took themselves. A wrong result ends the program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Computes for some turns, which take a time of the processor that others cannot shorten. */
static volatile double sink = 1.5;
static void compute(long turns) {
  double x = sink;
  for (long i = 0; i < turns; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}

static long turns_for(double microseconds) {
  const long some = 4000000;
  compute(some);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    compute(some);
    const double took = seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (took < best) best = took;
  }
  return (long)(1e-6 * microseconds / best * (double)some);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 5) {
    if (rank == 0) fprintf(stderr, "usage: %s none|blocking|test|wait BYTES MICROSECONDS CALLS\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const char* const mode = argv[1];
  const int count = atoi(argv[2]) / 8 > 0 ? atoi(argv[2]) / 8 : 1, calls = atoi(argv[4]), pieces = 16;
  const long turns = turns_for(atof(argv[3]));
  double *const in = calloc((size_t)count, 8), *const out = calloc((size_t)count, 8);
  double in_calls = 0, begin = 0, used = 0;
  const int warm = calls / 10 + 10;
  for (int i = -warm; i < calls; ++i) {
    if (i == 0) {
      MPI_Barrier(MPI_COMM_WORLD);
      begin = seconds(CLOCK_MONOTONIC);
      used = seconds(CLOCK_THREAD_CPUTIME_ID);
      in_calls = 0;
    }
    in[0] = rank + i;
    in[count - 1] = rank + i;
    MPI_Request request;
    double enter = seconds(CLOCK_MONOTONIC);
    if (strcmp(mode, "blocking") == 0) {
      compute(turns);
      enter = seconds(CLOCK_MONOTONIC);
      MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
      in_calls += seconds(CLOCK_MONOTONIC) - enter;
    } else if (strcmp(mode, "none") == 0) {
      compute(turns);
      continue;
    } else {
      MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
      in_calls += seconds(CLOCK_MONOTONIC) - enter;
      if (strcmp(mode, "test") == 0) {
        int done = 0;
        for (int piece = 0; piece < pieces; ++piece) {
          compute(turns / pieces);
          enter = seconds(CLOCK_MONOTONIC);
          if (!done) MPI_Test(&request, &done, MPI_STATUS_IGNORE);
          in_calls += seconds(CLOCK_MONOTONIC) - enter;
        }
      } else {
        compute(turns);
      }
      enter = seconds(CLOCK_MONOTONIC);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      in_calls += seconds(CLOCK_MONOTONIC) - enter;
    }
    const double expected = 0.5 * ranks * (ranks - 1) + (double)ranks * i;
    if (out[0] != expected || out[count - 1] != expected) {
      fprintf(stderr, "rank %d, call %d: %g instead of %g\n", rank, i, out[0], expected);
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
  }
  double mine[3] = {seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_THREAD_CPUTIME_ID) - used, in_calls}, all[3];
  MPI_Reduce(mine, all, 3, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%s %d bytes: %.3f us, %.3f us of the processor, %.3f us in calls\n", mode, count * 8, 1e6 * all[0] / calls / ranks,
           1e6 * all[1] / calls / ranks, 1e6 * all[2] / calls / ranks);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
