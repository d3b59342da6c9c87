/* Persistent calls in any order. MPI matches them when they are initialised (MPI-4.1 6.13), so each rank may start
 * them in an order of its own, beside blocking and started calls, which keep theirs. */
#include "collectives.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#if HAS_PERSISTENT
enum { kCallsMost = 24, kIntsMost = 40000, kRounds = 25 };

static uint64_t own_state; /* for what a rank draws alone */
static unsigned own_random(void) {
  own_state ^= own_state << 13, own_state ^= own_state >> 7, own_state ^= own_state << 17;
  return (unsigned)(own_state >> 33);
}

static void shuffle(int* order, int count) {
  for (int i = 0; i < count; ++i) order[i] = i;
  for (int i = count - 1; i > 0; --i) {
    const int other = (int)(own_random() % (unsigned)(i + 1)), kept = order[i];
    order[i] = order[other], order[other] = kept;
  }
}

/* Two broadcasts of the same shape, in every second turn of the same root, in opposite orders. One rank starts one before a
 * barrier, the other after it. */
static void test_two(void) {
  for (int turn = 0; turn < 50; ++turn) {
    int value[2] = {0, 0};
    MPI_Request call[3], swapped[3];
    for (int i = 0; i < 2; ++i) {
      const int root = turn % 2 ? i : 0;
      if (rank == root) value[i] = 10 * turn + i + 1;
      MPI_Bcast_init(&value[i], 1, MPI_INT, root, MPI_COMM_WORLD, MPI_INFO_NULL, &call[i]);
    }
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &call[2]);
    if (turn % 3 == 0) {
      for (int i = 0; i < 3; ++i) MPI_Start(&call[(i + rank) % 3]);
    } else if (turn % 3 == 1) {
      for (int i = 0; i < 3; ++i) swapped[i] = call[rank % 2 ? 2 - i : i];
      MPI_Startall(3, swapped);
    } else {
      if (rank % 2 == 0) MPI_Startall(3, call);
      MPI_Barrier(MPI_COMM_WORLD);
      if (rank % 2 == 1) MPI_Startall(3, call);
    }
    complete(3, call, 0);
    for (int i = 0; i < 2; ++i) EXPECT(value[i] == 10 * turn + i + 1, "turn %d, broadcast %d: %d", turn, i, value[i]);
    for (int i = 0; i < 3; ++i) MPI_Request_free(&call[i]);
  }
}

struct persistent {
  int kind, root, count, *in, *out;
  MPI_Op op; /* the user's, of kind 4 */
};

static void add_up(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void initialise(struct persistent* call, MPI_Comm comm, MPI_Request* request) {
  static const int counts[] = {0, 1, 5, 30, 900, 9000, kIntsMost};
  int me, size;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  call->kind = (int)(next_random() % 7);
  call->root = (int)(next_random() % (unsigned)size);
  call->count = counts[next_random() % (sizeof counts / sizeof *counts)];
  if (call->kind == 2 && call->count > 9000) call->count = 9000;
  call->in = malloc(sizeof(int) * (size_t)(call->count + 1));
  call->out = malloc(sizeof(int) * (size_t)(call->count + 1) * (size_t)size);
  switch (call->kind) {
    case 0: MPI_Bcast_init(call->out, call->count, MPI_INT, call->root, comm, MPI_INFO_NULL, request); break;
    case 1: MPI_Allreduce_init(call->in, call->out, call->count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
    case 2:
      MPI_Allgather_init(call->in, call->count, MPI_INT, call->out, call->count, MPI_INT, comm, MPI_INFO_NULL, request);
      break;
    case 3: MPI_Reduce_init(call->in, call->out, call->count, MPI_INT, MPI_SUM, call->root, comm, MPI_INFO_NULL, request); break;
    case 4:
      MPI_Op_create(add_up, (int)(next_random() % 2), &call->op);
      MPI_Allreduce_init(call->in, call->out, call->count, MPI_INT, call->op, comm, MPI_INFO_NULL, request);
      MPI_Op_free(&call->op);
      break;
    case 5: MPI_Allreduce_init(MPI_IN_PLACE, call->out, call->count, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, request); break;
    case 6: MPI_Barrier_init(comm, MPI_INFO_NULL, request); break;
  }
}

static void fill(const struct persistent* call, int seed, int me, int size) {
  for (int i = 0; i < call->count; ++i) {
    call->in[i] = seed + i + me;
    call->out[i] = call->kind == 5 || (call->kind == 0 && me == call->root) ? seed + i + (call->kind == 5 ? me : 0) : -1;
  }
  for (int i = call->count; i < call->count * size; ++i) call->out[i] = -1;
}

static void check(const struct persistent* call, int seed, int me, int size) {
  const int length = call->kind == 2 ? call->count * size : call->kind == 6 ? 0 : call->count;
  for (int i = 0; i < length; ++i) {
    int want = size * (seed + i) + size * (size - 1) / 2;
    if (call->kind == 0) want = seed + i;
    if (call->kind == 2) want = seed + i % call->count + i / call->count;
    if (call->kind == 3 && me != call->root) want = -1;
    EXPECT(call->out[i] == want, "kind %d of %d, root %d, seed %d: element %d is %d, not %d", call->kind, call->count, call->root,
           seed, i, call->out[i], want);
  }
}

/* Many calls of all kinds and sizes on two communicators. Each rank starts them in its own order, with the blocking
 * and started calls of all ranks in between. */
static void test_many(uint64_t seed) {
  struct persistent calls[kCallsMost];
  MPI_Request requests[kCallsMost];
  MPI_Comm comms[2] = {MPI_COMM_WORLD};
  int order[kCallsMost];
  random_state = seed;
  own_state = seed * 77 + (uint64_t)rank + 1;
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  for (int i = 0; i < kCallsMost; ++i) initialise(&calls[i], comms[i % 2], &requests[i]);
  for (int round = 0; round < kRounds; ++round) {
    const int count = 1 + (int)(next_random() % kCallsMost), middle = (int)(next_random() % 4);
    int sum = -1, all = -1;
    for (int i = 0; i < count; ++i) fill(&calls[i], 100 * round + i, rank, ranks);
    shuffle(order, count);
    const int before = (int)(own_random() % (unsigned)(count + 1));
    for (int k = 0; k < before; ++k) MPI_Start(&requests[order[k]]);
    MPI_Request started = MPI_REQUEST_NULL;
    if (middle == 0) MPI_Barrier(MPI_COMM_WORLD);
    if (middle == 1) MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comms[round % 2]);
    if (middle == 2) MPI_Iallreduce(&rank, &all, 1, MPI_INT, MPI_SUM, comms[0], &started);
    if (own_random() % 3 == 0) usleep(own_random() % 2000);
    if (own_random() % 2) {
      MPI_Request rest[kCallsMost];
      for (int k = before; k < count; ++k) rest[k - before] = requests[order[k]];
      MPI_Startall(count - before, rest);
    } else {
      for (int k = before; k < count; ++k) MPI_Start(&requests[order[k]]);
    }
    complete(count, requests, (unsigned)safe_way(own_random(), bare));
    MPI_Wait(&started, MPI_STATUS_IGNORE);
    if (middle == 1) EXPECT(sum == ranks * (ranks - 1) / 2, "blocking: %d", sum);
    if (middle == 2) EXPECT(all == ranks * (ranks - 1) / 2, "started: %d", all);
    for (int i = 0; i < count; ++i) check(&calls[i], 100 * round + i, rank, ranks);
    if (round % 5 == 4) { /* some requests go, others come */
      for (int i = 0; i < kCallsMost; ++i) {
        if (next_random() % 3) continue;
        MPI_Request_free(&requests[i]);
        free(calls[i].in), free(calls[i].out);
        initialise(&calls[i], comms[i % 2], &requests[i]);
      }
    }
  }
  MPI_Comm_free(&comms[1]); /* before its calls, which live on */
  for (int i = 0; i < kCallsMost; ++i) {
    fill(&calls[i], i, rank, ranks);
    MPI_Start(&requests[i]);
  }
  for (int i = kCallsMost - 1; i >= 0; --i) {
    if (i % 4 == 0) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    MPI_Request_free(&requests[i]); /* most are under way, and come to their end */
  }
  MPI_Barrier(MPI_COMM_WORLD);
  for (int i = 0; i < kCallsMost; ++i)
    if (i % 4 == 0) check(&calls[i], i, rank, ranks), free(calls[i].in), free(calls[i].out);
}

/* Requests come and go. Calls of other kinds reuse their lanes, although ranks free them at different times. */
static void test_reuse(void) {
  enum { kKept = 9 };
  MPI_Request kept[kKept];
  int from[kKept], to[kKept];
  own_state = 5 + (uint64_t)rank;
  for (int i = 0; i < kKept; ++i) kept[i] = MPI_REQUEST_NULL;
  for (int turn = 0; turn < 400; ++turn) {
    const int place = (int)(next_random() % kKept), runs = (int)(next_random() % 20);
    if (kept[place] != MPI_REQUEST_NULL) MPI_Request_free(&kept[place]);
    if (turn % 2) MPI_Allreduce_init(&from[place], &to[place], 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[place]);
    else MPI_Bcast_init(&to[place], 1, MPI_INT, turn % ranks, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[place]);
    for (int run = 0; run < runs; ++run) {
      from[place] = rank + turn + run;
      to[place] = turn % 2 == 0 && rank == turn % ranks ? turn + run : -1;
      MPI_Start(&kept[place]);
      MPI_Wait(&kept[place], MPI_STATUS_IGNORE);
      const int want = turn % 2 ? ranks * (turn + run) + ranks * (ranks - 1) / 2 : turn + run;
      EXPECT(to[place] == want, "turn %d, run %d: %d, not %d", turn, run, to[place], want);
    }
  }
  for (int i = 0; i < kKept; ++i)
    if (i % 2 && kept[i] != MPI_REQUEST_NULL) MPI_Request_free(&kept[i]); /* the others are left to MPI_Finalize */
}

static long mappings(void) {
  char line[512];
  long found = 0;
  FILE* maps = fopen("/proc/self/maps", "r");
  while (fgets(line, sizeof line, maps) != NULL) found += strstr(line, "/memfd:copse ") != NULL;
  fclose(maps);
  return found;
}

/* A program that asserts the order of its persistent calls needs one lane for all of them. If only one rank asserts it, nobody
 * relies on it. The order says nothing about other calls, which may stand before a start on one rank and behind it on another. */
static void test_asserted_order(void) {
  enum { kCalls = 20 }; /* more than the lanes of the first block */
  MPI_Info info;
  MPI_Comm comm;
  MPI_Request call[kCalls];
  if (MPI_MAX_INFO_KEY < 50) return; /* Open MPI's keys are too short */
  for (int who = 0; who < 2; ++who) {
    MPI_Info_create(&info);
    if (who == 0 || rank == 1) MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
    MPI_Info_free(&info);
    MPI_Barrier(comm);
    const long before = mappings();
    int kept = 0, flag = 0, values[kCalls], mine[2] = {rank + 1, 10 * (rank + 1)}, sums[2] = {-1, -1};
    char value[8] = "";
    MPI_Comm_get_info(comm, &info);
    MPI_Info_get(info, "mpi_assert_strict_persistent_collective_ordering", 7, value, &flag);
    kept = flag && strcmp(value, "true") == 0; /* MPICH 4.0 forgets it */
    MPI_Info_free(&info);
    for (int i = 0; i < kCalls; ++i) {
      values[i] = rank == 0 ? i : -1;
      MPI_Bcast_init(&values[i], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &call[i]);
    }
    const long blocks = mappings() - before; /* of lanes */
    if (!bare) EXPECT(blocks == (who == 0 && kept ? 1 : 2), "who %d, kept %d: %ld blocks", who, kept, blocks);
    for (int i = 0; i < kCalls; ++i) MPI_Start(&call[who == 0 ? i : (i + rank) % kCalls]);
    complete(kCalls, call, 0);
    for (int i = 0; i < kCalls; ++i) EXPECT(values[i] == i, "call %d gives %d", i, values[i]);
    for (int i = 0; i < kCalls; ++i) MPI_Request_free(&call[i]);

    MPI_Allreduce_init(&mine[0], &sums[0], 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &call[0]);
    if (rank % 2 == 0) MPI_Start(&call[0]);
    MPI_Iallreduce(&mine[1], &sums[1], 1, MPI_INT, MPI_SUM, comm, &call[1]);
    if (rank % 2 != 0) MPI_Start(&call[0]);
    complete(2, call, 0);
    const int sum = ranks * (ranks + 1) / 2;
    EXPECT(sums[0] == sum && sums[1] == 10 * sum, "sums %d and %d", sums[0], sums[1]);
    MPI_Request_free(&call[0]);
    MPI_Comm_free(&comm);
  }
}

/* A program may take that word back. Then the order of the later calls is free. */
static void test_withdrawn_order(void) {
  MPI_Comm comm;
  MPI_Request call[3];
  int values[3];
  if (MPI_MAX_INFO_KEY < 50) return;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  for (int i = 0; i < 3; ++i) {
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", i == 0 ? "true" : "false");
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    values[i] = rank == 0 ? i : -1;
    MPI_Bcast_init(&values[i], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &call[i]);
  }
  MPI_Start(&call[0]);
  for (int i = 0; i < 2; ++i) MPI_Start(&call[1 + (i + rank) % 2]);
  complete(3, call, 0);
  for (int i = 0; i < 3; ++i) {
    EXPECT(values[i] == i, "call %d gives %d", i, values[i]);
    MPI_Request_free(&call[i]);
  }
  MPI_Comm_free(&comm);
}

void part_orders(void) {
  test_two();
  for (uint64_t seed = 1; seed < 4; ++seed) test_many(seed);
  test_reuse();
  test_asserted_order();
  test_withdrawn_order();
}

/* One thread starts a call that other threads watch too. Then all of them wait for its end. */
enum { kLookers = 2, kTurns = 50, kFreeTurns = 1000 };
static MPI_Request looked_at;
static pthread_barrier_t round_begins, round_ends;
static atomic_int looking;

static void* look(void* nothing) {
  int flag;
  for (; looking; sched_yield()) MPI_Request_get_status(looked_at, &flag, MPI_STATUS_IGNORE);
  for (int turn = 0; turn < kTurns; ++turn) {
    pthread_barrier_wait(&round_begins);
    for (flag = 0; !flag; sched_yield()) MPI_Test(&looked_at, &flag, MPI_STATUS_IGNORE);
    pthread_barrier_wait(&round_ends);
  }
  return nothing;
}

void part_order_threads(void) {
  pthread_t threads[kLookers];
  int in = 0, out = 0;
  pthread_barrier_init(&round_begins, NULL, kLookers + 1);
  pthread_barrier_init(&round_ends, NULL, kLookers + 1);
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &looked_at);
  looking = 1;
  for (int i = 0; i < kLookers; ++i) pthread_create(&threads[i], NULL, look, NULL);
  for (int turn = 0; turn < kFreeTurns + kTurns; ++turn) {
    in = rank + turn, out = -1;
    MPI_Start(&looked_at);
    if (turn < kFreeTurns) {
      MPI_Wait(&looked_at, MPI_STATUS_IGNORE);
      if (turn == kFreeTurns - 1) looking = 0;
    } else {
      pthread_barrier_wait(&round_begins);
      pthread_barrier_wait(&round_ends);
    }
    EXPECT(out == ranks * turn + ranks * (ranks - 1) / 2, "turn %d: %d", turn, out);
  }
  for (int i = 0; i < kLookers; ++i) pthread_join(threads[i], NULL);
  MPI_Request_free(&looked_at);
}
#else
void part_orders(void) {}
void part_order_threads(void) {}
#endif
