/* Sentences of the standard that no other test shows. docs/standard.md names the section of each. */
#include "collectives.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { kSmall = 3, kSome = 1500, kMany = 60000 };
static const int lengths[] = {1, kSmall, kSome, kMany};
#define FOR_LENGTHS(n) \
  for (size_t n##_at = 0, n; n##_at < sizeof lengths / sizeof *lengths && (n = (size_t)lengths[n##_at], 1); ++n##_at)

MPI_Comm met_copy(void) {
  MPI_Comm comm;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Barrier(comm);
  return comm;
}

/* Returns words that all ranks of this machine share. */
static volatile int* common_words(void) {
  char name[64];
  int number = (int)getpid();
  PMPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
  snprintf(name, sizeof name, "/dev/shm/standard.%d", number);
  const int file = open(name, O_RDWR | O_CREAT, 0600);
  EXPECT(file >= 0 && ftruncate(file, 4096) == 0, "%s", name);
  void* const memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  EXPECT(memory != MAP_FAILED, "%s", name);
  close(file);
  PMPI_Barrier(MPI_COMM_WORLD);
  unlink(name);
  return memory;
}

static MPI_Request request_of_slot;

/* Waits for the call in `slot`, in the tested form. */
static void end_call(int code) {
  EXPECT(code == MPI_SUCCESS, "code %d", code);
  if (form == kPersistent) MPI_Start(slot);
  if (form != kBlocking) MPI_Wait(slot, MPI_STATUS_IGNORE);
  if (form == kPersistent) MPI_Request_free(slot);
}

/* Progress (2.9) ------------------------------------------------------------------------------------------------- */

/* Rank 0 sits in a test procedure that is unrelated to the call for which the others wait. Open MPI's own
 * MPI_Parrived does not make progress on messages. */
enum { kIprobe, kImprobe, kWinTest, kParrived, kTests };
#if HAS_PERSISTENT && !defined(OPEN_MPI)
#define HAS_PARTS 1
#else
#define HAS_PARTS 0
#endif

static void ask_until_it_comes(int how, MPI_Win window, MPI_Group others) {
  int flag = 0, token = -1;
  MPI_Status status;
  MPI_Message message;
  switch (how) {
    case kIprobe:
      while (!flag) MPI_Iprobe(1, 5, MPI_COMM_WORLD, &flag, &status);
      MPI_Recv(&token, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &status);
      break;
    case kImprobe:
      while (!flag) MPI_Improbe(1, 5, MPI_COMM_WORLD, &flag, &message, &status);
      MPI_Mrecv(&token, 1, MPI_INT, &message, &status);
      break;
    case kWinTest:
      MPI_Win_post(others, 0, window);
      for (token = 5; !flag;) MPI_Win_test(window, &flag);
      break;
#if HAS_PARTS
    case kParrived: {
      MPI_Request request;
      MPI_Precv_init(&token, 1, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      while (!flag) MPI_Parrived(request, 0, &flag);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      break;
    }
#endif
  }
  EXPECT(token == 5, "token %d", token);
}

static void let_it_come(int how, MPI_Win window, MPI_Group others) {
  const int token = 5;
  switch (how) {
    case kIprobe:
    case kImprobe: MPI_Send(&token, 1, MPI_INT, 0, 5, MPI_COMM_WORLD); break;
    case kWinTest: MPI_Win_start(others, 0, window), MPI_Win_complete(window); break;
#if HAS_PARTS
    case kParrived: {
      MPI_Request request;
      MPI_Psend_init(&token, 1, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
      MPI_Start(&request);
      MPI_Pready(0, request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
      MPI_Request_free(&request);
      break;
    }
#endif
  }
}

static void test_procedures_make_progress(void) {
  static int in[kMany], out[kMany], memory;
  MPI_Comm comm = met_copy();
  MPI_Win window;
  MPI_Group all, other;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_group(window, &all);
  const int first = rank == 0 ? 1 : 0;
  MPI_Group_incl(all, 1, &first, &other);
  for (int how = 0; ranks > 1 && how < (HAS_PARTS ? kTests : kParrived); ++how) {
    MPI_Request request;
    for (int i = 0; i < kMany; ++i) in[i] = i;
    MPI_Iallreduce(in, out, kMany, MPI_INT, MPI_SUM, comm, &request);
    if (rank == 0) ask_until_it_comes(how, window, other);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) let_it_come(how, window, other);
    EXPECT(out[kMany - 1] == ranks * (kMany - 1), "way %d: %d", how, out[kMany - 1]);
  }
  MPI_Group_free(&other);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
  MPI_Comm_free(&comm);
}

/* Only the sender knows to whom it sends. The exchange uses started sends, probes, and a barrier that tells when all
 * data has come. */
static void sparse_exchange(void) {
  MPI_Comm comm = met_copy();
  int sent = rank, got = 0, flag = 0, over = 0, in_barrier = 0;
  MPI_Request send, barrier;
  MPI_Status status;
  MPI_Issend(&sent, 1, MPI_INT, (rank + 1) % ranks, 1, comm, &send);
  while (!over) {
    MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, &status);
    if (flag) {
      int from;
      MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, 1, comm, MPI_STATUS_IGNORE);
      got += from == (rank + ranks - 1) % ranks;
    }
    if (in_barrier) {
      MPI_Test(&barrier, &over, MPI_STATUS_IGNORE);
    } else {
      MPI_Test(&send, &flag, MPI_STATUS_IGNORE);
      if (flag) MPI_Ibarrier(comm, &barrier), in_barrier = 1;
    }
  }
  EXPECT(got == 1, "%d messages", got);
  MPI_Comm_free(&comm);
}

/* A call starts whether or not others have started theirs (2.4.2, 6.12, 6.13). Each rank waits for the one before
 * it. */
static void starting_is_local(void) {
  enum { kCalls = 26 };
  static int in[kMany * 2], out[kCalls][kSome * kRanksMax];
  int counts[kRanksMax], places[kRanksMax], bytes[kRanksMax], token = 0, n = 0;
  MPI_Comm comm = met_copy();
  MPI_Request requests[kCalls];
  MPI_Datatype types[kRanksMax];
  const int size = kSome / ranks;
  for (int r = 0; r < ranks; ++r) counts[r] = size, places[r] = size * r, bytes[r] = 4 * size * r, types[r] = MPI_INT;
#define BEFORE_ME \
  if (rank > 0) MPI_Recv(&token, 1, MPI_INT, rank - 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE)
  if (form == kStarted) BEFORE_ME;
  for (int turn = 0; turn < 2; ++turn) {
#define START(...) slot = &requests[n], CALL(__VA_ARGS__), ++n
    START(Barrier, barrier, , comm);
    START(Bcast, bcast, , out[n], kSome, MPI_INT, 0, comm);
    START(Reduce, reduce, , in, out[n], kSome, MPI_INT, MPI_SUM, 0, comm);
    START(Allreduce, allreduce, , in, out[n], kSome, MPI_INT, MPI_SUM, comm);
    START(Gather, gather, , in, size, MPI_INT, out[n], size, MPI_INT, ranks - 1, comm);
    START(Gatherv, gatherv, , in, size, MPI_INT, out[n], counts, places, MPI_INT, 0, comm);
    START(Scatter, scatter, , in, size, MPI_INT, out[n], size, MPI_INT, 0, comm);
    START(Scatterv, scatterv, , in, counts, places, MPI_INT, out[n], size, MPI_INT, ranks - 1, comm);
    START(Allgatherv, allgatherv, , in, size, MPI_INT, out[n], counts, places, MPI_INT, comm);
    START(Alltoall, alltoall, , in, size, MPI_INT, out[n], size, MPI_INT, comm);
    START(Alltoallw, alltoallw, , in, counts, bytes, types, out[n], counts, bytes, types, comm);
    START(Reduce_scatter, reduce_scatter, , in, out[n], counts, MPI_INT, MPI_SUM, comm);
    START(Exscan, exscan, , in, out[n], kSome, MPI_INT, MPI_SUM, comm);
  }
  if (form == kPersistent) {
    BEFORE_ME;
    MPI_Startall(n, requests);
  }
  if (rank < ranks - 1) MPI_Send(&token, 1, MPI_INT, rank + 1, 3, MPI_COMM_WORLD);
  for (int i = 0; i < n; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  for (int i = 0; form == kPersistent && i < n; ++i) MPI_Request_free(&requests[i]);
  MPI_Comm_free(&comm);
}

/* Data and arguments (6.1, 6.3 to 6.11) --------------------------------------------------------------------------- */

/* No rank leaves a barrier before all ranks have entered it. */
static void nobody_leaves_a_barrier_early(void) {
  volatile int* const words = common_words();
  slot = &request_of_slot;
  for (int turn = 1; turn <= 20; ++turn) {
    if (turn % ranks == rank) usleep(1000);
    __atomic_fetch_add(&words[0], 1, __ATOMIC_SEQ_CST);
    end_call(CALL(Barrier, barrier, , MPI_COMM_WORLD));
    const int come = __atomic_load_n(&words[0], __ATOMIC_SEQ_CST);
    EXPECT(come >= turn * ranks, "turn %d: %d of %d", turn, come, turn * ranks);
  }
  munmap((void*)words, 4096);
}

/* On ranks that are not the root, and beside MPI_IN_PLACE, arguments without meaning may be anything. */
static void arguments_of_no_meaning(void) {
  int mine[2] = {rank, -rank}, all[2 * kRanksMax], counts[kRanksMax], places[kRanksMax];
  int* const nowhere = (int*)8;
  const MPI_Datatype none = MPI_DATATYPE_NULL;
  const MPI_Comm world = MPI_COMM_WORLD;
  if (bare) return; /* some MPIs look at them */
  for (int root = 0; root < ranks; ++root) {
    slot = &request_of_slot;
    const int at = rank == root;
    for (int r = 0; r < ranks; ++r) counts[r] = 2, places[r] = 2 * r;
#define FRESH memset(all, -1, sizeof all), memcpy(all + 2 * rank, mine, sizeof mine)
#define GATHERED(what) \
  for (int r = 0; at && r < ranks; ++r) EXPECT(all[2 * r] == r && all[2 * r + 1] == -r, what ": block %d", r)
    FRESH;
    end_call(CALL(Gather, gather, , at ? MPI_IN_PLACE : mine, at ? -7 : 2, at ? none : MPI_INT, at ? all : nowhere, at ? 2 : -7,
                  at ? MPI_INT : none, root, world));
    GATHERED("gather");
    FRESH;
    end_call(CALL(Gatherv, gatherv, , at ? MPI_IN_PLACE : mine, at ? -7 : 2, at ? none : MPI_INT, at ? all : nowhere,
                  at ? counts : NULL, at ? places : NULL, at ? MPI_INT : none, root, world));
    GATHERED("gatherv");
    int got[2] = {rank, -rank};
    if (!at) got[0] = got[1] = 99;
    end_call(CALL(Scatter, scatter, , at ? all : nowhere, at ? 2 : -7, at ? MPI_INT : none, at ? MPI_IN_PLACE : got, at ? -7 : 2,
                  at ? none : MPI_INT, root, world));
    EXPECT(got[0] == rank && got[1] == -rank, "scatter: %d %d", got[0], got[1]);
    if (!at) got[0] = got[1] = 99;
    end_call(CALL(Scatterv, scatterv, , at ? all : nowhere, at ? counts : NULL, at ? places : NULL, at ? MPI_INT : none,
                  at ? MPI_IN_PLACE : got, at ? -7 : 2, at ? none : MPI_INT, root, world));
    EXPECT(got[0] == rank && got[1] == -rank, "scatterv: %d %d", got[0], got[1]);
    FRESH;
    end_call(CALL(Allgather, allgather, , MPI_IN_PLACE, -7, none, all, 2, MPI_INT, world));
    for (int r = 0; r < ranks; ++r) EXPECT(all[2 * r] == r && all[2 * r + 1] == -r, "allgather: block %d", r);
    for (int r = 0; r < ranks; ++r) all[2 * r] = rank, all[2 * r + 1] = r;
    end_call(CALL(Alltoallv, alltoallv, , MPI_IN_PLACE, NULL, NULL, none, all, counts, places, MPI_INT, world));
    for (int r = 0; r < ranks; ++r) EXPECT(all[2 * r] == r && all[2 * r + 1] == rank, "alltoallv: block %d", r);
    int value = 1;
    end_call(CALL(Exscan, exscan, , &value, rank == 0 ? nowhere : all, 1, MPI_INT, MPI_SUM, world));
    EXPECT(rank == 0 || all[0] == rank, "exscan: %d", all[0]);
  }
}

/* With MPI_IN_PLACE, rank 0's buffer does not change. */
static void exscan_leaves_rank_0_alone(void) {
  slot = &request_of_slot;
  FOR_LENGTHS(n) {
    int* const data = malloc(n * sizeof *data);
    for (size_t i = 0; i < n; ++i) data[i] = (int)i + rank;
    end_call(CALL(Exscan, exscan, , MPI_IN_PLACE, data, (int)n, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    for (size_t i = 0; i < n; ++i) {
      const int want = rank == 0 ? (int)i : rank * (int)i + rank * (rank - 1) / 2;
      EXPECT(data[i] == want, "length %zu, element %zu: %d", n, i, data[i]);
    }
    free(data);
  }
}

/* Send buffers are only read. */
static void send_buffers_may_be_read_only(void) {
  const size_t bytes = sizeof(int) * kMany * (size_t)ranks;
  int *const from = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *const to = malloc(bytes);
  int counts[kRanksMax], places[kRanksMax];
  slot = &request_of_slot;
  for (size_t i = 0; i < bytes / sizeof *from; ++i) from[i] = (int)i;
  mprotect(from, bytes, PROT_READ);
  FOR_LENGTHS(length) {
    const int n = (int)length;
    const MPI_Comm world = MPI_COMM_WORLD;
    for (int r = 0; r < ranks; ++r) counts[r] = n, places[r] = n * r;
    end_call(CALL(Bcast, bcast, , rank == 0 ? from : to, n, MPI_INT, 0, world));
    EXPECT(rank == 0 || to[n - 1] == n - 1, "broadcast");
    end_call(CALL(Reduce, reduce, , from, to, n, MPI_INT, MPI_SUM, 0, world));
    end_call(CALL(Allreduce, allreduce, , from, to, n, MPI_INT, MPI_SUM, world));
    EXPECT(to[n - 1] == ranks * (n - 1), "allreduce");
    end_call(CALL(Gather, gather, , from, n, MPI_INT, to, n, MPI_INT, 0, world));
    end_call(CALL(Scatter, scatter, , from, n, MPI_INT, to, n, MPI_INT, 0, world));
    EXPECT(to[0] == n * rank, "scatter");
    end_call(CALL(Allgather, allgather, , from, n, MPI_INT, to, n, MPI_INT, world));
    end_call(CALL(Alltoall, alltoall, , from, n, MPI_INT, to, n, MPI_INT, world));
    EXPECT(to[n] == n * rank, "alltoall");
    end_call(CALL(Alltoallv, alltoallv, , from, counts, places, MPI_INT, to, counts, places, MPI_INT, world));
    end_call(CALL(Reduce_scatter_block, reduce_scatter_block, , from, to, n, MPI_INT, MPI_SUM, world));
    EXPECT(to[0] == ranks * n * rank, "reduce_scatter_block");
    end_call(CALL(Scan, scan, , from, to, n, MPI_INT, MPI_SUM, world));
  }
  munmap(from, bytes);
  free(to);
}

/* One location may be sent several times, and buffers whose data interleave do not overlap (2.3, 5.1.11). */
static void places_that_overlap(void) {
  enum { kRows = 5 };
  MPI_Datatype thrice, column, columns;
  int one = 100 + rank, three[3], all[3 * kRanksMax], matrix[kRows * (kRanksMax + 1)], counts[kRanksMax], zeros[kRanksMax],
      places[kRanksMax];
  MPI_Type_vector(3, 1, 0, MPI_INT, &thrice);
  MPI_Type_commit(&thrice);
  for (int r = 0; r < ranks; ++r) counts[r] = 1, zeros[r] = 0, places[r] = r;
  three[0] = three[1] = three[2] = -1;
  if (rank == 0) MPI_Bcast(&one, 1, thrice, 0, MPI_COMM_WORLD);
  else MPI_Bcast(three, 3, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < 3; ++i) EXPECT(rank == 0 || three[i] == 100, "element %d: %d", i, three[i]);
  MPI_Allgather(&one, 1, thrice, all, 3, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 3 * ranks; ++i) EXPECT(all[i] == 100 + i / 3, "element %d: %d", i, all[i]);
  MPI_Alltoallv(&one, counts, zeros, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r) EXPECT(all[r] == 100 + r, "from %d: %d", r, all[r]);
  /* Sends a column of a matrix to other columns of the same matrix. */
  MPI_Type_vector(kRows, 1, ranks + 1, MPI_INT, &column);
  MPI_Type_create_resized(column, 0, sizeof(int), &columns);
  MPI_Type_commit(&columns);
  for (int i = 0; i < kRows * (ranks + 1); ++i) matrix[i] = i % (ranks + 1) == 0 ? 10 * rank + i / (ranks + 1) : -1;
  MPI_Allgather(matrix, 1, columns, matrix + 1, 1, columns, MPI_COMM_WORLD);
  for (int row = 0; row < kRows; ++row)
    for (int r = 0; r < ranks; ++r) {
      const int got = matrix[row * (ranks + 1) + 1 + r];
      EXPECT(got == 10 * r + row, "row %d of %d: %d", row, r, got);
    }
  MPI_Type_free(&thrice);
  MPI_Type_free(&column);
  MPI_Type_free(&columns);
}

/* Types without data match the absence of data. */
static void types_of_no_size(void) {
  MPI_Datatype none;
  int counts[kRanksMax], places[kRanksMax], value = 4, others[kRanksMax];
  if (bare) return; /* Open MPI hangs */
  for (int r = 0; r < ranks; ++r) counts[r] = r, places[r] = 0, others[r] = -1;
  MPI_Type_contiguous(0, MPI_INT, &none);
  MPI_Type_commit(&none);
  if (rank == 0) MPI_Bcast(NULL, 0, MPI_INT, 0, MPI_COMM_WORLD);
  else MPI_Bcast(&value, 7, none, 0, MPI_COMM_WORLD);
  MPI_Allgather(&value, 2, none, others, 2, none, MPI_COMM_WORLD);
  MPI_Allgatherv(&value, rank, none, others, counts, places, none, MPI_COMM_WORLD);
  EXPECT(value == 4 && others[0] == -1, "%d %d", value, others[0]);
  MPI_Type_free(&none);
}

/* Two operations under way may send the same buffer. */
static void send_buffers_may_be_shared(void) {
  static int in[kSome], sums[kSome], all[kSome * kRanksMax];
  MPI_Request requests[2];
  for (int i = 0; i < kSome; ++i) in[i] = i;
  MPI_Iallreduce(in, sums, kSome, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Iallgather(in, kSome, MPI_INT, all, kSome, MPI_INT, MPI_COMM_WORLD, &requests[1]);
  const int seen = in[kSome - 1]; /* the program may read it */
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE), MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
  EXPECT(seen == kSome - 1 && sums[kSome - 1] == ranks * seen && all[kSome * ranks - 1] == seen, "%d", sums[kSome - 1]);
}

/* Operators (6.9) ------------------------------------------------------------------------------------------------- */

/* An operator that claims to commute, and shows which rank came last. */
static void keep_the_first(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, sizeof(uint64_t) * (size_t)*count);
}

/* All ranks get the same bits for any operator, whatever rounding and NaNs do with the order. */
void part_identical(void) {
  slot = &request_of_slot;
  MPI_Op keep, ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_OP_NULL};
  MPI_Op_create(keep_the_first, 1, &keep);
  ops[4] = keep;
  FOR_LENGTHS(n) {
    uint64_t *const in = malloc(3 * n * sizeof *in), *const out = in + n, *const theirs = in + 2 * n;
    for (int o = 0; o < 5; ++o) {
      for (size_t i = 0; i < n; ++i) {
        const uint64_t any = (uint64_t)next_random() * (uint64_t)(rank + 1);
        const double some = i % 5 == 0 ? 0.0 : i % 5 == 1 ? -0.0 : (double)any / 3e5;
        memcpy(&in[i], &some, sizeof some);
        if (i % 7 == 3) in[i] = (rank % 2 ? 0xfff8ull : 0x7ff8ull) << 48 | (uint64_t)(rank + 1); /* NaNs that differ */
        if (o == 4) in[i] = (uint64_t)rank;
      }
      end_call(CALL(Allreduce, allreduce, , in, out, (int)n, MPI_DOUBLE, ops[o], MPI_COMM_WORLD));
      memcpy(theirs, out, n * sizeof *out);
      PMPI_Bcast(theirs, (int)n, MPI_UINT64_T, 0, MPI_COMM_WORLD);
      EXPECT(memcmp(theirs, out, n * sizeof *out) == 0, "operator %d, length %zu", o, n);
    }
    free(in);
  }
  MPI_Op_free(&keep);
}

/* Types that a program requests by precision are predefined types (19.1.9). */
static void types_by_precision(void) {
  MPI_Datatype real;
  double mine = rank, sum = -1;
  MPI_Type_create_f90_real(15, 307, &real);
  MPI_Allreduce(&mine, &sum, 1, real, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == ranks * (ranks - 1) / 2, "sum %g", sum);
}

/* An operator on elements that lie backwards, and not at their address. */
static void add_backwards(void* in, void* inout, int* count, MPI_Datatype* type) {
  MPI_Aint low, extent;
  MPI_Type_get_extent(*type, &low, &extent);
  EXPECT(extent == -8, "extent %ld", (long)extent);
  for (int i = 0; i < *count; ++i) {
    const int* const a = (const int*)((char*)in + i * extent + 4);
    *(int*)((char*)inout + i * extent + 4) += *a;
  }
}
static void operators_on_backward_types(void) {
  enum { kCount = 6 };
  MPI_Datatype shifted, backwards;
  MPI_Op add;
  int in[2 * kCount], out[2 * kCount];
  slot = &request_of_slot;
  MPI_Type_create_hindexed(1, (int[]){1}, (MPI_Aint[]){4}, MPI_INT, &shifted);
  MPI_Type_create_resized(shifted, 0, -8, &backwards);
  MPI_Type_commit(&backwards);
  MPI_Op_create(add_backwards, 1, &add);
  for (int i = 0; i < 2 * kCount; ++i) in[i] = i + rank, out[i] = -1;
  end_call(CALL(Allreduce, allreduce, , in + 2 * kCount - 2, out + 2 * kCount - 2, kCount, backwards, add, MPI_COMM_WORLD));
  for (int i = 0; i < 2 * kCount; ++i) {
    const int want = i % 2 ? ranks * i + ranks * (ranks - 1) / 2 : -1;
    EXPECT(out[i] == want, "element %d: %d", i, out[i]);
  }
  MPI_Op_free(&add);
  MPI_Type_free(&shifted);
  MPI_Type_free(&backwards);
}

/* Requests (3.7, 3.9, 6.12, 6.13) ------------------------------------------------------------------------------------ */

static void statuses(void) {
  int in = 1, out, count, cancelled, index = 0, flag = 0, done = 0, indices[1];
  MPI_Request request;
  MPI_Status status;
  memset(&status, 0x11, sizeof status);
  status.MPI_ERROR = 1234;
  MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, &status);
  MPI_Test_cancelled(&status, &cancelled);
  EXPECT(status.MPI_ERROR == 1234 && !cancelled, "error %d, cancelled %d", status.MPI_ERROR, cancelled);
#if HAS_PERSISTENT
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "copse_test", "any");
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, info, &request);
  MPI_Info_free(&info);
  for (int turn = 0; turn < 3; ++turn) { /* inactive: complete, with an empty status */
    memset(&status, 0x11, sizeof status);
    if (turn == 0) MPI_Wait(&request, &status);
    if (turn == 1) MPI_Test(&request, &flag, &status);
    if (turn == 2) MPI_Request_get_status(request, &flag, &status);
    MPI_Get_count(&status, MPI_BYTE, &count);
    MPI_Test_cancelled(&status, &cancelled);
    EXPECT(turn == 0 || flag, "way %d", turn);
    EXPECT(status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG && count == 0 && !cancelled, "way %d", turn);
    MPI_Waitany(1, &request, &index, &status);
    EXPECT(index == MPI_UNDEFINED, "Waitany: %d", index);
    MPI_Testany(1, &request, &index, &flag, &status);
    EXPECT(index == MPI_UNDEFINED && flag, "Testany: %d %d", index, flag);
    MPI_Waitsome(1, &request, &done, indices, &status);
    EXPECT(done == MPI_UNDEFINED, "Waitsome: %d", done);
    MPI_Testsome(1, &request, &done, indices, &status);
    EXPECT(done == MPI_UNDEFINED, "Testsome: %d", done);
    MPI_Start(&request);
    if (turn == 0) { /* does not end it; MPICH's Waitany would now take any persistent request for inactive */
      while (flag = 0, MPI_Request_get_status(request, &flag, &status), !flag) continue;
      MPI_Wait(&request, &status);
    } else {
      MPI_Waitany(1, &request, &index, &status);
      EXPECT(index == 0, "Waitany: %d", index);
    }
    EXPECT(out == ranks && request != MPI_REQUEST_NULL, "sum %d", out);
  }
  MPI_Request_free(&request);
#endif
  (void)count, (void)index, (void)flag, (void)done, (void)indices;
}

/* Lists without requests, and a request that the program itself completes or cancels, while a call is under way. */
static int answer_three(void* extra, MPI_Status* status) {
  (void)extra;
  MPI_Status_set_elements(status, MPI_INT, 3);
  MPI_Status_set_cancelled(status, 0);
  status->MPI_SOURCE = 5, status->MPI_TAG = 6;
  return MPI_SUCCESS;
}
static int drop_nothing(void* extra) { return (void)extra, MPI_SUCCESS; }
static int cancel_nothing(void* extra, int complete) { return (void)extra, (void)complete, MPI_SUCCESS; }

static void requests_of_the_program(void) {
  MPI_Request requests[3];
  MPI_Status statuses[3];
  int sum = 0, one = 1, nothing, flag = 0, index = 0, done = 0, count = 0, cancelled = 0;
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[0]);
  MPI_Waitall(0, NULL, statuses);
  MPI_Testall(0, NULL, &flag, statuses);
  MPI_Waitany(0, NULL, &index, statuses);
  MPI_Waitsome(0, NULL, &done, NULL, statuses);
  EXPECT(flag && index == MPI_UNDEFINED && done == MPI_UNDEFINED, "%d %d %d", flag, index, done);
  MPI_Grequest_start(answer_three, drop_nothing, cancel_nothing, NULL, &requests[1]);
  MPI_Grequest_complete(requests[1]);
  MPI_Irecv(&nothing, 1, MPI_INT, rank, 44, MPI_COMM_WORLD, &requests[2]);
  MPI_Cancel(&requests[2]);
  MPI_Waitall(3, requests, statuses);
  MPI_Get_count(&statuses[1], MPI_INT, &count);
  MPI_Test_cancelled(&statuses[2], &cancelled);
  EXPECT(sum == ranks && count == 3 && statuses[1].MPI_SOURCE == 5 && statuses[1].MPI_TAG == 6 && cancelled, "%d %d %d", sum, count,
         cancelled);
}

void receive_of_anything(void) {
  MPI_Comm comm = met_copy();
  MPI_Request request;
  int got = -1, sent = 1000 + rank, sum;
  static int large[kMany];
  MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &request);
  for (int turn = 0; turn < 10; ++turn) {
    const int one = 1;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(large, kMany, MPI_INT, turn % ranks, comm);
    EXPECT(sum == ranks && got == -1, "sum %d, got %d", sum, got);
  }
  MPI_Barrier(comm);
  MPI_Send(&sent, 1, MPI_INT, (rank + 1) % ranks, 9, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(got == 1000 + (rank + ranks - 1) % ranks, "got %d", got);
  MPI_Comm_free(&comm);
}

/* Communicators (7.4.3, 7.7, 11.10.4) ------------------------------------------------------------------------------- */

/* The persistent calls of a freed communicator may still be started. */
static void calls_outlive_their_communicator(void) {
#if HAS_PERSISTENT
  if (bare) return; /* Open MPI crashes */
  MPI_Comm comm = met_copy();
  MPI_Request request;
  int sum = -1;
  MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  MPI_Comm_free(&comm);
  for (int turn = 0; turn < 3; ++turn) {
    sum = -1;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum == ranks * (ranks - 1) / 2, "turn %d: %d", turn, sum);
  }
  MPI_Request_free(&request);
#endif
}

/* Started calls are over when MPI_Comm_disconnect returns. Rank 0 then makes no call of MPI, and the others end
 * theirs. */
static void disconnecting_waits(void) {
  static int in[kMany], out[kMany], out_too[kMany];
  if (bare) return; /* MPICH hangs, Intel MPI crashes */
  volatile int* const words = common_words();
  MPI_Comm comm = met_copy();
  MPI_Request requests[2];
  int count = 1;
  for (int i = 0; i < kMany; ++i) in[i] = i;
#if HAS_PERSISTENT
  MPI_Allreduce_init(in, out_too, kMany, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
  MPI_Start(&requests[1]);
  ++count;
#endif
  MPI_Iallreduce(in, out, kMany, MPI_INT, MPI_SUM, comm, &requests[0]);
  MPI_Comm_disconnect(&comm);
  for (int i = 0; rank == 0 && ranks > 1 && words[0] == 0; ++i) {
    EXPECT(i < 20000, "the others wait for a rank that has disconnected");
    usleep(1000);
  }
  for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
  EXPECT(out[kMany - 1] == ranks * (kMany - 1), "sum %d", out[kMany - 1]);
  EXPECT(count == 1 || out_too[kMany - 1] == ranks * (kMany - 1), "sum %d of the persistent call", out_too[kMany - 1]);
  if (rank == 1) words[0] = 1;
  if (count > 1) MPI_Request_free(&requests[1]);
  munmap((void*)words, 4096);
}

/* A communicator may be duplicated while collectives on it are started and made. */
static void duplicates_beside_calls(void) {
  MPI_Comm comm = met_copy(), copy;
  MPI_Request requests[2];
  for (int turn = 0; turn < 5; ++turn) {
    static int in[kMany], out[kMany];
    int sum = 0;
    for (int i = 0; i < kMany; ++i) in[i] = i + turn, out[i] = -1;
    MPI_Comm_idup(comm, &copy, &requests[0]);
    MPI_Iallreduce(in, out, kMany, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Wait(&requests[turn % 2], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1 - turn % 2], MPI_STATUS_IGNORE);
    EXPECT(sum == ranks * (ranks - 1) / 2 && out[kMany - 1] == ranks * (kMany - 1 + turn), "sums %d and %d", sum, out[kMany - 1]);
    MPI_Bcast(&sum, 1, MPI_INT, turn % ranks, copy);
    MPI_Comm_free(&copy);
  }
  MPI_Comm_free(&comm);
}

static int deleted;
static int count_deleted(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  ++deleted;
  return MPI_SUCCESS;
}
/* A copy has the error handler, the info and the attributes of the original, and nothing of Copse's. */
static void copies_of_communicators(void) {
  MPI_Comm first = met_copy(), second;
  MPI_Errhandler handler;
  int key, value = 7, flag = 0, *found;
  MPI_Comm_set_errhandler(first, MPI_ERRORS_RETURN);
  MPI_Comm_create_keyval(MPI_COMM_DUP_FN, count_deleted, &key, NULL);
  MPI_Comm_set_attr(first, key, &value);
  MPI_Comm_dup(first, &second);
  MPI_Barrier(second);
  MPI_Comm_get_errhandler(second, &handler);
  EXPECT(handler == MPI_ERRORS_RETURN, "another error handler");
  MPI_Comm_get_attr(second, key, &found, &flag);
  EXPECT(flag && found == &value, "another attribute");
  MPI_Comm_free(&first);
  MPI_Comm_free(&second);
  EXPECT(deleted == 2, "%d deleted", deleted);
  MPI_Comm_free_keyval(&key);
}

/* The program's functions may call collectives when an attribute is copied. They may refuse the deletion of an
 * attribute; in most MPIs the communicator then lives on. */
static int ask_and_copy(MPI_Comm comm, int key, void* extra, void* value, void* copy, int* flag) {
  int sum = 0, one = 1;
  (void)key, (void)extra;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  *flag = sum == ranks;
  *(void**)copy = value;
  return MPI_SUCCESS;
}
static int refuse_once(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)extra;
  return --*(int*)value == 0 ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static void functions_of_attributes(void) {
  MPI_Comm comm = met_copy(), copy;
  int copied, refused, times = 1, flag = 0, sum = 0, one = 1;
  void* value;
  MPI_Comm_create_keyval(ask_and_copy, MPI_COMM_NULL_DELETE_FN, &copied, NULL);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, refuse_once, &refused, NULL);
  MPI_Comm_set_attr(comm, copied, &copied);
  MPI_Comm_dup(comm, &copy);
  MPI_Comm_get_attr(copy, copied, &value, &flag);
  EXPECT(flag && value == &copied, "the attribute was not copied");
  MPI_Comm_free(&copy);
  MPI_Comm_set_attr(comm, refused, &times);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  const int code = MPI_Comm_free(&comm);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  EXPECT(comm == MPI_COMM_NULL || code != MPI_SUCCESS, "a communicator was freed, and is still there");
  int kept = comm != MPI_COMM_NULL, kept_by_all; /* MPICH frees it anyway where a message is under way, perhaps on one rank */
  PMPI_Allreduce(&kept, &kept_by_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (kept_by_all) {
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == ranks, "sum %d", sum);
    MPI_Comm_free(&comm);
  }
  MPI_Comm_free_keyval(&copied);
  MPI_Comm_free_keyval(&refused);
}

/* MPI_Finalize first deletes the attributes of MPI_COMM_SELF. In their functions MPI still works (11.2.4). */
static int ended;
static int call_at_the_end(MPI_Comm comm, int key, void* value, void* extra) {
  int sum = 0, one = 1;
  MPI_Request request;
  (void)comm, (void)key, (void)value, (void)extra;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == ranks, "at the end: %d", sum);
  MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(sum == ranks, "at the end: %d", sum);
  ended = 1;
  return MPI_SUCCESS;
}
static void was_ended(void) {
  if (!ended) _exit(1);
}
static void call_when_it_ends(void) {
  int key;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, call_at_the_end, &key, NULL);
  MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
  atexit(was_ended);
}

/* A session may outlive MPI_Finalize (11.2, 11.3). */
void part_session_last(void) {
#if HAS_SESSIONS
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Request request, spread;
  MPI_Datatype gaps;
  int one = 1, sum = 0, three[3] = {0, 0, 0};
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "copse.test.last", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  MPI_Barrier(comm);
  MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request);
  MPI_Type_vector(2, 1, 2, MPI_INT, &gaps); /* its data must be packed */
  MPI_Type_commit(&gaps);
  MPI_Bcast_init(three, 1, gaps, 0, comm, MPI_INFO_NULL, &spread);
  MPI_Type_free(&gaps);
  for (int turn = 0; turn < 3; ++turn) {
    for (int i = 0; i < 3; ++i) three[i] = rank == 0 ? turn + i + 1 : 0;
    MPI_Start(&spread);
    MPI_Wait(&spread, MPI_STATUS_IGNORE);
    EXPECT(three[0] == turn + 1 && three[2] == turn + 3 && three[1] == (rank == 0 ? turn + 2 : 0), "turn %d: %d %d %d", turn,
           three[0], three[1], three[2]);
    sum = 0;
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(sum == ranks, "turn %d: %d", turn, sum);
    sum = 0;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    EXPECT(sum == ranks, "turn %d: %d", turn, sum);
    if (turn == 0) MPI_Finalize();
  }
  MPI_Request_free(&spread);
  MPI_Request_free(&request);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
#else
  MPI_Finalize();
#endif
}

void part_standard(void) {
  static const enum form forms[] = {kBlocking, kStarted, kPersistent};
  test_procedures_make_progress();
  sparse_exchange();
  for (int f = 0; f < 2 + HAS_PERSISTENT; ++f) {
    form = forms[f];
    if (form != kBlocking) starting_is_local();
    nobody_leaves_a_barrier_early();
    arguments_of_no_meaning();
    exscan_leaves_rank_0_alone();
    send_buffers_may_be_read_only();
    if (!bare) operators_on_backward_types(); /* MPICH and Intel MPI write elsewhere */
  }
  form = kBlocking;
  places_that_overlap();
  if (!bare) part_identical(); /* Intel MPI's own differ */
  statuses();
  receive_of_anything();
  calls_outlive_their_communicator();
  disconnecting_waits();
  types_of_no_size();
  send_buffers_may_be_shared();
  types_by_precision();
  requests_of_the_program();
  duplicates_beside_calls();
  copies_of_communicators();
  functions_of_attributes();
  test_handlers();
  call_when_it_ends();
}
