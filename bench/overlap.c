/* How much of an allreduce is hidden behind computation (CDCP Figure 5).
 *
 *   mpirun -n 2 ./overlap BYTES CALLS ROUNDS MICROSECONDS...
 *
 * An iteration computes, and makes a call in one of these ways: `none` (no call), `blocking` (compute, then MPI_Allreduce), `test`
 * (MPI_Iallreduce, then compute in pieces with an MPI_Test after each until the call is over, then MPI_Wait) or `wait`
 * (MPI_Iallreduce, compute without a call, then MPI_Wait). The computation takes so many microseconds of the processor's time. It
 * is measured once, so that it is the same in all ways. A batch is CALLS iterations of one way, or fewer if they take long. In a
 * round each way has a batch, so that a disturbance of the machine affects all of them.
 *
 * A line for each batch has the microseconds of an iteration by the clock, from the moment when the last rank begins until the
 * first one has ended, and those of the processor, as the mean over all ranks. No clock is read between the calls, because that
 * takes about as long as a short call. A wrong result ends the program.
 *
 * With OF_THREADS, this is copse-overlap, whose ranks are threads that use the C library (overlap_threads.h). */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static _Thread_local int rank, ranks;

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* What a rank runs, with BYTES and the arguments behind it. */
static void measure(char** arguments);

#ifdef OF_THREADS
#include "overlap_threads.h"
#else
#include <mpi.h>

static MPI_Request request;

static void end_all(void) { MPI_Abort(MPI_COMM_WORLD, 1); }

static void allreduce(const double* in, double* out, int count) {
  MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void start_allreduce(const double* in, double* out, int count) {
  MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &request);
}

static int test_allreduce(void) {
  int done;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done;
}

static void wait_allreduce(void) { MPI_Wait(&request, MPI_STATUS_IGNORE); }

/* Replaces each value by the largest that a rank has. */
static void take_most(double* values, int count) {
  MPI_Allreduce(MPI_IN_PLACE, values, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc < 5) {
    if (rank == 0) fprintf(stderr, "usage: %s BYTES CALLS ROUNDS MICROSECONDS...\n", argv[0]);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  measure(argv + 1);
  MPI_Finalize();
  return 0;
}
#endif

enum { NONE, BLOCKING, TEST, WAIT, WAYS };
static const char* const names[WAYS] = {"none", "blocking", "test", "wait"};
enum { PIECES = 16, WARM = 20, FEWEST = 10 };
static const double batch_seconds = 0.25; /* at most, if that allows FEWEST calls */

/* Computes for some turns, which take a time of the processor that others cannot shorten. */
static _Thread_local volatile double sink = 1.5;
static void compute(long turns) {
  double x = sink;
  for (long i = 0; i < turns; ++i) x = x * 0.999999 + 1e-6;
  sink = x;
}

/* Returns how many seconds a turn takes. */
static double seconds_of_turn(void) {
  const long some = 4000000;
  compute(some);
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const double begin = seconds(CLOCK_THREAD_CPUTIME_ID);
    compute(some);
    const double took = seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (took < best) best = took;
  }
  return best / (double)some;
}

typedef struct work {
  double *in, *out;
  int count;
  long turns; /* a multiple of PIECES */
} work;

static void start_compute_and_wait(const work* w, int tests) {
  start_allreduce(w->in, w->out, w->count);
  if (tests) {
    for (int piece = 0, done = 0; piece < PIECES; ++piece) {
      compute(w->turns / PIECES);
      done = done || test_allreduce();
    }
  } else {
    compute(w->turns);
  }
  wait_allreduce();
}

static void iterate(const work* w, int way, int number) {
  const int last = w->count - 1;
  w->in[0] = w->in[last] = rank + number;
  if (way < TEST) compute(w->turns);
  if (way == NONE) return;
  if (way == BLOCKING) allreduce(w->in, w->out, w->count);
  else start_compute_and_wait(w, way == TEST);
  const double expected = 0.5 * ranks * (ranks - 1) + (double)ranks * number;
  if (w->out[0] == expected && w->out[last] == expected) return;
  fprintf(stderr, "rank %d, %s, call %d: %g and %g instead of %g\n", rank, names[way], number, w->out[0], w->out[last], expected);
  end_all();
}

typedef struct times {
  double clock, processor; /* seconds of an iteration */
} times;

static times run_batch(const work* w, int way, int calls) {
  double edges[2] = {0, 0}; /* when the last rank begins, and minus when the first one has ended */
  take_most(edges, 2);
  const double used = seconds(CLOCK_THREAD_CPUTIME_ID);
  edges[0] = seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < calls; ++i) iterate(w, way, i);
  edges[1] = -seconds(CLOCK_MONOTONIC);
  const double mine = seconds(CLOCK_THREAD_CPUTIME_ID) - used;
  double all = 0;
  take_most(edges, 2);
  allreduce(&mine, &all, 1);
  return (times){(-edges[1] - edges[0]) / calls, all / ranks / calls};
}

/* Returns how many calls a batch has. All ranks agree on that. */
static int calls_of(const work* w, int way, int most) {
  const times warm = run_batch(w, way, WARM);
  const double fit = batch_seconds / (warm.clock > warm.processor ? warm.clock : warm.processor);
  return fit > most ? most : fit < FEWEST ? FEWEST : (int)fit;
}

static void measure(char** arguments) {
  const int bytes = atoi(arguments[0]), most = atoi(arguments[1]), rounds = atoi(arguments[2]);
  const double turn = seconds_of_turn();
  work w = {NULL, NULL, bytes < 8 ? 1 : bytes / 8, 0};
  w.in = calloc((size_t)w.count, sizeof *w.in);
  w.out = calloc((size_t)w.count, sizeof *w.out);
  if (w.in == NULL || w.out == NULL) end_all();
  for (char** microseconds = arguments + 3; *microseconds != NULL; ++microseconds) {
    int calls[WAYS];
    w.turns = (long)(1e-6 * atof(*microseconds) / turn / PIECES) * PIECES;
    for (int way = 0; way < WAYS; ++way) calls[way] = calls_of(&w, way, most);
    for (int round = 0; round < rounds; ++round)
      for (int way = 0; way < WAYS; ++way) {
        const times took = run_batch(&w, way, calls[way]);
        if (rank == 0)
          printf("%s behind %s us: %.4f us, %.4f us of the processor\n", names[way], *microseconds, 1e6 * took.clock,
                 1e6 * took.processor);
      }
  }
  free(w.in);
  free(w.out);
}
