/* OpenSHMEM's collectives as bench/uoms.c measures UPC's: the same blocks, iterations and figures.
 *
 *     oshmem SIZES [ALLSYNC|MYSYNC]
 *
 * With ALLSYNC, the time includes a barrier before the call and one behind it, since the standard leaves them to the program. A
 * broadcast gives the root its block, too, and a reduction first folds what each rank has, as UPC's do. */
#define _GNU_SOURCE
#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_REPETITIONS = 1000, FEWEST_REPETITIONS = 20 };

static long* sync_arrays[2]; /* used in turn, since a call may begin while others still leave the one before */
static double *work, *folded, *total;
static char *src, *dst;
static double* durations;
static int me, ranks;

static void broadcast(size_t n, long* sync) {
  if (me == 0) memcpy(dst, src, n);
  shmem_broadcast64(dst, src, n / 8, 0, 0, 0, ranks, sync);
}
static void gather_all(size_t n, long* sync) { shmem_fcollect64(dst, src, n / 8, 0, 0, ranks, sync); }
static void exchange(size_t n, long* sync) { shmem_alltoall64(dst, src, n / 8, 0, 0, ranks, sync); }
static void reduce(size_t n, long* sync) {
  const double* const from = (const double*)src;
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (size_t i = 0; i < n / sizeof(double); ++i) sum += from[i];
  *folded = sum;
  shmem_double_sum_to_all(total, folded, 1, 0, 0, ranks, work, sync);
}

static const struct {
  const char* name; /* of UPC's function */
  void (*call)(size_t bytes, long* sync);
} operations[] = {{"upc_all_broadcast", broadcast},
                  {"upc_all_gather_all", gather_all},
                  {"upc_all_exchange", exchange},
                  {"upc_all_reduceD", reduce}};

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int repetitions_of(size_t bytes) {
  const size_t fit = ((size_t)64 << 20) / (bytes * (size_t)ranks + 1);
  return fit > MOST_REPETITIONS ? MOST_REPETITIONS : fit < FEWEST_REPETITIONS ? FEWEST_REPETITIONS : (int)fit;
}

static void benchmark(int operation, size_t bytes, int barriers) {
  const int repetitions = repetitions_of(bytes);
  double least = 1e300, most = 0, sum = 0;
  for (int i = -FEWEST_REPETITIONS; i < repetitions; ++i) { /* those below 0 warm up */
    shmem_barrier_all();
    const double start = now_us();
    if (barriers) shmem_barrier_all();
    operations[operation].call(bytes, sync_arrays[i & 1]);
    if (barriers) shmem_barrier_all();
    if (i >= 0) durations[i] = now_us() - start;
  }
  shmem_barrier_all();
  if (me == 0) {
    double* const slowest = calloc((size_t)repetitions, sizeof *slowest);
    double* const theirs = calloc((size_t)repetitions, sizeof *theirs);
    for (int rank = 0; rank < ranks; ++rank) {
      shmem_getmem(theirs, durations, (size_t)repetitions * sizeof *theirs, rank);
      for (int i = 0; i < repetitions; ++i)
        if (theirs[i] > slowest[i]) slowest[i] = theirs[i];
    }
    for (int i = 0; i < repetitions; ++i) {
      least = slowest[i] < least ? slowest[i] : least;
      most = slowest[i] > most ? slowest[i] : most;
      sum += slowest[i];
    }
    printf("# Benchmarking %s\n%12zu %12d %14.3f %14.3f %14.3f\n", operations[operation].name, bytes, repetitions, least, most,
           sum / repetitions);
    fflush(stdout);
    free(slowest);
    free(theirs);
  }
  shmem_barrier_all();
}

int main(int argc, char** argv) {
  size_t largest = 0;
  shmem_init();
  me = shmem_my_pe();
  ranks = shmem_n_pes();
  if (argc < 2) return 2;
  for (char* at = argv[1]; *at != '\0'; at += strcspn(at, ","), at += *at == ',') {
    const size_t bytes = strtoul(at, NULL, 10);
    if (bytes > largest) largest = bytes;
  }
  src = shmem_calloc((size_t)ranks, largest);
  dst = shmem_calloc((size_t)ranks, largest);
  durations = shmem_calloc(MOST_REPETITIONS, sizeof *durations);
  work = shmem_calloc(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 1, sizeof *work);
  folded = shmem_calloc(1, sizeof *folded);
  total = shmem_calloc(1, sizeof *total);
  for (int i = 0; i < 2; ++i) {
    const size_t most = SHMEM_ALLTOALL_SYNC_SIZE + SHMEM_COLLECT_SYNC_SIZE + SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE;
    sync_arrays[i] = shmem_malloc(most * sizeof(long));
    for (size_t j = 0; j < most; ++j) sync_arrays[i][j] = SHMEM_SYNC_VALUE;
  }
  shmem_barrier_all();
  for (size_t o = 0; o < sizeof operations / sizeof operations[0]; ++o)
    for (char* at = argv[1]; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
      benchmark((int)o, strtoul(at, NULL, 10), argc < 3 || strcmp(argv[2], "MYSYNC") != 0);
  shmem_barrier_all();
  fflush(stdout);
  _exit(0); /* shmem_finalize of Debian's Open MPI 4.1.4 crashes */
}
