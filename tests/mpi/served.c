/* Persistent calls that helpers make. Ranks start them in different orders, and compute without a call until they end. More of
 * them live at the same time than helpers serve, and some are freed and made anew. One rank also gives arguments that MPI does not
 * allow.
 *
 * Usage: served [started]. With "started", it starts calls instead that are under way at the same time. Rank 0 gets all
 * results while the others compute and make no call. The last line is "passed". */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "versions.h"

enum { kCalls = 25, kMostInts = 20000, kMostRanks = 64, kTurns = 30 };
enum { kBarrier, kBcast, kReduce, kAllreduce, kReduceScatter, kKinds };

static int rank, ranks;

static void expect(int holds, const char* what, int call, int turn) {
  if (holds) return;
  fprintf(stderr, "rank %d, call %d, turn %d: %s\n", rank, call, turn, what);
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

#if HAS_PERSISTENT
static int in[kCalls][kMostInts], out[kCalls][kMostInts], ints[kCalls];
static MPI_Request requests[kCalls];

/* A reduce-scatter gives a block to each rank. The second one of them is in place. */
static int is_in_place(int call) { return call == kKinds + kReduceScatter; }
static int* given(int call) { return is_in_place(call) ? out[call] : in[call]; }
static int given_ints(int call) { return ints[call] * (call % kKinds == kReduceScatter ? ranks : 1); }

static int scatter(int call) {
  static int counts[kCalls][kMostRanks];
  const void* from = is_in_place(call) ? MPI_IN_PLACE : in[call];
  for (int i = 0; i < ranks; ++i) counts[call][i] = ints[call];
  if (call / kKinds % 2 == 0)
    return MPI_Reduce_scatter_block_init(from, out[call], ints[call], MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                         &requests[call]);
  return MPI_Reduce_scatter_init(from, out[call], counts[call], MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[call]);
}

static void make(int call) {
  static const int sizes[] = {1, 700, kMostInts, 20};
  const int kind = call % kKinds, root = call % ranks, size = sizes[call / kKinds % 4];
  const int n = ints[call] = kind == kReduceScatter ? (size < ranks ? 1 : size / ranks) : size;
  int result = MPI_SUCCESS;
  if (kind == kBarrier) result = MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[call]);
  if (kind == kBcast) result = MPI_Bcast_init(out[call], n, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[call]);
  if (kind == kReduce)
    result = MPI_Reduce_init(in[call], out[call], n, MPI_INT, MPI_MAX, root, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[call]);
  if (kind == kAllreduce)
    result = MPI_Allreduce_init(in[call], out[call], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[call]);
  if (kind == kReduceScatter) result = scatter(call);
  expect(result == MPI_SUCCESS, "the call is not made", call, -1);
}

static void start(int call, int turn) {
  const int is_root = rank == call % ranks;
  for (int i = 0; i < ints[call]; ++i) out[call][i] = call % kKinds == kBcast && is_root ? i + turn : -1;
  for (int i = 0; i < given_ints(call); ++i) given(call)[i] = rank + i + turn;
  MPI_Start(&requests[call]);
}

static void check(int call, int turn) {
  const int kind = call % kKinds, is_root = rank == call % ranks, first = kind == kReduceScatter ? rank * ints[call] : 0;
  for (int i = 0; i < ints[call]; ++i) {
    const int wanted = kind == kBcast               ? i + turn
                       : kind == kReduce && is_root ? ranks - 1 + i + turn
                       : kind >= kAllreduce         ? ranks * (first + i + turn) + ranks * (ranks - 1) / 2
                                                    : -1;
    expect(out[call][i] == wanted, "a wrong result", call, turn);
  }
}

/* One rank alone refuses a call before all of them make the others. */
static void refuse(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int result = MPI_Bcast_init(out[0], rank == 1 ? -1 : 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
  expect((result != MPI_SUCCESS) == (rank == 1), "the wrong rank has refused", 0, -1);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

static void run(void) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  refuse();
  for (int call = 0; call < kCalls; ++call) make(call);
  for (int turn = 0; turn < kTurns; ++turn) {
    for (int i = 0; i < kCalls; ++i) start(rank % 2 == 0 ? i : kCalls - 1 - i, turn);
    volatile double sum = 0;
    for (int i = 0; i < 10000 * (rank + 1); ++i) sum = sum + i;
    for (int i = 0; i < kCalls; ++i) MPI_Wait(&requests[(i + rank + turn) % kCalls], MPI_STATUS_IGNORE);
    for (int i = 0; i < kCalls; ++i) check(i, turn);
    if (turn % 10 == 9) MPI_Request_free(&requests[turn % kCalls]), make(turn % kCalls);
  }
  for (int call = 0; call < kCalls; ++call)
    if (call != 5) MPI_Request_free(&requests[call]); /* one outlives MPI_Finalize */
}
#else
static void run(void) { expect(ranks > 0, "no ranks", 0, 0); }
#endif

static void start_several(void) {
  enum { kStarted = 4, kSeconds = 60, kInts = 700 }; /* so short that helpers need not reach the ranks' memory */
  static int given[kStarted][kInts], got[kStarted][kInts];
  MPI_Request started[kStarted];
  MPI_Win window;
  MPI_Aint bytes = 0;
  volatile int* done = NULL; /* on rank 0: it has all results */
  int unit = 0;
  MPI_Win_allocate_shared(rank == 0 ? sizeof *done : 0, sizeof *done, MPI_INFO_NULL, MPI_COMM_WORLD, (void*)&done, &window);
  MPI_Win_shared_query(window, 0, &bytes, &unit, (void*)&done);
  if (rank == 0) *done = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int call = 0; call < kStarted; ++call) {
    for (int i = 0; i < kInts; ++i) given[call][i] = rank + call + i;
    MPI_Iallreduce(given[call], got[call], kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &started[call]);
  }
  const time_t end = time(NULL) + kSeconds;
  while (rank != 0 && !*done && time(NULL) < end) continue;
  expect(rank == 0 || *done, "the calls wait for a call of this rank", -1, 0);
  MPI_Waitall(kStarted, started, MPI_STATUSES_IGNORE);
  *done = 1;
  for (int call = 0; call < kStarted; ++call)
    for (int i = 0; i < kInts; ++i) expect(got[call][i] == ranks * (call + i) + ranks * (ranks - 1) / 2, "a wrong result", call, 0);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1) start_several();
  else run();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) printf("passed%s\n", HAS_PERSISTENT ? "" : " nothing: this MPI has no persistent collectives");
  MPI_Finalize();
  return 0;
}
