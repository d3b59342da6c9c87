/* Rounds: every collective once, in the tested form, on one communicator. The expected result is computed here and
 * not asked of the MPI. So rounds can run anywhere: in many threads, under frequent signals, or beside a rank that
 * dies. */
#include "collectives.h"

#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

enum { kThreads = 8, kLengths = 4, kLongest = 12000 };
static const int lengths[kLengths] = {1, 25, 1500, kLongest};

static int value(int from, int to, int k, unsigned turn) { return from * 100003 + to * 1009 + k * 7 + (int)turn; }

/* Completes the call in `slot` in one of MPI's ways. Ranks may choose different ways. */
static int finish(int code) {
  static _Thread_local unsigned ways;
  if (form == kBlocking || code != MPI_SUCCESS) return code;
  if (form == kPersistent) MPI_Start(slot);
  complete(1, slot, ++ways + (unsigned)rank);
  if (form == kPersistent) MPI_Request_free(slot);
  return MPI_SUCCESS;
}

/* `memory` has room for 2 * kLongest * kRanksMax ints. Returns what went wrong, or NULL. */
static const char* one_round(MPI_Comm comm, unsigned turn, int* memory) {
  MPI_Request request = MPI_REQUEST_NULL;
  int me, size, counts[kRanksMax], places[kRanksMax], *in = memory, *out = memory + kLongest * kRanksMax;
  slot = &request;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  const int n = lengths[turn % kLengths], root = (int)(turn % (unsigned)size), last = size - 1;
  const int ranks_sum = size * last / 2;
  for (int r = 0; r < size; ++r) counts[r] = n, places[r] = (last - r) * n;

#define FILL(blocks, expression)                              \
  for (int b = 0; b < (blocks); ++b)                          \
    for (int k = 0; k < n; ++k) in[b * n + k] = (expression); \
  memset(out, -1, sizeof(int) * (size_t)(size * n))
#define RIGHT(what, blocks, expression) \
  for (int b = 0; b < (blocks); ++b)    \
    for (int k = 0; k < n; ++k)         \
      if (out[b * n + k] != (expression)) return "a wrong result of " what

  if (finish(CALL(Barrier, barrier, , comm)) != MPI_SUCCESS) return "barrier";
  FILL(1, value(me, 0, k, turn));
  if (me == root) memcpy(out, in, sizeof(int) * (size_t)n);
  finish(CALL(Bcast, bcast, , out, n, MPI_INT, root, comm));
  RIGHT("broadcast", 1, value(root, 0, k, turn));
  FILL(1, me + k);
  finish(CALL(Reduce, reduce, , in, out, n, MPI_INT, MPI_SUM, root, comm));
  RIGHT("reduce", me == root, ranks_sum + size * k);
  finish(CALL(Allreduce, allreduce, , in, out, n, MPI_INT, MPI_MAX, comm));
  RIGHT("allreduce", 1, last + k);
  finish(CALL(Scan, scan, , in, out, n, MPI_INT, MPI_SUM, comm));
  RIGHT("scan", 1, me * (me + 1) / 2 + (me + 1) * k);
  finish(CALL(Exscan, exscan, , in, out, n, MPI_INT, MPI_SUM, comm));
  RIGHT("exscan", me > 0, me * (me - 1) / 2 + me * k);
  FILL(1, value(me, 0, k, turn));
  finish(CALL(Gather, gather, , in, n, MPI_INT, out, n, MPI_INT, root, comm));
  RIGHT("gather", me == root ? size : 0, value(b, 0, k, turn));
  finish(CALL(Gatherv, gatherv, , in, n, MPI_INT, out, counts, places, MPI_INT, root, comm));
  RIGHT("gatherv", me == root ? size : 0, value(last - b, 0, k, turn));
  finish(CALL(Allgather, allgather, , in, n, MPI_INT, out, n, MPI_INT, comm));
  RIGHT("allgather", size, value(b, 0, k, turn));
  FILL(size, value(me, b, k, turn));
  finish(CALL(Scatter, scatter, , in, n, MPI_INT, out, n, MPI_INT, root, comm));
  RIGHT("scatter", 1, value(root, me, k, turn));
  finish(CALL(Alltoall, alltoall, , in, n, MPI_INT, out, n, MPI_INT, comm));
  RIGHT("alltoall", size, value(b, me, k, turn));
  finish(CALL(Alltoallv, alltoallv, , in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm));
  RIGHT("alltoallv", size, value(last - b, last - me, k, turn));
  FILL(size, me + b + k);
  finish(CALL(Reduce_scatter_block, reduce_scatter_block, , in, out, n, MPI_INT, MPI_SUM, comm));
  RIGHT("reduce_scatter", 1, ranks_sum + size * (me + k));
  return NULL;
}

static int* round_memory(void) { return malloc(2 * sizeof(int) * kLongest * kRanksMax); }

/* Runs rounds while a signal every 100 us interrupts the system's calls (COLLECTIVES_SIGNALS). */
static volatile sig_atomic_t signals;
static void count_signal(int number) {
  (void)number;
  ++signals;
}

void part_rounds(void) {
  const int hail = getenv("COLLECTIVES_SIGNALS") != NULL;
  struct sigaction action = {.sa_handler = count_signal}; /* without SA_RESTART */
  struct itimerval every = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
  int* memory = round_memory();
  if (hail) sigaction(SIGALRM, &action, NULL), setitimer(ITIMER_REAL, &every, NULL);
  for (unsigned turn = 0; turn < 60; ++turn) {
    const char* wrong = one_round(MPI_COMM_WORLD, turn, memory);
    EXPECT(wrong == NULL, "turn %u: %s", turn, wrong);
  }
  setitimer(ITIMER_REAL, &never, NULL);
  EXPECT(signals >= 20 * hail, "only %d signals came", (int)signals);
  free(memory);
}

/* Runs threads, each with its own communicator. */
static void* thread_main(void* argument) {
  const char* wrong = NULL;
  int* memory = round_memory();
  for (unsigned turn = 0; turn < 12 && wrong == NULL; ++turn) wrong = one_round(*(MPI_Comm*)argument, turn, memory);
  free(memory);
  return (void*)wrong;
}

void part_threads(void) {
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    if (form != kBlocking) MPI_Barrier(comms[i]); /* Copse's ranks meet in blocking calls */
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, thread_main, &comms[i]);
  for (int i = 0; i < kThreads; ++i) {
    void* wrong;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL, "thread %d: %s", i, (char*)wrong);
    MPI_Comm_free(&comms[i]);
  }
}

/* A rank dies, either between two calls or in one of them at a time from the seed. */
void part_killed(void) {
  int value = rank, sum;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}

/* The last rank dies before it sends the root, on another node, its block. The ranks of its node have sent theirs. */
void part_killed_behind(void) {
  int value = rank, sum, all[64], counts[64], places[64];
  for (int i = 0; i < ranks; ++i) counts[i] = 1, places[i] = i;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  MPI_Gatherv(&value, 1, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static void* kill_soon(void* unused) {
  usleep(100000 + next_random() % 300000);
  raise(SIGKILL);
  return unused;
}

void part_killed_amid(uint64_t seed) {
  random_state = seed;
  int* memory = round_memory();
  pthread_t killer;
  MPI_Barrier(MPI_COMM_WORLD); /* while the ranks meet, they are in the MPI */
  if (rank == (int)(random_state % (unsigned)ranks)) pthread_create(&killer, NULL, kill_soon, NULL);
  for (unsigned turn = 0;; ++turn) one_round(MPI_COMM_WORLD, turn, memory);
}
