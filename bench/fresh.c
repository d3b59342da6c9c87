/* Measures what the first calls on a fresh communicator cost, its creation and its end included, for bench/fresh.py.
 *
 * fresh KIND WHAT ROUNDS: for each number of calls from 1 to 1000, ROUNDS times: makes a communicator, makes that many
 * calls on it, and frees it.
 *   KIND: dup (of the world), halves (a split of it in two), single (a split of MPI_COMM_SELF), or world. A world is made
 *   once, so there the figures are the time from the first call on; MPI_Init is not part of them.
 *   WHAT: barrier, int (an allreduce of one), double (the same), bcast (of 64 KiB), or none (no call at all).
 * Output is CSV on rank 0: calls,us (the median over the rounds). The ranks meet before each round by messages, which no
 * library of collectives sees. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"

enum { kMost = 1000, kBytes = 65536 };
static const int kCalls[] = {1, 2, 4, 8, 16, 32, 64, 125, 250, 500, kMost};
enum { kSteps = sizeof kCalls / sizeof *kCalls };

static int rank, ranks;
static char buffer[kBytes];

static MPI_Comm make(const char* kind) {
  MPI_Comm comm = MPI_COMM_WORLD;
  if (strcmp(kind, "dup") == 0) MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (strcmp(kind, "halves") == 0) MPI_Comm_split(MPI_COMM_WORLD, rank < ranks / 2, rank, &comm);
  if (strcmp(kind, "single") == 0) MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comm);
  return comm;
}

static void call(char what, MPI_Comm comm) {
  int one = 1, sum;
  double real = 1, total;
  switch (what) {
    case 'i': MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm); break;
    case 'd': MPI_Allreduce(&real, &total, 1, MPI_DOUBLE, MPI_SUM, comm); break;
    case 'b': MPI_Bcast(buffer, kBytes, MPI_BYTE, 0, comm); break;
    default: break;
  }
}

static int by_size(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

static double round_of(const char* kind, char what, int calls) {
  meet(rank, ranks);
  const double start = MPI_Wtime();
  MPI_Comm comm = make(kind);
  for (int i = 0; i < calls; ++i)
    if (what == 'm') MPI_Barrier(comm);
    else call(what, comm);
  MPI_Comm_free(&comm);
  return (MPI_Wtime() - start) * 1e6;
}

static void world(char what) {
  meet(rank, ranks);
  const double start = MPI_Wtime();
  for (int step = 0, calls = 0; step < kSteps; ++step) {
    for (; calls < kCalls[step]; ++calls)
      if (what == 'm') MPI_Barrier(MPI_COMM_WORLD);
      else call(what, MPI_COMM_WORLD);
    if (rank == 0) printf("%d,%.1f\n", calls, (MPI_Wtime() - start) * 1e6);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 4) {
    fprintf(stderr, "fresh: expected KIND WHAT ROUNDS\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int rounds = atoi(argv[3]);
  const char what = strcmp(argv[2], "barrier") == 0 ? 'm' : argv[2][0];
  double* times = malloc(sizeof(double) * (size_t)rounds);
  if (rank == 0) printf("calls,us\n");
  if (strcmp(argv[1], "world") == 0) world(what);
  else
    for (int step = 0; step < kSteps; ++step) {
      for (int i = 0; i < rounds; ++i) times[i] = round_of(argv[1], what, kCalls[step]);
      qsort(times, (size_t)rounds, sizeof(double), by_size);
      if (rank == 0) printf("%d,%.1f\n", kCalls[step], times[rounds / 2]);
    }
  free(times);
  MPI_Finalize();
  return 0;
}
