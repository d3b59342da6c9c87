/* Calls MPI_ functions, which the preload wraps, and PMPI_ functions, which it does not. The MPI itself is the
 * oracle, or the expected result is computed here.
 *
 * Usage: collectives PART [ARGUMENTS]. Prints "PART: N checks" on rank 0; on a difference prints it and exits with
 * 1. This file has main, and the parts about everything but data and requests; the other files have those. The names
 * of parts that make rounds may begin with "started-" or "persistent-"; the calls then have that form. */
#include <unistd.h>

#include "collectives.h"

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

/* Communicators come and go, and their handles are reused. */
static int copies;
static int count_copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  ++copies;
  return MPI_SUCCESS;
}

static void part_communicators(void) {
  MPI_Comm noted; /* the program must not notice a communicator behind its own */
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &noted);
  MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(noted, key, NULL);
  check_comm(noted);
  EXPECT(copies == 0, "attributes were copied %d times", copies);
  MPI_Comm_free(&noted);
  MPI_Comm_free_keyval(&key);

  receive_of_anything();
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
  MPI_Comm half, inter; /* reductions on an intercommunicator go to the MPI */
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

/* Errors are the MPI's, with the same classes as without Copse. */
static void part_errors(void) {
  int in = 1, out = 0, code, class, length;
  char text[MPI_MAX_ERROR_STRING];
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define CLASS(wanted, call)                                \
  code = call;                                             \
  MPI_Error_class(code, &class);                           \
  EXPECT(class == (wanted), "%s: class %d", #call, class); \
  EXPECT(MPI_Error_string(code, text, &length) == MPI_SUCCESS && length > 0, "%s: no text for %d", #call, code)
  CLASS(MPI_ERR_COUNT, MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_ROOT, MPI_Bcast(&in, 1, MPI_INT, ranks, MPI_COMM_WORLD));
  CLASS(MPI_ERR_TYPE, MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
  CLASS(MPI_ERR_COMM, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  int many[3 * kRanksMax] = {0}, ones[kRanksMax], places[kRanksMax], bad[kRanksMax], zeros[kRanksMax] = {0};
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
  /* Buffers that overlap. No MPI notices all of these. */
  if (!bare) {
    int* const at = many + 1;
    for (int r = 0; r < ranks; ++r) bad[r] = 2;
    CLASS(MPI_ERR_BUFFER, MPI_Allreduce(many, at, 4, MPI_INT, MPI_SUM, world));
    CLASS(MPI_ERR_BUFFER, MPI_Scan(at, many, 4, MPI_INT, MPI_SUM, world));
    CLASS(MPI_ERR_BUFFER, MPI_Reduce_scatter_block(many, at, 2, MPI_INT, MPI_SUM, world));
    CLASS(rank == 0 ? MPI_ERR_BUFFER : MPI_SUCCESS, MPI_Gather(many, 2, MPI_INT, at, 2, MPI_INT, 0, world));
    CLASS(rank == 0 ? MPI_ERR_BUFFER : MPI_SUCCESS, MPI_Scatter(many, 2, MPI_INT, at, 2, MPI_INT, 0, world));
    CLASS(MPI_ERR_BUFFER, MPI_Allgather(many + 2 * rank + 1, 2, MPI_INT, many, 2, MPI_INT, world));
    CLASS(MPI_ERR_BUFFER, MPI_Alltoall(many, 2, MPI_INT, many + 2 * ranks - 1, 2, MPI_INT, world));
    CLASS(MPI_ERR_BUFFER, MPI_Alltoallv(many, ones, places, MPI_INT, at, ones, places, MPI_INT, world));
    MPI_Request request = MPI_REQUEST_NULL;
    CLASS(MPI_ERR_BUFFER, MPI_Iallreduce(many, at, 4, MPI_INT, MPI_SUM, world, &request));
    CLASS(MPI_ERR_BUFFER, MPI_Allgatherv(&in, 1, MPI_INT, many, bad, places, MPI_INT, world));
    CLASS(rank == 0 && ranks > 1 ? MPI_ERR_BUFFER : MPI_SUCCESS,
          MPI_Gatherv(&in, 1, MPI_INT, many, ones, zeros, MPI_INT, 0, world));
  }
  for (int r = 0; r < ranks; ++r) places[r] = 2 * (ranks - r), many[2 * (ranks - r) + 1] = r; /* these do not overlap */
  MPI_Alltoallv(many + 1, ones, places, MPI_INT, many, ones, places, MPI_INT, world);
  for (int r = 0; r < ranks; ++r) EXPECT(many[places[r]] == rank, "%d between the blocks, from %d", many[places[r]], r);
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  int four[4] = {0};
  CLASS(MPI_ERR_TYPE, MPI_Bcast(four, 1, type, 0, MPI_COMM_WORLD));
  MPI_Type_free(&type);
  check_comm(MPI_COMM_WORLD);
}

/* Buffers that the MPI allocates. */
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
  int *window, *sum = malloc(kCount * sizeof(int)); /* the memory of a window */
  MPI_Win win;
  MPI_Win_allocate(kCount * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window, &win);
  for (int k = 0; k < kCount; ++k) window[k] = k + rank;
  MPI_Allreduce(window, sum, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Bcast(window, kCount, MPI_INT, ranks - 1, MPI_COMM_WORLD);
  for (int k = 0; k < kCount; ++k) EXPECT(sum[k] == ranks * k + ranks * (ranks - 1) / 2, "sum %d", k);
  for (int k = 0; k < kCount; ++k) EXPECT(window[k] == k + ranks - 1, "element %d of the window", k);
  MPI_Win_free(&win);
  free(sum);
}

/* For COPSE_CHECK: rank 1 makes a different call. */
static void part_mismatch(const char* what) {
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
  if (strcmp(what, "persistent") == 0) {
#if HAS_PERSISTENT
    MPI_Request request;
    MPI_Bcast_init(a, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
#else
    MPI_Bcast(a, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
#endif
  }
  if (strcmp(what, "root") == 0) MPI_Bcast(a, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
  if (strcmp(what, "count") == 0) MPI_Bcast(a, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(what, "operator") == 0) MPI_Allreduce(a, b, 4, MPI_INT, rank == 1 ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "overlap") == 0) MPI_Allreduce(all, rank == 1 ? all + 3 : b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "collective") == 0) {
    if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* The other ranks wait in Copse's calls. Rank 1 never takes part in theirs: MPICH 5's MPI_Abort may return before the
 * launcher has ended the ranks. */
static void part_aborted(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    MPI_Abort(MPI_COMM_WORLD, 3);
    for (;;) pause();
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  const char *name = argc > 1 ? argv[1] : "types", *part = name;
  if (strncmp(part, "started-", 8) == 0) form = kStarted, part += 8;
  if (strncmp(part, "persistent-", 11) == 0) form = HAS_PERSISTENT ? kPersistent : kStarted, part += 11;
  int provided, begun = 1;
  MPI_Initialized(&begun);
  if (begun) return fprintf(stderr, "MPI has begun before MPI_Init\n"), 1;
  if (strstr(part, "threads") != NULL) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  bare = getenv("COLLECTIVES_BARE") != NULL;
  random_state = 1;
  if (form != kBlocking) MPI_Barrier(MPI_COMM_WORLD); /* Copse's ranks meet in blocking calls */
  if (strcmp(part, "types") == 0) part_types();
  else if (strcmp(part, "derived") == 0) part_derived();
  else if (strcmp(part, "matrix") == 0) part_matrix(argc > 2 ? argv[2] : NULL);
  else if (strcmp(part, "sparse") == 0) part_sparse();
  else if (strcmp(part, "large") == 0) part_large(argc > 2 ? atoi(argv[2]) : 65);
  else if (strcmp(part, "truncated") == 0) part_truncated();
  else if (strcmp(part, "communicators") == 0) part_communicators();
  else if (strcmp(part, "rare") == 0) part_rare();
  else if (strcmp(part, "type-threads") == 0) part_type_threads();
  else if (strcmp(part, "standard") == 0) part_standard();
  else if (strcmp(part, "identical") == 0) part_identical();
  else if (strcmp(part, "session-last") == 0) part_session_last();
  else if (strcmp(part, "cancelled-threads") == 0) part_cancelled_threads();
  else if (strcmp(part, "rounds") == 0) part_rounds();
  else if (strcmp(part, "threads") == 0) part_threads();
  else if (strcmp(part, "random") == 0)
    part_programs(argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 3 ? atol(argv[3]) : 300, argc > 4 ? atol(argv[4]) : 1);
  else if (strcmp(part, "errors") == 0) part_errors();
  else if (strcmp(part, "memory") == 0) part_memory();
  else if (strcmp(part, "requests") == 0) part_requests();
  else if (strcmp(part, "progress") == 0) part_progress();
  else if (strncmp(part, "waits", 5) == 0) part_waits(); /* "waits-threads": with MPI_THREAD_MULTIPLE */
  else if (strncmp(part, "moved", 5) == 0) part_moved();
  else if (strcmp(part, "request-threads") == 0) part_request_threads();
  else if (strcmp(part, "orders") == 0) part_orders();
  else if (strcmp(part, "order-threads") == 0) part_order_threads();
  else if (strcmp(part, "mismatch") == 0) part_mismatch(argv[2]);
  else if (strcmp(part, "killed") == 0) part_killed();
  else if (strcmp(part, "killed-behind") == 0) part_killed_behind();
  else if (strcmp(part, "aborted") == 0) part_aborted();
  else if (strcmp(part, "killed-amid") == 0) part_killed_amid(argc > 2 ? strtoull(argv[2], NULL, 10) : 1);
  else return fprintf(stderr, "unknown part %s\n", part), 2;
  if (rank == 0) printf("%s: %ld checks\n", name, checks);
  int finalised = 0; /* by a part */
  MPI_Finalized(&finalised);
  if (!finalised) MPI_Finalize();
  /* Behind MPI_Finalize only a few calls are allowed. */
  int version = 0, subversion = 0;
  MPI_Finalized(&finalised);
  MPI_Get_version(&version, &subversion);
  if (!finalised || version < 3) return fprintf(stderr, "MPI is not over behind MPI_Finalize\n"), 1;
  if (paid != owed) return fprintf(stderr, "MPI_Finalize has not ended a call: %d, not %d\n", paid, owed), 1;
  return 0;
}
