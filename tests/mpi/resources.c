/* Measures a rank's use of resources in programs that use much of something:
 *
 *   pairs N    MPI_Comm_dup and MPI_Comm_free, N times; a barrier on every hundredth
 *   unused N   N communicators alive at once, without any call on them
 *   used N     the same, with a barrier and an allreduce on each
 *   renewed N  N times a persistent broadcast is initialised, run and freed
 *   kept N     N persistent broadcasts alive at once, each run twice, in opposite orders on every other rank
 *   buffers N  N broadcasts and allreduces, each on fresh memory: mapped at another address, or allocated
 *
 * Rank 0 prints: what, N, seconds, the kilobytes by which it grew, and the files that it has opened and not closed. With live
 * communicators, two more such lines follow: one after all are freed, and one for a second round. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "versions.h"

enum { kBufferBytes = 1 << 16, kArena = 1 << 28, kKept = 16, kEvery = 100 };

static int rank, ranks;
static long kilobytes_before, files_before;
static double start;
static MPI_Status* volatile unneeded; /* gcc and MPICH 4.0's header do not agree on MPI_STATUSES_IGNORE itself */

static long kilobytes(void) {
  char line[256];
  long found = -1;
  FILE* status = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, status) != NULL)
    if (sscanf(line, "VmRSS: %ld", &found) == 1) break;
  fclose(status);
  return found;
}

static long files(void) {
  long count = 0;
  DIR* folder = opendir("/proc/self/fd");
  while (readdir(folder) != NULL) ++count;
  closedir(folder);
  return count;
}

static void expect(int right, const char* what, long i) {
  if (right) return;
  fprintf(stderr, "resources: rank %d: wrong %s at %ld\n", rank, what, i);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static void use(MPI_Comm comm, long i) {
  const long mine = rank + i;
  long sum = 0;
  MPI_Barrier(comm);
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, comm);
  expect(sum == ranks * i + (long)ranks * (ranks - 1) / 2, "sum", i);
}

static void pairs(long n) {
  for (long i = 0; i < n; ++i) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (i % kEvery == 0) MPI_Barrier(comm);
    MPI_Comm_free(&comm);
  }
}

/* A broadcast's data walks through an arena of addresses, which is given back behind it. A reduction's data is
 * allocated in a different size each time and freed some rounds later. */
static void buffers(long n) {
  char *arena = mmap(NULL, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *kept[kKept] = {NULL};
  for (long i = 0; i < n; ++i) {
    char* moved = arena + i % (kArena / kBufferBytes) * kBufferBytes;
    const int root = (int)(i % ranks), last = kBufferBytes - 1;
    if (rank == root) memset(moved, (char)i, kBufferBytes);
    MPI_Bcast(moved, kBufferBytes, MPI_CHAR, root, MPI_COMM_WORLD);
    expect(moved[0] == (char)i && moved[last] == (char)i, "broadcast", i);
    madvise(moved, kBufferBytes, MADV_DONTNEED);

    free(kept[i % kKept]);
    char *in = kept[i % kKept] = malloc(2 * kBufferBytes + (size_t)(i % 97) * 4096), *out = in + kBufferBytes;
    memset(in, (char)(i + rank), kBufferBytes);
    MPI_Allreduce(in, out, kBufferBytes, MPI_UNSIGNED_CHAR, MPI_BXOR, MPI_COMM_WORLD);
    char all = 0;
    for (int r = 0; r < ranks; ++r) all ^= (char)(i + r);
    expect(out[0] == all && out[last] == all, "allreduce", i);
  }
  for (int k = 0; k < kKept; ++k) free(kept[k]);
  munmap(arena, kArena);
}

/* Buffers that change behind addresses that ranks have read before. They are mapped anew, moved by realloc, or lie
 * in a part of the program break that was given back. */
static void remapped(long n) {
  char *fixed = mmap(NULL, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *grown = NULL;
  for (long i = 0; i < n; ++i) {
    const size_t bytes = kBufferBytes / 2 + (size_t)(i % 8) * (kBufferBytes / 16);
    grown = realloc(grown, bytes << i % 4);
    char *top = sbrk(kBufferBytes), *buffers[] = {fixed, grown, top};
    for (int b = 0; b < 3; ++b) {
      const int root = (int)((i + b) % ranks);
      if (buffers[b] == (char*)-1) continue; /* the break cannot grow */
      memset(buffers[b], rank == root ? (char)(i + b) : -1, bytes);
      MPI_Bcast(buffers[b], (int)bytes, MPI_CHAR, root, MPI_COMM_WORLD);
      expect(buffers[b][0] == (char)(i + b) && buffers[b][bytes - 1] == (char)(i + b), "broadcast", i);
    }
    /* In one step: between two, UCX's hooks may map memory of their own there. */
    expect(mmap(fixed, kBufferBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == fixed, "map", i);
    if (sbrk(0) == top + kBufferBytes) sbrk(-kBufferBytes); /* nobody else has moved it */
  }
  free(grown);
  munmap(fixed, kBufferBytes);
}

static void report(const char* what, long n) {
  if (rank == 0)
    printf("%s,%ld,%.3f,%ld,%ld\n", what, n, MPI_Wtime() - start, kilobytes() - kilobytes_before, files() - files_before);
}

#if HAS_PERSISTENT
static void renewed(long n) {
  for (long i = 0; i < n; ++i) {
    const int root = (int)(i % ranks);
    long value = rank == root ? i : -1;
    MPI_Request request;
    MPI_Bcast_init(&value, 1, MPI_LONG, root, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    expect(value == i, "broadcast", i);
  }
}

static void kept(long n) {
  MPI_Request* requests = malloc((size_t)n * sizeof *requests);
  long* values = malloc((size_t)n * sizeof *values);
  for (long i = 0; i < n; ++i) MPI_Bcast_init(&values[i], 1, MPI_LONG, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[i]);
  report("initialised", n);
  for (long turn = 0; turn < 2; ++turn) {
    for (long i = 0; i < n; ++i) values[i] = rank == 0 ? i + turn : -1;
    for (long i = 0; i < n; ++i) MPI_Start(&requests[rank % 2 ? n - 1 - i : i]);
    MPI_Waitall((int)n, requests, unneeded);
    for (long i = 0; i < n; ++i) expect(values[i] == i + turn, "broadcast", i);
  }
  report("kept", n);
  for (long i = 0; i < n; ++i) MPI_Request_free(&requests[i]);
  free(requests), free(values);
}
#else
static void renewed(long n) { (void)n; }
static void kept(long n) { (void)n; }
#endif

static void begin(void) {
  kilobytes_before = kilobytes();
  files_before = files();
  start = MPI_Wtime();
}

static void live(long n, const char* what) {
  MPI_Comm* comms = malloc((size_t)n * sizeof *comms);
  for (long i = 0; i < n; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (strcmp(what, "used") == 0) use(comms[i], i);
  }
  report(what, n);
  for (long i = n; i-- > 0;) MPI_Comm_free(&comms[i]);
  free(comms);
  report("freed", n);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* what = argc > 1 ? argv[1] : "";
  const long n = argc > 2 ? atol(argv[2]) : 0;
  use(MPI_COMM_WORLD, 0); /* the cost of the first communicator does not count */
  begin();
  unneeded = MPI_STATUSES_IGNORE;
  if (strcmp(what, "pairs") == 0) pairs(n), report(what, n);
  else if (strcmp(what, "renewed") == 0) renewed(n), report(what, n);
  else if (strcmp(what, "kept") == 0) kept(n), kept(n);
  else if (strcmp(what, "buffers") == 0) buffers(n), report(what, n);
  else if (strcmp(what, "remapped") == 0) remapped(n), report(what, n);
  else live(n, what), live(n, what);
  use(MPI_COMM_WORLD, n);
  MPI_Finalize();
  return 0;
}
