/* Calls MPI_Allreduce of 8 bytes for some seconds, and says how the calls' times are spread: busy SECONDS [PROCESSOR]
 *
 * With PROCESSOR, all ranks bind themselves to it after their first calls, which no library is told. Rank 0 prints: calls, the
 * seconds that they took, the median call in us, the share of the time in calls slower than SLOW_US, and the slowest call in us.
 * The sum tells all ranks at the same call that the time is over. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { SLOW_US = 100, BINS = 100000 /* of 10 ns */ };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void warm_up(int rank) {
  const double begin = now();
  for (double over = 0; over == 0;) {
    double end = rank == 0 && now() - begin > 0.1;
    MPI_Allreduce(&end, &over, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
}

static void bind_to(int processor) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(processor, &one);
  if (sched_setaffinity(0, sizeof one, &one) == 0) return;
  perror("busy: sched_setaffinity");
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  long* const spread = calloc(BINS + 1, sizeof *spread);
  double slow = 0, slowest = 0, over = 0;
  long calls = 0;
  warm_up(rank);
  if (argc > 2) {
    bind_to(atoi(argv[2]));
    warm_up(rank);
  }
  const double begin = now();
  double before = begin;
  for (over = 0; over == 0; ++calls) {
    double end = rank == 0 && before - begin > seconds;
    MPI_Allreduce(&end, &over, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    const double after = now(), taken = after - before;
    const double bin = taken / 1e-8;
    ++spread[bin < BINS ? (long)bin : BINS];
    if (taken > SLOW_US * 1e-6) slow += taken;
    if (taken > slowest) slowest = taken;
    before = after;
  }
  if (rank == 0) {
    const double whole = before - begin;
    long seen = 0, median = 0;
    while (seen + spread[median] <= calls / 2) seen += spread[median++];
    printf("%ld %.6f %.3f %.4f %.1f\n", calls, whole, (double)median / 100, slow / whole, slowest * 1e6);
  }
  free(spread);
  MPI_Finalize();
  return 0;
}
