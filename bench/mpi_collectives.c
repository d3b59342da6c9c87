/* The repository's own MPI benchmark: barrier, broadcast, reduce and allreduce (sums of doubles), plain MPI-3.
 *
 * A batch is n back-to-back calls between two meetings of all ranks; its time is the largest elapsed time of any rank,
 * over n. n is chosen per cell (call, size, mode) so that a batch takes about --seconds. Root is rank 0. With --sync a
 * barrier follows every call inside the timed section, so that a rooted call counts until every rank has finished it;
 * the figure then includes that barrier.
 *
 *   warm  the same buffers in every call
 *   cold  each call takes the next of a ring of buffers; the rings that one call draws on hold, over all ranks, twice
 *         the last-level cache, and neighbours lie on different pages: neither caches nor registrations help
 *
 * Every batch ends, after the clock has stopped, with a check of all elements of its last result: wrong data ends the
 * run with exit code 1. Output is CSV on rank 0: call,bytes,mode,ranks,batch,calls,us. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kBarrier, kBcast, kReduce, kAllreduce, kCalls };
static const char* const call_names[kCalls] = {"barrier", "bcast", "reduce", "allreduce"};
enum { kWarm, kCold, kModes };
static const char* const mode_names[kModes] = {"warm", "cold"};
enum { kMaxSizes = 64, kPatternPeriod = 1021, kPage = 4096, kLine = 64 };

static const double kLong = 0.5; /* seconds: a batch that took so long is the cell's last */

static int rank, ranks;

// MPICH's launcher may drop what it has not forwarded yet when it hears of an abort: leave it the time.
static void give_up(void) {
  nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void fail(const char* what, const char* value, const char* remedy) {
  if (rank == 0) fprintf(stderr, "mpi_collectives: %s '%s'; %s\n", what, value, remedy);
  MPI_Finalize();
  exit(2);
}

/* The operand of rank r at place k of its ring: sums of these are exact in double. */
static double operand(int r, size_t k) { return (r + 1) * (double)(k % kPatternPeriod + 1); }

struct cell {
  int call, mode, sync;
  size_t count;                 /* doubles in a message */
  size_t stride, buffers, next; /* places between neighbours of the ring, their number, the next one used */
  double *in, *out;             /* the rings */
};

static size_t step(struct cell* c) {
  const size_t at = c->next;
  c->next = c->mode == kCold ? (at + 1) % c->buffers : 0;
  return at * c->stride;
}

/* n calls; returns this rank's elapsed seconds, and where the last call's buffers lay. */
static double run(struct cell* c, long n, size_t* last) {
  const int count = (int)c->count;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (long i = 0; i < n; ++i) {
    const size_t at = *last = step(c);
    switch (c->call) {
      case kBarrier:
        MPI_Barrier(MPI_COMM_WORLD);
        break;
      case kBcast:
        MPI_Bcast((rank == 0 ? c->in : c->out) + at, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        break;
      case kReduce:
        MPI_Reduce(c->in + at, c->out + at, count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        break;
      case kAllreduce:
        MPI_Allreduce(c->in + at, c->out + at, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        break;
    }
    if (c->sync) MPI_Barrier(MPI_COMM_WORLD);
  }
  return MPI_Wtime() - start;
}

static int holds_result(const struct cell* c) {
  return c->call == kAllreduce || (c->call == kReduce && rank == 0) || (c->call == kBcast && rank != 0);
}

static void check(const struct cell* c, size_t at) {
  if (!holds_result(c)) return;
  const double factor = c->call == kBcast ? 1 : ranks * (ranks + 1) / 2.0;
  for (size_t k = at; k < at + c->count; ++k) {
    const double expected = factor * operand(0, k);
    if (c->out[k] != expected) {
      fprintf(stderr, "mpi_collectives: %s of %zu bytes (%s) on rank %d of %d: element %zu is %g, expected %g\n",
              call_names[c->call], c->count * 8, mode_names[c->mode], rank, ranks, k - at, c->out[k], expected);
      give_up();
    }
  }
}

/* A checked batch: the slowest rank's seconds. */
static double batch(struct cell* c, long n) {
  size_t last = (c->next + (size_t)(n - 1)) % c->buffers * c->stride; /* spoil where the last result will go */
  if (c->mode == kWarm) last = 0;
  for (size_t k = 0; holds_result(c) && k < c->count; ++k) c->out[last + k] = -1;
  double mine = run(c, n, &last), slowest;
  check(c, last);
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(struct cell* c, int batches, double seconds) {
  /* The best of three trials, so that one disturbed trial does not end in batches of a single call. */
  long n = 1;
  double best;
  for (;; n *= 4) {
    best = batch(c, n);
    for (int trial = 1; trial < 3 && best < kLong; ++trial) {
      const double again = batch(c, n);
      if (again < best) best = again;
    }
    if (best >= seconds / 4) break;
  }
  n = (long)(seconds / best * (double)n);
  if (n < 1) n = 1;
  double took = 0;
  for (int b = 0; b < batches && took < kLong; ++b) { /* every rank knows the same times, so all stop together */
    took = batch(c, n);
    if (rank == 0) {
      printf("%s,%zu,%s%s,%d,%d,%ld,%.4f\n", call_names[c->call], c->count * 8, mode_names[c->mode],
             c->sync ? "+sync" : "", ranks, b, n, took / (double)n * 1e6);
    }
  }
}

static double* ring(size_t places, int filled) {
  double* p = malloc(places * sizeof *p);
  if (!p) {
    fprintf(stderr, "mpi_collectives: no memory for a ring of %zu MiB on rank %d; leave out cold mode\n",
            places * 8 >> 20, rank);
    give_up();
  }
  for (size_t k = 0; k < places; ++k) p[k] = filled ? operand(rank, k) : -1;
  return p;
}

/* Marks in `chosen` which of `names` the comma-separated `list` holds. */
static void choose(const char* list, const char* const* names, int count, int* chosen) {
  char* words = strdup(list);
  memset(chosen, 0, (size_t)count * sizeof *chosen);
  for (char* word = strtok(words, ","); word; word = strtok(NULL, ",")) {
    int i = 0;
    while (i < count && strcmp(word, names[i]) != 0) ++i;
    if (i == count) fail("unknown name", word, "use barrier, bcast, reduce, allreduce; warm, cold");
    chosen[i] = 1;
  }
  free(words);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  const char *calls = "barrier,bcast,reduce,allreduce", *modes = "warm,cold";
  const char* sizes = "8,512,4096,32768,262144,1048576,4194304";
  int batches = 5, sync = 0;
  double seconds = 0.01;
  for (int i = 1; i < argc; ++i) {
    const char* word = argv[i];
    if (strcmp(word, "--sync") == 0) {
      sync = 1;
      continue;
    }
    if (i + 1 == argc) fail("unknown option or missing value", word, "see the head of mpi_collectives.c");
    const char* value = argv[++i];
    if (strcmp(word, "--calls") == 0) {
      calls = value;
    } else if (strcmp(word, "--modes") == 0) {
      modes = value;
    } else if (strcmp(word, "--sizes") == 0) {
      sizes = value;
    } else if (strcmp(word, "--batches") == 0) {
      batches = atoi(value);
    } else if (strcmp(word, "--seconds") == 0) {
      seconds = atof(value);
    } else {
      fail("unknown option", word, "use --calls --modes --sizes --batches --seconds --sync");
    }
  }

  int use_call[kCalls], use_mode[kModes];
  choose(calls, call_names, kCalls, use_call);
  choose(modes, mode_names, kModes, use_mode);
  size_t counts[kMaxSizes], size_count = 0, largest = 0;
  for (const char* p = sizes; *p; ++size_count) {
    char* end;
    const unsigned long bytes = strtoul(p, &end, 10);
    if (end == p || (*end && *end != ',') || bytes == 0 || bytes % 8 || size_count == kMaxSizes) {
      fail("bad size list", sizes, "give positive multiples of 8, separated by commas");
    }
    counts[size_count] = bytes / 8;
    if (bytes > largest) largest = bytes;
    p = *end ? end + 1 : end;
  }

  long cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
  if (cache <= 0) cache = 32L << 20;
  size_t bytes = largest; /* of a ring */
  if (use_mode[kCold]) {
    bytes = 2 * (size_t)cache / (size_t)ranks;
    if (bytes < 4 * (largest + kPage)) bytes = 4 * (largest + kPage);
  }
  const size_t places = bytes / 8;
  double *in = ring(places, 1), *out = ring(places, 0);
  if (rank == 0) {
    if (use_mode[kCold]) {
      printf("# cold: rings of %zu MiB in %d ranks, last-level cache %ld MiB\n", bytes >> 20, ranks, cache >> 20);
    }
    printf("call,bytes,mode,ranks,batch,calls,us\n");
  }

  for (int call = 0; call < kCalls; ++call) {
    for (size_t s = 0; use_call[call] && s < (call == kBarrier ? 1 : size_count); ++s) {
      for (int mode = 0; mode < kModes; ++mode) {
        if (!use_mode[mode] || (call == kBarrier && mode == kCold && use_mode[kWarm])) continue;
        struct cell c = {.call = call, .mode = mode, .sync = sync, .in = in, .out = out};
        c.count = call == kBarrier ? 0 : counts[s];
        c.stride = ((c.count * 8 + kLine - 1) / kLine * kLine + kPage) / 8;
        c.buffers = mode == kCold ? places / c.stride : 1;
        measure(&c, batches, seconds);
      }
    }
  }
  if (rank == 0) fflush(stdout);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
