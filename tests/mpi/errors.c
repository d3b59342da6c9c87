/* Errors that only one rank meets, with error handlers that return. The call reports the error, and all later calls
 * are right.
 *
 * Usage: errors PART. Some of the parts need faults.c preloaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "versions.h"

static int rank, ranks, handled;
static MPI_Errhandler counting;

#define EXPECT(condition, ...)                                                     \
  do {                                                                             \
    if (condition) break;                                                          \
    fprintf(stderr, "rank %d, %s:%d: %s: ", rank, __FILE__, __LINE__, #condition); \
    fprintf(stderr, __VA_ARGS__);                                                  \
    fprintf(stderr, "\n");                                                         \
    PMPI_Abort(MPI_COMM_WORLD, 1);                                                 \
    _exit(1); /* in a destructor it may return */                                  \
  } while (0)

static void count_error(MPI_Comm* comm, int* error, ...) { (void)comm, (void)error, ++handled; }

static int class_of(int error) {
  int class;
  MPI_Error_class(error, &class);
  return class;
}

static void check(MPI_Comm comm) {
  int sum = 0;
  EXPECT(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS, "the next call fails");
  EXPECT(sum == ranks * (ranks - 1) / 2, "the next call gives %d", sum);
}

static int* fault(const char* name) {
  int* const found = dlsym(RTLD_DEFAULT, name);
  EXPECT(found != NULL, "faults.c is not preloaded");
  return found;
}

/* MPI_Sendrecv and its kin --------------------------------------------------------------------------------------------- */

enum { kTag = 5, kMark = 6 };
enum { kNoSource, kNoDestination, kNotSent, kNotPacked }; /* what fails */

/* The call fails in one half, and the other half must not happen. `late` is the next message with its tag, which
 * that half must leave alone. */
static void exchange(int which, int what) {
  const int to = what == kNoDestination ? ranks + 99 : 1, from = what == kNoSource ? ranks + 99 : 1;
  int out = 42, in = -1, got = -1, error = MPI_SUCCESS;
  MPI_Request pending, receive;
  MPI_Status status;
  if (rank == 0) MPI_Ibarrier(MPI_COMM_WORLD, &pending); /* so that Copse's own form of the call is used */
  if (rank == 0) {
    if (what == kNotSent) *fault("fail_isend") = 1;
    if (what == kNotPacked) {
      *fault("fail_pack") = 1;
      handled = 0;
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
    }
    switch (which) {
      case 0: error = MPI_Sendrecv(&out, 1, MPI_INT, to, kTag, &in, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, &status); break;
      case 1: error = MPI_Sendrecv_replace(&out, 1, MPI_INT, to, kTag, from, kTag, MPI_COMM_WORLD, &status); break;
#if MPI_VERSION >= 4
      case 2: error = MPI_Sendrecv_c(&out, 1, MPI_INT, to, kTag, &in, 1, MPI_INT, from, kTag, MPI_COMM_WORLD, &status); break;
      case 3: error = MPI_Sendrecv_replace_c(&out, 1, MPI_INT, to, kTag, from, kTag, MPI_COMM_WORLD, &status); break;
#endif
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT(class_of(error) == (what >= kNotSent ? MPI_ERR_INTERN : MPI_ERR_RANK), "class %d", class_of(error));
    EXPECT(what != kNotPacked || handled == 1, "the error handler has been called %d times", handled); /* faults.c calls none */
    out = 7;
    MPI_Irecv(&got, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD, &receive);
    MPI_Send(&out, 1, MPI_INT, 1, kTag, MPI_COMM_WORLD);
    int flag = 0;
    for (int i = 0; i < 300 && !flag; ++i) MPI_Test(&receive, &flag, MPI_STATUS_IGNORE), usleep(flag ? 0 : 10000);
    EXPECT(flag && got == 8, "the failed call's receive took the message: flag %d, got %d, its buffer %d", flag, got, in);
  } else if (rank == 1) {
    MPI_Recv(&in, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT(in == 7, "the failed call has sent %d", in);
    out = 8;
    MPI_Send(&out, 1, MPI_INT, 0, kTag, MPI_COMM_WORLD);
  }
  if (rank != 0) MPI_Ibarrier(MPI_COMM_WORLD, &pending);
  MPI_Wait(&pending, MPI_STATUS_IGNORE);
}

static void part_sendrecv(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int which = 0; which < (MPI_VERSION >= 4 ? 4 : 2); ++which)
    for (int what = kNoSource; what <= kNoDestination; ++what) exchange(which, what);
}

static void part_not_sent(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  for (int which = 0; which < 2; ++which) exchange(which, kNotSent);
  exchange(1, kNotPacked);
}

/* Rank 0 cannot send to another node in the middle of a call. */
static void part_not_sent_between_nodes(void) {
  check(MPI_COMM_WORLD);
  if (rank == 0) *fault("fail_isend") = 1;
  check(MPI_COMM_WORLD);
}

/* Tells it before MPI_Init. */
static int launched_as_rank_1(void) {
  const char* const mpich = getenv("PMI_RANK");
  const char* const number = mpich != NULL ? mpich : getenv("OMPI_COMM_WORLD_RANK");
  return number != NULL && strcmp(number, "1") == 0;
}

/* Copse cannot learn of MPI_Finalize on one rank, so it makes no call on any of them. */
static void part_end(void) {
  EXPECT(*fault("fail_set_attr") == 0, "Copse has asked for no attribute");
  check(MPI_COMM_WORLD);
}

/* Work of the MPI that fails under Copse
 * ------------------------------------------------------------------------------ */

static void add(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[2 * i] += ((int*)in)[2 * i], ((int*)inout)[2 * i + 1] += ((int*)in)[2 * i + 1];
}
static void add_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}
static void (*throw_it)(void);
static void add_and_throw(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
  throw_it();
}

enum { kElements = 300 };
static int handler_counts;

/* Plants no more faults. Returns how many ranks have seen an error. */
static int told(int error) {
  const int failed = error != MPI_SUCCESS;
  int failures = 0;
  for (const char* const* name = (const char* const[]){"fail_pack", "fail_unpack", "fail_reduce_local", NULL}; *name != NULL;
       ++name)
    *fault(*name) = 0;
  check(MPI_COMM_WORLD);
  MPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return failures;
}

/* Makes a reduction in every form. Returns how many ranks have seen an error. */
static int reduce(int form, MPI_Datatype type, MPI_Op op) {
  static int in[4 * kElements], out[4 * kElements];
  MPI_Request request = MPI_REQUEST_NULL;
  int error = MPI_SUCCESS;
  handled = 0;
  if (form == 0) { /* once with each kind of error handler */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler_counts ? counting : MPI_ERRORS_RETURN);
    error = MPI_Allreduce(in, out, kElements, type, op, MPI_COMM_WORLD);
    EXPECT(error == MPI_SUCCESS || !handler_counts || handled == 1, "the error handler has been called %d times", handled);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    handler_counts = !handler_counts;
  }
#if HAS_PERSISTENT
  if (form == 2) {
    MPI_Allreduce_init(in, out, kElements, type, op, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
#endif
  if (form == 1) {
    MPI_Iallreduce(in, out, kElements, type, op, MPI_COMM_WORLD, &request);
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return told(error);
}

/* Broadcasts from rank 0, or gathers there. Returns how many ranks have seen an error. */
static int move(int gathers, MPI_Datatype type) {
  static int mine[4 * kElements], all[4 * kElements * 16];
  EXPECT(ranks <= 16, "%d ranks", ranks);
  return told(gathers ? MPI_Gather(mine, kElements, type, all, kElements, type, 0, MPI_COMM_WORLD)
                      : MPI_Bcast(mine, kElements, type, 0, MPI_COMM_WORLD));
}

static void part_faults(const char* thrower) {
  MPI_Datatype pair;
  MPI_Op sum, sum_of_ints, throwing;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Op_create(add, 1, &sum);
  MPI_Op_create(add_ints, 1, &sum_of_ints);
  MPI_Op_create(add_and_throw, 1, &throwing);
  throw_it = (void (*)(void))dlsym(dlopen(thrower, RTLD_NOW), "throw_it");
  check(MPI_COMM_WORLD);
  for (int form = 0; form < 2 + HAS_PERSISTENT; ++form) {
    EXPECT(reduce(form, pair, sum) == 0, "form %d: an error without a fault", form);
    *fault("fail_reduce_local") = 1;
    EXPECT(reduce(form, MPI_INT, sum_of_ints) > 0, "form %d: MPI_Reduce_local failed, and no rank was told", form);
    *fault("fail_reduce_local") = 1;
    EXPECT(reduce(form, pair, sum) > 0, "form %d: MPI_Reduce_local of a type with gaps failed, and no rank was told", form);
    *fault("fail_unpack") = 1; /* the first call is in the operator, if there is one */
    EXPECT(reduce(form, pair, sum) > 0, "form %d: MPI_Unpack failed, and no rank was told", form);
    *fault("spare") = 1;
    *fault("fail_pack") = 1; /* the second call packs the operator's result */
    EXPECT(reduce(form, pair, sum) > 0, "form %d: MPI_Pack failed behind the operator, and no rank was told", form);
    *fault("spare") = 0;
    *fault("fail_pack") = rank == 1; /* the first call packs the input */
    EXPECT(reduce(form, pair, sum) == 1, "form %d: MPI_Pack failed before the call, and the rank was not told", form);
    EXPECT(throw_it != NULL, "no %s", thrower);
    EXPECT(reduce(form, MPI_INT, throwing) > 0, "form %d: an operator threw, and no rank was told", form);
    check(MPI_COMM_WORLD);
  }
  for (int gathers = 0; gathers < 2; ++gathers) {
    const int gives = gathers ? 1 : 0, takes = gathers ? 0 : 1;
    EXPECT(move(gathers, pair) == 0, "%d: an error without a fault", gathers);
    *fault("fail_pack") = rank == gives;
    EXPECT(move(gathers, pair) > 0, "%d: MPI_Pack failed, and no rank was told", gathers);
    *fault("fail_unpack") = rank == takes;
    EXPECT(move(gathers, pair) > 0, "%d: MPI_Unpack failed, and no rank was told", gathers);
  }
  MPI_Op_free(&throwing);
  MPI_Op_free(&sum_of_ints);
  MPI_Op_free(&sum);
  MPI_Type_free(&pair);
}

/* On one rank Copse's attribute cannot be set. What Copse knows about that communicator must not pass to the next
 * one, which may have the same handle and other ranks. */
static void part_attribute(void) {
  for (int i = 0; i < 20; ++i) {
    MPI_Comm comm;
    int me, value;
    MPI_Comm_split(MPI_COMM_WORLD, i % 2 ? rank % 2 : 0, i % 3 ? rank : -rank, &comm);
    *fault("fail_set_attr") = rank == 1 && i % 2 == 0;
    MPI_Comm_rank(comm, &me);
    value = me == 0 ? i : -1;
    MPI_Bcast(&value, 1, MPI_INT, 0, comm);
    EXPECT(value == i, "communicator %d: %d", i, value);
    MPI_Barrier(comm);
    *fault("fail_set_attr") = 0;
    MPI_Comm_free(&comm);
  }
}

/* One rank cannot learn what a datatype is. That rank refuses the call, and the others are told or get their results. */
static void part_type_attribute(void) {
  check(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) {
    MPI_Datatype pair;
    int values[2] = {rank == 0 ? i : -1, rank == 0 ? i + 1 : -1}, wrong = rank == 1 && i % 2 == 0;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    *fault("fail_type_set_attr") = wrong;
    const int error = MPI_Bcast(values, 1, pair, 0, MPI_COMM_WORLD);
    *fault("fail_type_set_attr") = 0;
    EXPECT(!wrong || error != MPI_SUCCESS, "type %d: the rank was not told", i);
    EXPECT(error == MPI_SUCCESS || (i % 2 == 0 && (wrong || class_of(error) == MPI_ERR_OTHER)), "type %d: class %d", i,
           class_of(error));
    EXPECT(error != MPI_SUCCESS || (values[0] == i && values[1] == i + 1), "type %d: %d and %d", i, values[0], values[1]);
    check(MPI_COMM_WORLD);
    MPI_Type_free(&pair);
  }
}

/* Buffers that overlap --------------------------------------------------------------------------------------------------- */

enum { kInts = 6, kMany = 64 * kInts, kOverlapping = 12 };

/* Makes one call in which the buffers of the `wrong` ranks overlap. `out` is where the result of a rank that is not
 * wrong goes. */
static int overlap(int which, int wrong, int started, int* out) {
  static int shared[3 * kMany];
  int counts[64], places[64], *const in = shared + kMany, *const result = wrong ? in + 1 : out, error;
  MPI_Request request = MPI_REQUEST_NULL;
  for (int r = 0; r < ranks; ++r) counts[r] = kInts, places[r] = kInts * r;
  for (int i = 0; i < 2 * kMany; ++i) in[i] = 0;
  for (int i = 0; i < kInts * ranks; ++i) in[i] = 100 * rank + i;
#if HAS_PERSISTENT
#define PERSISTENT(name, ...) name##_init(__VA_ARGS__, MPI_INFO_NULL, &request)
#else
#define PERSISTENT(...) MPI_ERR_OTHER
#endif
#define EITHER(name, started_name, ...) \
  (started == 0 ? name(__VA_ARGS__) : started == 1 ? started_name(__VA_ARGS__, &request) : PERSISTENT(name, __VA_ARGS__))
  switch (which) {
    case 0: error = EITHER(MPI_Allreduce, MPI_Iallreduce, in, result, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 1: error = EITHER(MPI_Scan, MPI_Iscan, in, result, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 2: error = EITHER(MPI_Exscan, MPI_Iexscan, in, result, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 3: error = EITHER(MPI_Reduce, MPI_Ireduce, in, result, kInts, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD); break;
    case 4: error = EITHER(MPI_Reduce_scatter, MPI_Ireduce_scatter, in, result, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD); break;
    case 5:
      error = EITHER(MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, in, result, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      break;
    case 6: error = EITHER(MPI_Gather, MPI_Igather, in, kInts, MPI_INT, result, kInts, MPI_INT, 1, MPI_COMM_WORLD); break;
    case 7:
      error = EITHER(MPI_Scatterv, MPI_Iscatterv, in, counts, places, MPI_INT, result, kInts, MPI_INT, 1, MPI_COMM_WORLD);
      break;
    case 8: error = EITHER(MPI_Allgather, MPI_Iallgather, in, kInts, MPI_INT, result, kInts, MPI_INT, MPI_COMM_WORLD); break;
    case 9:
      error = EITHER(MPI_Allgatherv, MPI_Iallgatherv, in, kInts, MPI_INT, result, counts, places, MPI_INT, MPI_COMM_WORLD);
      break;
    case 10: error = EITHER(MPI_Alltoall, MPI_Ialltoall, in, kInts, MPI_INT, result, kInts, MPI_INT, MPI_COMM_WORLD); break;
    default:
      error = EITHER(MPI_Alltoallv, MPI_Ialltoallv, in, counts, places, MPI_INT, result, counts, places, MPI_INT, MPI_COMM_WORLD);
  }
  if (started == 2) {
    EXPECT(error == MPI_SUCCESS && MPI_Start(&request) == MPI_SUCCESS, "call %d could not be started", which);
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
  }
  if (started == 1 && !wrong) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; wrong && i < kInts * ranks; ++i)
    EXPECT(in[i] == 100 * rank + i, "call %d has written into the buffers that overlap", which);
  if (wrong) memset(in, -1, kInts * sizeof *in); /* the call that goes on must not need it */
  return error;
}

/* The ranks that are wrong get the error, the others get their results, and all ranks stay in step. */
static void part_overlap(void) {
  static int want[kMany], got[kMany];
  for (int which = 0; which < kOverlapping; ++which)
    for (int started = 0; started < 2 + HAS_PERSISTENT; ++started)
      for (int some = 1; some < 4; ++some) {
        const int rooted = which == 3 || which == 6 || which == 7,
                  gets = rooted ? rank == 1 : which != 2 || rank > 0; /* and gives */
        const int wrong = gets && (some == 3 || rank % 2 == some % 2);
        memset(want, -1, sizeof want), memset(got, -1, sizeof got);
        EXPECT(overlap(which, 0, 0, want) == MPI_SUCCESS, "call %d", which);
        const int error = overlap(which, wrong, started, got);
        const int class = !wrong ? MPI_SUCCESS : MPI_ERR_BUFFER;
        EXPECT(class_of(error) == class, "call %d: class %d", which, class_of(error));
        if (!wrong)
          EXPECT(memcmp(want, got, sizeof want) == 0, "call %d: beside ranks that are wrong it gives something else", which);
        check(MPI_COMM_WORLD);
      }
}

/* The receive buffer of rank 0 means nothing in MPI_Exscan, so it may be the send buffer. Some MPIs refuse that. The first
 * such call comes before any other. */
static void part_exscan(void) {
  int in[kInts], out[kInts];
  for (int started = 0; started < 2 + HAS_PERSISTENT; ++started) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < kInts; ++i) in[i] = rank + i, out[i] = -1;
    int error = EITHER(MPI_Exscan, MPI_Iexscan, in, rank == 0 ? in : out, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (started == 2 && error == MPI_SUCCESS) error = MPI_Start(&request);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(error == MPI_SUCCESS, "form %d: class %d", started, class_of(error));
    if (started == 2) MPI_Request_free(&request);
    for (int i = 0; i < kInts; ++i) {
      const int got = rank == 0 ? in[i] : out[i], want = rank == 0 ? i : rank * i + rank * (rank - 1) / 2;
      EXPECT(got == want, "form %d, element %d: %d, not %d", started, i, got, want);
    }
    check(MPI_COMM_WORLD);
  }
}

/* All ranks give MPI_Exscan one buffer for both. That is an error on all ranks but 0, to which the receive buffer means nothing.
 * (Open MPI takes it for MPI_IN_PLACE, and so does Copse there.) No rank may be a call ahead of the others afterwards. */
static void part_alias(void) {
  const double third = 1.0 / 3;
  double thirds;
  int both[kInts], sum = 0;
#ifdef OMPI_MAJOR_VERSION
  const int in_place = rank > 0;
#else
  const int in_place = 0;
#endif
  MPI_Allreduce(&third, &thirds, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* Copse begins at once */
  for (int started = 0; started < 2 + HAS_PERSISTENT; ++started) {
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < kInts; ++i) both[i] = rank + i;
    int error = EITHER(MPI_Exscan, MPI_Iexscan, both, both, kInts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (started == 2 && error == MPI_SUCCESS) error = MPI_Start(&request);
    if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(class_of(error) == (rank == 0 || in_place ? MPI_SUCCESS : MPI_ERR_BUFFER), "form %d: class %d", started,
           class_of(error));
    if (started == 2) MPI_Request_free(&request);
    for (int i = 0; i < kInts; ++i) {
      const int want = in_place ? rank * i + rank * (rank - 1) / 2 : rank + i;
      EXPECT(both[i] == want, "form %d, element %d: %d", started, i, both[i]);
    }
    EXPECT(MPI_Reduce(&started, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD) == MPI_SUCCESS, "the next call fails");
    EXPECT(rank != 0 || sum == ranks * started, "the next call gives %d", sum);
    check(MPI_COMM_WORLD);
  }
}

/* Calls after main ------------------------------------------------------------------------------------------------------ */

static int calls_late;

/* Runs after the destructors of thread-local objects, when their memory is free. */
__attribute__((destructor)) static void late(void) {
  enum { kBlocks = 400, kSizes = 40, kStep = 8 };
  static unsigned char* blocks[kSizes][kBlocks];
  MPI_Request request;
  if (!calls_late) return;
  for (int size = 0; size < kSizes; ++size)
    for (int i = 0; i < kBlocks; ++i)
      memset(blocks[size][i] = malloc((size_t)(size + 1) * kStep), 0xa5, (size_t)(size + 1) * kStep);
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int size = 0; size < kSizes; ++size)
    for (int i = 0; i < kBlocks; ++i)
      for (int at = 0; at < (size + 1) * kStep; ++at)
        EXPECT(blocks[size][i][at] == 0xa5, "a block of %d bytes was written into at %d", (size + 1) * kStep, at);
  if (rank == 0) printf("late: passed\n"), fflush(stdout);
  MPI_Finalize();
}

int main(int argc, char** argv) {
  const char* const part = argc > 1 ? argv[1] : "";
  if (strcmp(part, "end") == 0) *fault("fail_set_attr") = launched_as_rank_1();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_create_errhandler(count_error, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  if (strcmp(part, "late") == 0) {
    MPI_Request request; /* before any blocking call, so Copse passes it on */
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    calls_late = 1;
    return 0;
  }
  if (strcmp(part, "sendrecv") == 0) part_sendrecv();
  else if (strcmp(part, "faults") == 0) part_faults(argv[2]);
  else if (strcmp(part, "not-sent") == 0) part_not_sent();
  else if (strcmp(part, "not-sent-between-nodes") == 0) part_not_sent_between_nodes();
  else if (strcmp(part, "attribute") == 0) part_attribute();
  else if (strcmp(part, "end") == 0) part_end();
  else if (strcmp(part, "type-attribute") == 0) part_type_attribute();
  else if (strcmp(part, "overlap") == 0) part_overlap();
  else if (strcmp(part, "exscan") == 0) part_exscan();
  else if (strcmp(part, "alias") == 0) part_alias();
  else return fprintf(stderr, "unknown part %s\n", part), 2;
  MPI_Errhandler_free(&counting);
  if (rank == 0) printf("%s: passed\n", part);
  MPI_Finalize();
  return 0;
}
