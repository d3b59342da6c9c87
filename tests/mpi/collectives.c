/* Calls MPI_ functions, which the preload wraps, and PMPI_ functions, which it does not: the MPI itself is the oracle,
 * or what must come out is reckoned here.
 *
 * Usage: collectives PART [SEED CALLS]. Prints "PART: N checks" on rank 0; on a difference prints it and exits with 1.
 * This file: main, and the parts about everything but data; moves.c and reductions.c have the others. */
#include "collectives.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

int rank, ranks, bare;
long checks;

uint64_t random_state;
unsigned next_random(void) { /* splitmix64 */
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ z >> 31) >> 33);
}

static void check_comm(MPI_Comm comm) {
  int me, size, sum = -1, root_value;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  EXPECT(sum == size * (size - 1) / 2, "%d of %d ranks: %d", me, size, sum);
  for (int root = 0; root < size; ++root) {
    root_value = me == root ? 100 + root : -1;
    MPI_Bcast(&root_value, 1, MPI_INT, root, comm);
    EXPECT(root_value == 100 + root, "root %d: %d", root, root_value);
    int top = -1;
    MPI_Reduce(&me, &top, 1, MPI_INT, MPI_MAX, root, comm);
    EXPECT(me != root || top == size - 1, "root %d: %d", root, top);
  }
  MPI_Barrier(comm);
}

/* Communicators that come and go: their handles are used again. */
static int copies;
static int count_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  ++copies;
  return MPI_SUCCESS;
}

static void part_communicators(void) {
  MPI_Comm noted; /* the program does not notice a communicator behind its own */
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &noted);
  MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(noted, key, NULL);
  check_comm(noted);
  EXPECT(copies == 0, "attributes were copied %d times", copies);
  MPI_Comm_free(&noted);
  MPI_Comm_free_keyval(&key);

  check_comm(MPI_COMM_WORLD);
  check_comm(MPI_COMM_SELF);
  for (int i = 0; i < 40; ++i) {
    MPI_Comm dup, split;
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, i % 3 ? rank : -rank, &split);
    check_comm(split);
    MPI_Comm_dup(i % 2 ? split : MPI_COMM_WORLD, &dup);
    check_comm(dup);
    MPI_Comm_free(&split);
    check_comm(dup);
    if (i % 5 == 0) MPI_Comm_disconnect(&dup);
    else MPI_Comm_free(&dup);
  }
  if (ranks < 2) return;
  MPI_Comm half, inter; /* an intercommunicator is the MPI's */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
  int one = 1, others = 0, size;
  MPI_Comm_remote_size(inter, &size);
  MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, inter);
  EXPECT(others == size, "intercommunicator: %d", others);
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  check_comm(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void *thread_main(void *argument) {
  MPI_Comm comm = *(MPI_Comm *)argument;
  for (int i = 0; i < 200; ++i) {
    int in = rank + i, out = -1;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
    if (out != ranks * (ranks - 1) / 2 + ranks * i) return "wrong sum";
    int value = rank == i % ranks ? i : -1;
    MPI_Bcast(&value, 1, MPI_INT, i % ranks, comm);
    if (value != i) return "wrong broadcast";
  }
  return NULL;
}
static void part_threads(void) {
  enum { kThreads = 3 };
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, thread_main, &comms[i]);
  for (int i = 0; i < kThreads; ++i) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL, "thread %d: %s", i, (char *)wrong);
    MPI_Comm_free(&comms[i]);
  }
}

/* Calls in a random order, with random roots and sizes, replayable by seed. */
static void part_random(long calls) {
  static int in[20000], mine[20000], oracle[20000];
  MPI_Comm sub, comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 && ranks > 2, -rank, &sub);
  comms[1] = sub;
  for (long call = 0; call < calls; ++call) {
    unsigned kind = next_random() % 8, which = next_random() % 8 == 0, pick = next_random();
    int size, me;
    PMPI_Comm_size(comms[which], &size);
    PMPI_Comm_rank(comms[which], &me);
    int count = (int)(next_random() % (1u << next_random() % 15)), root = (int)(pick % (unsigned)size);
    for (int i = 0; i < count; ++i) in[i] = (int)(pick ^ (unsigned)(me * 77 + i));
    memset(mine, 0, 4 * (size_t)count);
    memset(oracle, 0, 4 * (size_t)count);
    if (kind == 0) MPI_Barrier(comms[which]);
    if (kind >= 6) random_reduction(comms[which], call);
    else if (kind >= 4) random_move(comms[which], call);
    if (kind == 1) {
      if (me == root) memcpy(mine, in, 4 * (size_t)count), memcpy(oracle, in, 4 * (size_t)count);
      MPI_Bcast(mine, count, MPI_INT, root, comms[which]);
      PMPI_Bcast(oracle, count, MPI_INT, root, comms[which]);
    }
    if (kind == 2) {
      MPI_Reduce(in, mine, count, MPI_INT, MPI_BXOR, root, comms[which]);
      PMPI_Reduce(in, oracle, count, MPI_INT, MPI_BXOR, root, comms[which]);
      if (me != root) continue;
    }
    if (kind == 3) {
      MPI_Allreduce(in, mine, count, MPI_INT, MPI_MAX, comms[which]);
      PMPI_Allreduce(in, oracle, count, MPI_INT, MPI_MAX, comms[which]);
    }
    EXPECT(memcmp(mine, oracle, 4 * (size_t)count) == 0, "call %ld: kind %u, count %d, root %d", call, kind, count, root);
  }
  MPI_Comm_free(&sub);
}

/* Errors are the MPI's: classes as without Copse. */
static void part_errors(void) {
  int in = 1, out = 0, class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define CLASS(wanted, call) MPI_Error_class(call, &class); EXPECT(class == wanted, "%s: class %d", #call, class)
  CLASS(MPI_ERR_COUNT, MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_ROOT, MPI_Bcast(&in, 1, MPI_INT, ranks, MPI_COMM_WORLD));
  CLASS(MPI_ERR_TYPE, MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
  CLASS(MPI_ERR_COMM, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  int many[kRanksMax] = {0}, ones[kRanksMax], places[kRanksMax], bad[kRanksMax];
  MPI_Datatype types[kRanksMax];
  for (int r = 0; r < ranks; ++r) ones[r] = 1, places[r] = r, bad[r] = -1, types[r] = MPI_INT;
  const MPI_Comm world = MPI_COMM_WORLD;
  CLASS(MPI_ERR_COUNT, MPI_Gather(&in, -1, MPI_INT, many, -1, MPI_INT, 0, world));
  CLASS(MPI_ERR_ROOT, MPI_Gather(&in, 1, MPI_INT, many, 1, MPI_INT, -1, world));
  CLASS(MPI_ERR_COUNT, MPI_Gatherv(&in, -1, MPI_INT, many, bad, places, MPI_INT, 0, world));
  CLASS(MPI_ERR_ROOT, MPI_Scatter(many, 1, MPI_INT, &out, 1, MPI_INT, ranks, world));
  CLASS(MPI_ERR_TYPE, MPI_Scatterv(many, ones, places, MPI_DATATYPE_NULL, &out, 1, MPI_DATATYPE_NULL, 0, world));
  CLASS(MPI_ERR_COUNT, MPI_Allgather(&in, -1, MPI_INT, many, 1, MPI_INT, world));
  CLASS(MPI_ERR_TYPE, MPI_Allgather(&in, 1, MPI_DATATYPE_NULL, many, 1, MPI_INT, world));
  CLASS(MPI_ERR_COUNT, MPI_Alltoall(many, 1, MPI_INT, many + ranks, -1, MPI_INT, world));
  CLASS(MPI_ERR_COUNT, MPI_Alltoallv(many, bad, places, MPI_INT, many + ranks, ones, places, MPI_INT, world));
  CLASS(MPI_ERR_COUNT, MPI_Alltoallw(many, bad, places, types, many + ranks, bad, places, types, world));
  CLASS(MPI_ERR_OP, MPI_Reduce_scatter(many, &out, ones, MPI_INT, MPI_OP_NULL, world));
  CLASS(MPI_ERR_COUNT, MPI_Reduce_scatter(many, &out, bad, MPI_INT, MPI_SUM, world));
  CLASS(MPI_ERR_OP, MPI_Reduce_scatter_block(many, &out, 1, MPI_DOUBLE, MPI_BAND, world));
  CLASS(MPI_ERR_OP, MPI_Scan(&in, &out, 1, MPI_DOUBLE, MPI_BAND, world));
  CLASS(MPI_ERR_OP, MPI_Exscan(&in, &out, 1, MPI_INT, MPI_OP_NULL, world));
  CLASS(MPI_ERR_COMM, MPI_Alltoall(many, 1, MPI_INT, many + ranks, 1, MPI_INT, MPI_COMM_NULL));
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  int four[4] = {0};
  CLASS(MPI_ERR_TYPE, MPI_Bcast(four, 1, type, 0, MPI_COMM_WORLD));
  MPI_Type_free(&type);
  check_comm(MPI_COMM_WORLD);
}

/* Buffers that the MPI hands out. */
static void part_memory(void) {
  enum { kCount = 100000 };
  for (int i = 0; i < 5; ++i) {
    int *in = NULL, *out = NULL;
    MPI_Alloc_mem(kCount * sizeof(int), MPI_INFO_NULL, &in);
    MPI_Alloc_mem(kCount * sizeof(int), MPI_INFO_NULL, &out);
    EXPECT(in != NULL && out != NULL && (uintptr_t)in % 16 == 0, "MPI_Alloc_mem");
    for (int k = 0; k < kCount; ++k) in[k] = k + rank;
    MPI_Allreduce(in, out, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < kCount; ++k) EXPECT(out[k] == ranks * k + ranks * (ranks - 1) / 2, "element %d", k);
    MPI_Free_mem(in);
    MPI_Free_mem(out);
  }
}

/* For COPSE_CHECK: rank 1 calls something else. */
static void part_mismatch(const char *what) {
  int a[4] = {0}, b[4], all[4 * kRanksMax] = {0}, lengths[kRanksMax], places[kRanksMax];
  for (int r = 0; r < ranks; ++r) lengths[r] = 1, places[r] = 4 * r;
  if (strcmp(what, "block") == 0) MPI_Allgather(a, 1 + (rank == 1), MPI_INT, all, 1 + (rank == 1), MPI_INT, MPI_COMM_WORLD);
  if (strcmp(what, "table") == 0) {
    lengths[2] += rank == 1;
    MPI_Allgatherv(a, 1, MPI_INT, all, lengths, places, MPI_INT, MPI_COMM_WORLD);
  }
  if (strcmp(what, "pair") == 0) {
    int gives[kRanksMax] = {0};
    for (int r = 0; r < ranks; ++r) gives[r] = rank == 1 && r == 2 ? 3 : 1;
    MPI_Alltoallv(all, gives, places, MPI_INT, all + 2 * kRanksMax, lengths, places, MPI_INT, MPI_COMM_WORLD);
  }
  if (strcmp(what, "root") == 0) MPI_Bcast(a, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
  if (strcmp(what, "count") == 0) MPI_Bcast(a, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(what, "operator") == 0)
    MPI_Allreduce(a, b, 4, MPI_INT, rank == 1 ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "collective") == 0) {
    if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* The last rank dies in the middle of a collective. */
static void part_killed(void) {
  int value = rank, sum;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void *kill_soon(void *unused) {
  usleep(300000);
  raise(SIGKILL);
  return unused;
}
static void part_killed_amid(void) { /* somewhere in the fragments of a long message */
  enum { kCount = 1 << 20 };
  double *in = calloc(kCount, sizeof *in), *out = calloc(kCount, sizeof *out);
  pthread_t killer;
  if (rank == ranks - 1) pthread_create(&killer, NULL, kill_soon, NULL);
  for (;;) MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  const char *part = argc > 1 ? argv[1] : "types";
  int provided;
  if (strcmp(part, "threads") == 0) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bare = getenv("COLLECTIVES_BARE") != NULL;
  random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  if (strcmp(part, "types") == 0) part_types();
  else if (strcmp(part, "derived") == 0) part_derived();
  else if (strcmp(part, "moves") == 0) part_moves();
  else if (strcmp(part, "sparse") == 0) part_sparse();
  else if (strcmp(part, "truncated") == 0) part_truncated();
  else if (strcmp(part, "operators") == 0) part_operators();
  else if (strcmp(part, "communicators") == 0) part_communicators();
  else if (strcmp(part, "threads") == 0) part_threads();
  else if (strcmp(part, "random") == 0) part_random(argc > 3 ? atol(argv[3]) : 1000);
  else if (strcmp(part, "errors") == 0) part_errors();
  else if (strcmp(part, "memory") == 0) part_memory();
  else if (strcmp(part, "mismatch") == 0) part_mismatch(argv[2]);
  else if (strcmp(part, "killed") == 0) part_killed();
  else if (strcmp(part, "killed-amid") == 0) part_killed_amid();
  else return fprintf(stderr, "unknown part %s\n", part), 2;
  if (rank == 0) printf("%s: %ld checks\n", part, checks);
  MPI_Finalize();
  return 0;
}
