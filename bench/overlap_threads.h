/* What overlap.c calls, by the C library: ranks are threads, and one more thread may serve them.
 *
 *   copse-overlap RANKS HELPERS BYTES CALLS ROUNDS MICROSECONDS...
 *
 * HELPERS is 0 or 1. The ranks share all processors that may be used but the last. That one is the helper's, or idle. */
#ifndef COPSE_BENCH_OVERLAP_THREADS_H
#define COPSE_BENCH_OVERLAP_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

#include "copse/copse.h"

static _Thread_local copse_comm* comm;
static _Thread_local copse_request* request;
static copse_meeting* meeting;
static int threads, helpers;
static char** of_ranks; /* arguments */
static int processors[CPU_SETSIZE], processor_count;

static void end_all(void) { exit(1); }

static void fail(const char* what, const char* why) {
  fprintf(stderr, "copse-overlap: %s: %s\n", what, why);
  end_all();
}

static void must(copse_status status) {
  if (status != COPSE_OK) fail(copse_status_text(status), copse_comm_message(comm));
}

static void allreduce(const double* in, double* out, int count) {
  must(copse_allreduce(comm, in, out, (size_t)count, COPSE_DOUBLE, COPSE_SUM));
}

static void start_allreduce(const double* in, double* out, int count) {
  must(copse_start_allreduce(comm, in, out, (size_t)count, COPSE_DOUBLE, COPSE_SUM, &request));
}

static int test_allreduce(void) {
  int done;
  must(copse_test(&request, &done));
  return done;
}

static void wait_allreduce(void) { must(copse_wait(&request)); }

static void take_most(double* values, int count) {
  must(copse_allreduce(comm, values, values, (size_t)count, COPSE_DOUBLE, COPSE_MAX));
}

/* Starts a long call, and makes no further one until the result is there. Only a helper can have brought it. The C library has no
 * trace that would tell. */
static void require_service(void) {
  enum { COUNT = 1 << 16, PATIENCE_SECONDS = 20 };
  double *const in = calloc(COUNT, sizeof *in), *const out = calloc(COUNT, sizeof *out);
  if (in == NULL || out == NULL) fail("no memory", "for a call of 512 KiB");
  const volatile double* const last = out + COUNT - 1;
  const double end = seconds(CLOCK_MONOTONIC) + PATIENCE_SECONDS;
  in[COUNT - 1] = 1;
  start_allreduce(in, out, COUNT);
  while (*last != ranks && seconds(CLOCK_MONOTONIC) < end) sched_yield();
  if (*last != ranks) fail("the helper makes no calls", "a started allreduce has waited for a call of its rank");
  wait_allreduce();
  free(in);
  free(out);
}

static void run_on(int processor) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(processor, &only);
  if (sched_setaffinity(0, sizeof only, &only) != 0) fail("no thread can be bound", "the system refuses it");
}

static void* be_rank(void* number) {
  rank = (int)(intptr_t)number;
  ranks = threads;
  run_on(processors[rank % (processor_count - 1)]);
  must(copse_comm_create_threads(meeting, rank, &comm));
  if (helpers > 0) require_service();
  measure(of_ranks);
  copse_comm_free(comm);
  return NULL;
}

static void* be_helper(void* unused) {
  run_on(processors[processor_count - 1]);
  must(copse_help_threads(meeting, 0));
  return unused;
}

static void find_processors(void) {
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) != 0) fail("no list of processors", "the system refuses it");
  for (int processor = 0; processor < CPU_SETSIZE; ++processor)
    if (CPU_ISSET(processor, &usable)) processors[processor_count++] = processor;
  if (processor_count < 2) fail("there is only one processor here", "a helper needs one of its own");
}

int main(int argc, char** argv) {
  enum { MOST = 256 };
  pthread_t all[MOST + 1];
  threads = argc > 6 ? atoi(argv[1]) : 0;
  helpers = argc > 6 ? atoi(argv[2]) : 0;
  if (threads < 1 || threads > MOST || helpers < 0 || helpers > 1) {
    fprintf(stderr, "usage: %s RANKS(1-%d) HELPERS(0-1) BYTES CALLS ROUNDS MICROSECONDS...\n", argv[0], MOST);
    return 2;
  }
  of_ranks = argv + 3;
  find_processors();
  must(helpers > 0 ? copse_meeting_create_with_helpers(threads, helpers, &meeting) : copse_meeting_create(threads, &meeting));
  for (int i = 0; i < threads + helpers; ++i)
    if (pthread_create(&all[i], NULL, i < threads ? be_rank : be_helper, (void*)(intptr_t)i) != 0)
      fail("a thread cannot be started", "the system refuses it");
  for (int i = 0; i < threads + helpers; ++i) pthread_join(all[i], NULL);
  copse_meeting_free(meeting);
  return 0;
}

#endif
