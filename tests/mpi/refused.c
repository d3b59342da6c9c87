/* A random program in which ranks give arguments that MPI does not allow, sometimes one rank alone. Those ranks get
 * the MPI's error. The others get an error or their results. Every call that all ranks make correctly is right.
 *
 * Usage: refused SEED STEPS. All ranks draw the same program. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "versions.h"

enum { kMostRanks = 16, kMostInts = 30000, kPending = 4 };
enum {
  kAllreduce,
  kScan,
  kExscan,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kBcast,
  kNeighborAllgather, /* only where there is a topology */
  kKinds
};
enum { kCount, kType, kRoot, kOp };
enum { kBlocking, kStarted, kPersistent };

static int rank, ranks, errors_of_others, fine_beside;
static int neighbors[2]; /* negative: none. Two ranks are neighbours only once: otherwise the MPI makes the call */
static MPI_Datatype uncommitted;
static unsigned long long state;

static unsigned draw(unsigned below) {
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % below;
}

static void fail(const char* what, int line, int step) {
  fprintf(stderr, "rank %d, line %d, step %d: %s\n", rank, line, step, what);
  PMPI_Abort(MPI_COMM_WORLD, 1);
}
#define EXPECT(condition)                                     \
  do                                                          \
    if (!(condition)) fail(#condition, __LINE__, call->step); \
  while (0)

typedef struct {
  int step, kind, form, ints, root, error, refusing[kMostRanks], any; /* the same on all ranks */
  int *in, *out, counts[kMostRanks], places[kMostRanks], byte_places[kMostRanks];
  MPI_Datatype wrong, types[kMostRanks];
  MPI_Request request;
  int result;
} Call;

static int rooted(const Call* call) {
  return call->kind == kReduce || (call->kind >= kGather && call->kind <= kScatterv) || call->kind == kBcast;
}

static int element(const Call* call, int of, int i) { return 1000 * of + i + call->step; }

static void begin(Call* call, MPI_Comm comm) {
  const int refuses = call->refusing[rank], n = call->ints;
  const int count = refuses && call->error == kCount ? -1 : n;
  const MPI_Datatype type = refuses && call->error == kType ? call->wrong : MPI_INT;
  const int root = refuses && call->error == kRoot ? ranks + 3 : call->root;
  const MPI_Op op = refuses && call->error == kOp ? MPI_OP_NULL : MPI_SUM;
  int *const in = call->in, *const out = call->out;
  for (int i = 0; i < n * ranks; ++i) in[i] = element(call, rank, i), out[i] = -1;
  for (int r = 0; r < ranks; ++r) {
    call->counts[r] = n;
    call->places[r] = n * r;
    call->byte_places[r] = n * r * (int)sizeof *in;
    call->types[r] = type;
  }
  if (count < 0) call->counts[0] = -1;
  if (call->kind == kBcast && rank == call->root) memcpy(out, in, (size_t)n * sizeof *in);
  call->request = MPI_REQUEST_NULL;
#if HAS_PERSISTENT
#define PERSISTENT(name, ...) MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &call->request)
#else
#define PERSISTENT(...) MPI_ERR_OTHER
#endif
#define MAKE(name, small, ...)                                          \
  (call->form == kBlocking  ? MPI_##name(__VA_ARGS__)                   \
   : call->form == kStarted ? MPI_I##small(__VA_ARGS__, &call->request) \
                            : PERSISTENT(name, __VA_ARGS__))
  switch (call->kind) {
    case kAllreduce: call->result = MAKE(Allreduce, allreduce, in, out, count, type, op, comm); break;
    case kScan: call->result = MAKE(Scan, scan, in, out, count, type, op, comm); break;
    case kExscan: call->result = MAKE(Exscan, exscan, in, out, count, type, op, comm); break;
    case kReduce: call->result = MAKE(Reduce, reduce, in, out, count, type, op, root, comm); break;
    case kReduceScatter: call->result = MAKE(Reduce_scatter, reduce_scatter, in, out, call->counts, type, op, comm); break;
    case kReduceScatterBlock:
      call->result = MAKE(Reduce_scatter_block, reduce_scatter_block, in, out, count, type, op, comm);
      break;
    case kGather: call->result = MAKE(Gather, gather, in, count, type, out, n, type, root, comm); break;
    case kGatherv: call->result = MAKE(Gatherv, gatherv, in, count, type, out, call->counts, call->places, type, root, comm); break;
    case kScatter: call->result = MAKE(Scatter, scatter, in, count, type, out, count, type, root, comm); break;
    case kScatterv:
      call->result = MAKE(Scatterv, scatterv, in, call->counts, call->places, type, out, count, type, root, comm);
      break;
    case kAllgather: call->result = MAKE(Allgather, allgather, in, count, type, out, n, type, comm); break;
    case kAllgatherv: call->result = MAKE(Allgatherv, allgatherv, in, n, type, out, call->counts, call->places, type, comm); break;
    case kAlltoall: call->result = MAKE(Alltoall, alltoall, in, count, type, out, n, type, comm); break;
    case kAlltoallv:
      call->result = MAKE(Alltoallv, alltoallv, in, call->counts, call->places, type, out, call->counts, call->places, type, comm);
      break;
    case kAlltoallw:
      call->result = MAKE(Alltoallw, alltoallw, in, call->counts, call->byte_places, call->types, out, call->counts,
                          call->byte_places, call->types, comm);
      break;
    case kBcast: call->result = MAKE(Bcast, bcast, out, count, type, root, comm); break;
    default: call->result = MAKE(Neighbor_allgather, neighbor_allgather, in, count, type, out, n, type, comm);
  }
  EXPECT(refuses == (call->result != MPI_SUCCESS) || (call->form == kBlocking && call->any));
}

/* Returns what the call leaves at out[i], or -1 for nothing. */
static int expected(const Call* call, int i) {
  const int n = call->ints, root = rank == call->root;
  const int whole = i < n * ranks, mine = i < n;
  int sum = 0;
  switch (call->kind) {
    case kReduce:
      if (!root) return -1; /* fallthrough */
    case kAllreduce:
      for (int r = 0; r < ranks; ++r) sum += element(call, r, i);
      return mine ? sum : -1;
    case kScan:
      for (int r = 0; r <= rank; ++r) sum += element(call, r, i);
      return mine ? sum : -1;
    case kExscan:
      for (int r = 0; r < rank; ++r) sum += element(call, r, i);
      return mine && rank > 0 ? sum : -1;
    case kReduceScatter:
    case kReduceScatterBlock:
      for (int r = 0; r < ranks; ++r) sum += element(call, r, n * rank + i);
      return mine ? sum : -1;
    case kGather:
    case kGatherv:
      if (!root) return -1; /* fallthrough */
    case kAllgather:
    case kAllgatherv: return whole ? element(call, i / n, i % n) : -1;
    case kScatter:
    case kScatterv: return mine ? element(call, call->root, n * rank + i) : -1;
    case kAlltoall:
    case kAlltoallv:
    case kAlltoallw: return whole ? element(call, i / n, n * rank + i % n) : -1;
    case kBcast: return mine ? element(call, call->root, i) : -1;
    default: return i < 2 * n && neighbors[i / n] >= 0 ? element(call, neighbors[i / n], i % n) : -1;
  }
}

static void check(const Call* call) {
  int class = MPI_SUCCESS;
  if (call->refusing[rank]) {
    EXPECT(call->result != MPI_SUCCESS);
    return;
  }
  MPI_Error_class(call->result, &class);
  EXPECT(class == MPI_SUCCESS || (call->any && class == MPI_ERR_OTHER));
  if (class != MPI_SUCCESS) ++errors_of_others;
  else if (call->any) ++fine_beside;
  for (int i = 0; class == MPI_SUCCESS && i < call->ints * ranks; ++i) EXPECT(call->out[i] == expected(call, i));
}

static void finish(Call* call) {
  if (call->form != kBlocking && !call->refusing[rank]) {
    for (int again = 0; again < (call->form == kPersistent ? 3 : 1); ++again) {
      if (call->form == kPersistent) {
        memset(call->out, -1, (size_t)(call->ints * ranks) * sizeof *call->out);
        if (call->kind == kBcast && rank == call->root) memcpy(call->out, call->in, (size_t)call->ints * sizeof *call->in);
        MPI_Start(&call->request);
      }
      call->result = MPI_Wait(&call->request, MPI_STATUS_IGNORE);
      check(call);
    }
    if (call->form == kPersistent) MPI_Request_free(&call->request);
  }
  check(call);
}

static void draw_call(Call* call, int step, int with_topology) {
  static const int sizes[] = {1, 3, 20, 700, kMostInts};
  const int many = (int)draw(4), all = draw(8) == 0;
  call->step = step;
  call->kind = (int)draw(with_topology ? kKinds : kNeighborAllgather);
  call->form = (int)draw(HAS_PERSISTENT ? 3 : 2);
  if (call->form == kPersistent && draw(3) > 0) call->form = kBlocking; /* there are many lanes, but not endless ones */
  call->ints = sizes[draw(5)];
  call->root = (int)draw((unsigned)ranks);
  /* Errors that all MPIs notice before they do anything. Not all of them check every argument of every call. */
  const int reduces = call->kind <= kReduceScatterBlock;
  call->error = rooted(call) && draw(3) == 0           ? kRoot
                : reduces                              ? (call->form == kBlocking ? kOp : kCount)
                : call->kind == kAllgatherv || draw(2) ? kType
                                                       : kCount;
  call->wrong = draw(2) ? MPI_DATATYPE_NULL : uncommitted;
  call->any = 0;
  for (int r = 0; r < ranks; ++r) {
    call->refusing[r] = many > 1 && (all || draw(many == 2 ? 6 : 2) == 0);
    call->any |= call->refusing[r];
  }
}

int main(int argc, char** argv) {
  static Call calls[kPending];
  MPI_Comm comms[2];
  int sum = 0, counts[2], all[2];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
  const int steps = argc > 2 ? atoi(argv[2]) : 100;
  unsigned own = 7u + (unsigned)rank;
  comms[0] = MPI_COMM_WORLD;
  const int goes_round = ranks > 2;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &goes_round, 0, &comms[1]);
  for (int i = 0; i < 2; ++i) {
    const int beside = rank + 2 * i - 1;
    neighbors[i] = goes_round ? (beside + ranks) % ranks : beside < ranks ? beside : -1;
  }
  MPI_Type_contiguous(1, MPI_INT, &uncommitted);
  for (int c = 0; c < 2; ++c) {
    MPI_Comm_set_errhandler(comms[c], MPI_ERRORS_RETURN);
    MPI_Barrier(comms[c]); /* calls that are started earlier go to the MPI */
  }
  for (int i = 0; i < kPending; ++i) {
    calls[i].in = malloc((size_t)ranks * kMostInts * sizeof(int));
    calls[i].out = malloc((size_t)ranks * kMostInts * sizeof(int));
  }
  for (int step = 0; step < steps;) {
    const int together = 1 + (int)draw(kPending), comm = (int)draw(2), forwards = (int)draw(2);
    for (int i = 0; i < together; ++i) {
      draw_call(&calls[i], ++step, comm == 1);
      own = own * 1103515245u + 12345u;
      if (own >> 28 == 0) usleep(own >> 20 & 2047);
      begin(&calls[i], comms[comm]);
    }
    for (int i = 0; i < together; ++i) finish(&calls[forwards ? i : together - 1 - i]);
  }
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  counts[0] = errors_of_others, counts[1] = fine_beside;
  MPI_Allreduce(counts, all, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (sum != ranks * (ranks - 1) / 2) fail("the last call is wrong", __LINE__, steps);
  if (rank == 0) printf("passed: %d ended with an error beside a rank that refused, %d as they should\n", all[0], all[1]);
  MPI_Type_free(&uncommitted);
  MPI_Comm_free(&comms[1]);
  MPI_Finalize();
  return 0;
}
