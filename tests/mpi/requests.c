/* Requests: started and persistent calls, in all ways that MPI has of completing them, mixed with messages and many
 * in flight. Also what the program may free early, and that everything makes progress whatever a rank waits for. */
#include "trials.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

static MPI_Status* volatile unneeded; /* volatile, as gcc and MPICH 4.0's header disagree about MPI_STATUSES_IGNORE */

void complete(int count, MPI_Request* requests, unsigned way) {
  MPI_Status statuses[64], status;
  int flag = 0, index, done, indices[64];
  unneeded = MPI_STATUSES_IGNORE;
  switch (way % kWays) {
    case 0: MPI_Waitall(count, requests, unneeded); break;
    case 1:
      while (!flag) {
        MPI_Request before[64];
        memcpy(before, requests, (size_t)count * sizeof *requests);
        MPI_Testall(count, requests, &flag, statuses);
        const int same = memcmp(before, requests, (size_t)count * sizeof *requests) == 0;
        EXPECT(flag || same, "MPI_Testall has changed requests, although not all are over");
      }
      break;
    case 2:
      for (int i = 0; i < count; ++i) MPI_Waitany(count, requests, &index, &status);
      break;
    case 3:
      do MPI_Testany(count, requests, &index, &flag, &status);
      while (!flag || index != MPI_UNDEFINED);
      break;
    case 4:
      do MPI_Waitsome(count, requests, &done, indices, statuses);
      while (done != MPI_UNDEFINED);
      break;
    case 5:
      do MPI_Testsome(count, requests, &done, indices, statuses);
      while (done != MPI_UNDEFINED);
      break;
    case 6:
      for (int i = 0; i < count; ++i) MPI_Wait(&requests[i], &status);
      break;
    case 7:
      for (int i = count - 1; i >= 0; --i)
        for (flag = 0; !flag;) MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
      break;
    case 8:
      for (int i = 0; i < count; ++i) {
        for (flag = 0; !flag;) MPI_Request_get_status(requests[i], &flag, &status);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
      break;
    case 9:
#if MPI_VERSION > 4 || (MPI_VERSION == 4 && MPI_SUBVERSION >= 1)
      for (flag = 0; !flag;) MPI_Request_get_status_all(count, requests, &flag, statuses);
      MPI_Request_get_status_any(count, requests, &index, &flag, &status);
      MPI_Request_get_status_some(count, requests, &done, indices, statuses);
#endif
      MPI_Waitall(count, requests, unneeded);
  }
}

int owed = -1, paid = -1;

/* With its own persistent collectives, MPICH 5 fails in Testall and MPICH 4.0 in Testany. */
int safe_way(unsigned way, int of_the_mpis) { return (int)(!of_the_mpis ? way % kWays : way % 3 == 0 ? 0 : 5 + way % 3); }

void end_beside_message(int count, MPI_Request* requests, MPI_Comm comm, int of_the_mpis) {
  if (comm == MPI_COMM_NULL) return complete(count, requests, (unsigned)safe_way((unsigned)rank, of_the_mpis));
  static int sent = 1;
  static unsigned ways; /* of completing; they may differ between ranks */
  int got = 0, me;
  MPI_Comm_rank(comm, &me);
  MPI_Request all[4];
  memcpy(all, requests, sizeof *all * (size_t)count);
  MPI_Irecv(&got, 1, MPI_INT, me, 77, comm, &all[count]);
  MPI_Isend(&sent, 1, MPI_INT, me, 77, comm, &all[count + 1]);
  complete(count + 2, all, (unsigned)safe_way(++ways + (unsigned)rank, of_the_mpis));
  memcpy(requests, all, sizeof *all * (size_t)count);
  EXPECT(got == 1, "a message beside a call");
}

/* Many in flight ----------------------------------------------------------------------------------------------- */

enum { kComms = 3, kFlight = 12, kStartedKinds = 7, kInts = 3000 };

struct flight {
  MPI_Comm comm;
  int length, me, size; /* elements; this rank of so many */
};
static struct flight flight_of(MPI_Comm* comms, unsigned turn, int call) {
  struct flight flight = {comms[(turn + (unsigned)call) % kComms], call % 4 == 3 ? kInts : call % 4 + 1, -1, -1};
  PMPI_Comm_rank(flight.comm, &flight.me);
  PMPI_Comm_size(flight.comm, &flight.size);
  return flight;
}

/* All ranks start the calls in the same order and complete them in any way and order. Sums, copies and blocks are
 * right. */
static void test_flight(MPI_Comm* comms, unsigned turn) {
  static int in[kFlight][kInts * kRanksMax], out[kFlight][kInts * kRanksMax], counts[kFlight][kRanksMax], note, news;
  MPI_Request requests[kFlight + 2];
  int count = 0;
  for (int i = 0; i < kFlight; ++i) {
    const struct flight flight = flight_of(comms, turn, i);
    const MPI_Comm comm = flight.comm;
    const int length = flight.length, me = flight.me, size = flight.size;
    for (int k = 0; k < length; ++k) out[i][k] = -1;
    for (int k = 0; k < length * size; ++k) in[i][k] = me + k + (int)turn;
    for (int r = 0; r < size; ++r) counts[i][r] = length;
    switch (((unsigned)i + turn) % kStartedKinds) {
      case 0: MPI_Iallreduce(in[i], out[i], length, MPI_INT, MPI_SUM, comm, &requests[count++]); break;
      case 1:
        if (me == 0) memcpy(out[i], in[i], sizeof(int) * (size_t)length);
        MPI_Ibcast(out[i], length, MPI_INT, 0, comm, &requests[count++]);
        break;
      case 2: MPI_Ibarrier(comm, &requests[count++]); break;
      case 3: MPI_Iallgather(in[i], length, MPI_INT, out[i], length, MPI_INT, comm, &requests[count++]); break;
      case 4: MPI_Ireduce(in[i], out[i], length, MPI_INT, MPI_MAX, size - 1, comm, &requests[count++]); break;
      case 5: MPI_Iscan(in[i], out[i], length, MPI_INT, MPI_SUM, comm, &requests[count++]); break;
      case 6:
        if (turn % 2) MPI_Ireduce_scatter(in[i], out[i], counts[i], MPI_INT, MPI_SUM, comm, &requests[count++]);
        else MPI_Ireduce_scatter_block(in[i], out[i], length, MPI_INT, MPI_SUM, comm, &requests[count++]);
        break;
    }
    if (i == kFlight / 2) {
      if (turn % 3 == 0) { /* a blocking call among them */
        int sum = -1, mine = me;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
        EXPECT(sum == size * (size - 1) / 2, "blocking among started: %d", sum);
      }
      note = 1000 + rank;
      MPI_Irecv(&news, 1, MPI_INT, (rank + 1) % ranks, 5, MPI_COMM_WORLD, &requests[count++]);
      MPI_Isend(&note, 1, MPI_INT, (rank + ranks - 1) % ranks, 5, MPI_COMM_WORLD, &requests[count++]);
    }
  }
  complete(count, requests, turn / 2 + (unsigned)rank);
  for (int i = 0; i < count; ++i) EXPECT(requests[i] == MPI_REQUEST_NULL, "request %d is left, turn %u", i, turn);
  EXPECT(news == 1000 + (rank + 1) % ranks, "message: %d", news);
  for (int i = 0; i < kFlight; ++i) {
    const struct flight flight = flight_of(comms, turn, i);
    const int length = flight.length, me = flight.me, size = flight.size;
    for (int k = 0; k < length; ++k) {
      const int base = k + (int)turn, all = size * base + size * (size - 1) / 2;
      const int kind = (int)(((unsigned)i + turn) % kStartedKinds);
      int want = kind == 0   ? all
                 : kind == 1 ? base
                 : kind == 4 ? (me == size - 1 ? size - 1 + base : -1)
                 : kind == 5 ? (me + 1) * base + me * (me + 1) / 2
                 : kind == 6 ? all + size * me * length
                             : -1;
      if (kind == 3)
        for (int r = 0; r < size; ++r)
          EXPECT(out[i][r * length + k] == r + base, "allgather, turn %u, call %d, rank %d, element %d", turn, i, r, k);
      else if (kind != 2)
        EXPECT(out[i][k] == want, "kind %d, turn %u, call %d, element %d: %d, not %d", kind, turn, i, k, out[i][k], want);
    }
  }
}

static void add_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i)
    for (int k = 0; k < 2; ++k) ((int*)inout)[3 * i + 2 * k] += ((int*)in)[3 * i + 2 * k];
}

/* The program frees types, operators and communicators as soon as a call has begun. */
static void test_freed_early(void) {
  for (int turn = 0; turn < 20; ++turn) {
    MPI_Comm comm;
    MPI_Datatype gappy, bare_type;
    MPI_Op op;
    MPI_Request requests[3];
    int in[30], sum[30], got[30];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Barrier(comm); /* Open MPI itself crashes if a communicator is freed too early */
    MPI_Type_vector(2, 1, 2, MPI_INT, &bare_type); /* an int, a gap, an int */
    MPI_Type_create_resized(bare_type, 0, 12, &gappy);
    MPI_Type_commit(&gappy);
    MPI_Type_free(&bare_type);
    MPI_Op_create(add_pairs, turn % 3 != 0, &op);
    for (int i = 0; i < 30; ++i) in[i] = i + rank, sum[i] = -1, got[i] = rank == ranks - 1 ? i : -1;
    MPI_Iallreduce(in, sum, 10, gappy, op, comm, &requests[0]);
    MPI_Ibcast(got, 10, gappy, ranks - 1, comm, &requests[1]);
    MPI_Iallreduce(in, sum + 15, 0, gappy, op, comm, &requests[2]);
    MPI_Type_free(&gappy);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    EXPECT(op == MPI_OP_NULL && gappy == MPI_DATATYPE_NULL && comm == MPI_COMM_NULL, "a handle is left");
    complete(3, requests, (unsigned)(turn + rank));
    for (int i = 0; i < 30; ++i) {
      const int gap = i % 3 == 1;
      EXPECT(sum[i] == (gap ? -1 : ranks * i + ranks * (ranks - 1) / 2), "element %d: %d", i, sum[i]);
      EXPECT(got[i] == (gap && rank != ranks - 1 ? -1 : i), "element %d: %d", i, got[i]);
    }
  }
}

static void test_persistent(MPI_Comm* comms) {
#if HAS_PERSISTENT
  enum { kRounds = 12, kLength = 500 };
  static int in[kLength], sum[kLength], all[kLength * kRanksMax], got, value;
  MPI_Request requests[5];
  MPI_Datatype pairs, copies;
  int flag = 0;
  MPI_Type_vector(kLength / 2, 1, 2, MPI_INT, &pairs);
  MPI_Type_commit(&pairs);
  MPI_Type_contiguous(kLength, MPI_INT, &copies);
  MPI_Type_commit(&copies);
  MPI_Allreduce_init(in, sum, kLength, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
  MPI_Gather_init(in, 1, pairs, all, kLength / 2, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
  MPI_Send_init(&value, 1, MPI_INT, (rank + 1) % ranks, 3, MPI_COMM_WORLD, &requests[2]);
  MPI_Recv_init(&got, 1, MPI_INT, (rank + ranks - 1) % ranks, 3, MPI_COMM_WORLD, &requests[3]);
  MPI_Barrier_init(comms[1], MPI_INFO_NULL, &requests[4]);
  MPI_Type_free(&pairs);
  MPI_Type_free(&copies);
  for (int i = 0; i < 5; ++i) { /* inactive requests are complete */
    MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    EXPECT(flag, "an inactive request %d is not complete", i);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLength; ++i) in[i] = i * round + rank, sum[i] = -1;
    value = 10 * round + rank;
    memset(all, -1, sizeof all);
    if (round % 2) MPI_Startall(5, requests);
    else
      for (int i = 0; i < 5; ++i) MPI_Start(&requests[i]);
    complete(5, requests, (unsigned)(round + rank));
    for (int i = 0; i < 5; ++i) EXPECT(requests[i] != MPI_REQUEST_NULL, "a persistent request is gone");
    for (int i = 0; i < kLength; ++i)
      EXPECT(sum[i] == ranks * i * round + ranks * (ranks - 1) / 2, "round %d, element %d: %d", round, i, sum[i]);
    for (int i = 0; rank == 0 && i < ranks * kLength / 2; ++i)
      EXPECT(all[i] == i % (kLength / 2) * 2 * round + i / (kLength / 2), "round %d, element %d: %d", round, i, all[i]);
    EXPECT(got == 10 * round + (rank + ranks - 1) % ranks, "round %d: message %d", round, got);
  }
  for (int i = 0; i < 5; ++i) MPI_Request_free(&requests[i]);
  EXPECT(requests[0] == MPI_REQUEST_NULL, "a freed request is left");
#else
  (void)comms;
#endif
}

/* The rank with too little room is told when it waits for the call. */
static void test_cut_off(void) {
  static int mine[4], all[4 * kRanksMax], counts[kRanksMax], places[kRanksMax];
  for (int r = 0; r < ranks; ++r) counts[r] = r == 1 ? 2 : 4, places[r] = 4 * r;
  for (int persistent = 0; persistent <= HAS_PERSISTENT; ++persistent) {
    MPI_Request request = MPI_REQUEST_NULL;
    if (!persistent) MPI_Igatherv(mine, 4, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, &request);
#if HAS_PERSISTENT
    if (persistent) MPI_Gatherv_init(mine, 4, MPI_INT, all, counts, places, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
#endif
    for (int turn = 0; turn <= persistent; ++turn) {
      int class;
      if (persistent) MPI_Start(&request);
      MPI_Error_class(MPI_Wait(&request, MPI_STATUS_IGNORE), &class);
      EXPECT(class == (rank == 0 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "persistent %d, turn %d: class %d", persistent, turn, class);
    }
    if (persistent) MPI_Request_free(&request);
  }
}

static int wrong_on_self, wrong_elsewhere;
static void count_errors(MPI_Comm* comm, int* code, ...) {
  (void)code;
  ++*(*comm == MPI_COMM_SELF ? &wrong_on_self : &wrong_elsewhere);
}

/* Collective calls cannot be cancelled. A call whose request is freed still comes to its end. */
static void test_misuse(void) {
  if (bare) return;
  int in = rank, sum = -1, code;
  MPI_Request request;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  if (!getenv("COPSE_CHECK")) test_cut_off(); /* COPSE_CHECK would refuse it */
  MPI_Errhandler counting;
  MPI_Comm_create_errhandler(count_errors, &counting);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, counting);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, counting);
  MPI_Errhandler_free(&counting);
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Error_class(MPI_Cancel(&request), &code);
  EXPECT(code == MPI_ERR_REQUEST, "a call was cancelled: class %d", code);
  EXPECT(wrong_on_self == 1 && wrong_elsewhere == 0, "the handlers were called %d and %d times", wrong_on_self, wrong_elsewhere);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  EXPECT(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
  sum = -1;
  MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request);
  EXPECT(request == MPI_REQUEST_NULL, "a freed request is left");
  for (int i = 0; i < 4; ++i) { /* calls take four streams of helpers in turn: the last one comes behind the freed call */
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  EXPECT(sum == ranks * (ranks - 1) / 2, "sum %d", sum);
  static int given;
  given = rank, owed = sum;
  MPI_Iallreduce(&given, &paid, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
  MPI_Request_free(&request); /* MPI_Finalize ends it */
}

void part_requests(void) {
  MPI_Comm comms[kComms] = {MPI_COMM_WORLD};
  MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 && ranks > 2, -rank, &comms[2]);
  for (int i = 0; i < kComms; ++i) MPI_Barrier(comms[i]);
  for (unsigned turn = 0; turn < 40; ++turn) test_flight(comms, turn);
  test_freed_early();
  test_persistent(comms);
  MPI_Comm_free(&comms[1]);
  MPI_Comm_free(&comms[2]);
  test_misuse();
}

/* Everything goes on --------------------------------------------------------------------------------------------- */

enum { kLong = 1 << 19 };

static void start_some(int kind, int* in, int* out, int count, MPI_Comm comm, MPI_Request* request) {
  if (kind == 0) MPI_Ibcast(in, count, MPI_INT, 0, comm, request);
  if (kind == 1) MPI_Iallreduce(in, out, count, MPI_INT, MPI_SUM, comm, request);
  if (kind == 2) MPI_Ibarrier(comm, request);
}

/* Messages to itself: an empty one, and one at an absolute address. */
static void replace_by_itself(int* token, MPI_Comm comm) {
  const int before = *token, one = 1;
  MPI_Aint at;
  MPI_Datatype absolute;
  MPI_Sendrecv_replace(token, 0, MPI_INT, rank, 8, rank, 8, comm, MPI_STATUS_IGNORE);
  if (!bare) { /* MPICH 4.0 refuses it */
    MPI_Get_address(token, &at);
    MPI_Type_create_hindexed(1, &one, &at, MPI_INT, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, absolute, rank, 8, rank, 8, comm, MPI_STATUS_IGNORE);
    MPI_Type_free(&absolute);
  }
  EXPECT(*token == before, "a message to itself: %d, not %d", *token, before);
}

/* Rank r reaches its own wait when rank r + 1 has finished its wait. Until then it sits in another call. */
static void sit(int how, int from, MPI_Comm comm) {
  int token = -1, mine = rank;
  MPI_Status status;
  MPI_Message message;
  switch (how) {
    case 0: MPI_Recv(&token, 1, MPI_INT, from, 9, comm, &status); break;
    case 1:
      MPI_Probe(from, 9, comm, &status);
      MPI_Recv(&token, 1, MPI_INT, from, 9, comm, MPI_STATUS_IGNORE);
      break;
    case 2:
      MPI_Mprobe(from, 9, comm, &message, &status);
      MPI_Mrecv(&token, 1, MPI_INT, &message, &status);
      break;
    case 3:
      MPI_Sendrecv(&mine, 1, MPI_INT, rank, 8, &mine, 1, MPI_INT, rank, 8, comm, MPI_STATUS_IGNORE);
      MPI_Sendrecv(&mine, 1, MPI_INT, MPI_PROC_NULL, 8, &token, 1, MPI_INT, from, 9, comm, &status);
      break;
    case 4:
      token = rank;
      replace_by_itself(&token, comm);
      MPI_Sendrecv_replace(&token, 1, MPI_INT, MPI_PROC_NULL, 8, from, 9, comm, &status);
      break;
  }
  EXPECT(token == from, "a message from %d, not %d", token, from);
  if (how != 1) EXPECT(status.MPI_SOURCE == from && status.MPI_TAG == 9, "status: %d %d", status.MPI_SOURCE, status.MPI_TAG);
}

/* MPICH writes a file only when the request itself is tested. A pending call that is not in the list changes nothing about that. */
static void test_file(void) {
  static char bytes[1 << 20];
  char name[64];
  int token = 0;
  MPI_Request barrier, written;
  MPI_File file;
  snprintf(name, sizeof name, "/tmp/copse-file-%d", (int)getpid());
  MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  if (rank == 0) {
    MPI_Status status;
    memset(&status, 0x55, sizeof status);
    MPI_File_iwrite_at(file, 0, bytes, sizeof bytes, MPI_BYTE, &written);
    MPI_Waitall(1, &written, &status);
    EXPECT(status.MPI_ERROR == MPI_SUCCESS, "error %d", status.MPI_ERROR);
    for (int r = 1; r < ranks; ++r) MPI_Send(&token, 1, MPI_INT, r, 0, MPI_COMM_WORLD);
  }
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  MPI_File_close(&file);
}

/* Rank 1 sends the second message once it has left the barrier, for which it needs rank 0. */
static void test_failed_receive(void) {
  MPI_Comm comm;
  int got[2] = {-1, -1}, class = MPI_SUCCESS;
  const int sent[2] = {7, 8};
  MPI_Request barrier, receives[2];
  MPI_Status statuses[2];
  if (ranks < 2 || bare) return; /* an MPI may return before all have ended */
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  /* MPICH does not ask the communicator of the request, but one of these. */
  const MPI_Comm asked[3] = {comm, MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 3; ++i) MPI_Comm_set_errhandler(asked[i], MPI_ERRORS_RETURN);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) MPI_Send(sent, 2, MPI_INT, 0, 1, comm);
  MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
  if (rank == 0) {
    for (int i = 0; i < 2; ++i) MPI_Irecv(&got[i], 1, MPI_INT, 1, 1 + i, comm, &receives[i]);
    memset(statuses, 0x55, sizeof statuses);
    const int result = MPI_Waitall(2, receives, statuses);
    EXPECT(result == MPI_ERR_IN_STATUS, "the result is %d", result);
    MPI_Error_class(statuses[0].MPI_ERROR, &class);
    EXPECT(class == MPI_ERR_TRUNCATE, "class %d", class);
    EXPECT(statuses[1].MPI_ERROR == MPI_SUCCESS && got[1] == 8, "error %d, %d", statuses[1].MPI_ERROR, got[1]);
  }
  MPI_Wait(&barrier, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(&sent[1], 1, MPI_INT, 0, 2, comm);
  for (int i = 0; i < 3; ++i) MPI_Comm_set_errhandler(asked[i], MPI_ERRORS_ARE_FATAL);
  MPI_Comm_free(&comm);
}

void part_progress(void) {
  MPI_Comm one, two;
  int *in = malloc(sizeof(int) * kLong), *out = malloc(sizeof(int) * kLong);
  MPI_Request request, requests[2];
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &two);
  MPI_Barrier(one);
  MPI_Barrier(two);
  for (int how = 0; how < 5; ++how)
    for (int kind = 0; kind < 3; ++kind)
      for (int large = 0; large < 2; ++large) {
        const int count = large ? kLong : 1;
        for (int i = 0; i < count; ++i) in[i] = kind == 0 && rank > 0 ? -1 : i;
        start_some(kind, in, out, count, one, &request);
        if (rank < ranks - 1) sit(how, rank + 1, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank > 0) MPI_Send(&rank, 1, MPI_INT, rank - 1, 9, MPI_COMM_WORLD);
        for (int i = 0; i < count; ++i) EXPECT(kind != 0 || in[i] == i, "element %d", i);
        for (int i = 0; i < count; ++i) EXPECT(kind != 1 || out[i] == ranks * i, "element %d", i);
      }
  for (int turn = 0; turn < 30; ++turn) { /* ranks wait for two communicators in different orders */
    const int count = turn % 3 ? 10 : kLong / 4;
    start_some(turn % 3, in, out, count, one, &requests[0]);
    start_some(2, in, out, count, two, &requests[1]);
    const int first = (rank + turn) % 2;
    MPI_Wait(&requests[first], MPI_STATUS_IGNORE);
    MPI_Send(&turn, 1, MPI_INT, rank, 4, MPI_COMM_WORLD);
    MPI_Recv(&in[0], 1, MPI_INT, rank, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[!first], MPI_STATUS_IGNORE);
    /* Or they sit in a blocking call of the other communicator. */
    start_some(1, in, out, count, one, &requests[0]);
    if (first) MPI_Barrier(two);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    if (!first) MPI_Barrier(two);
  }
  for (int turn = 0; turn < 10; ++turn) { /* the MPI's own long messages, while ranks are in Copse's calls */
    const int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Isend(in, kLong, MPI_INT, to, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(out, kLong, MPI_INT, from, 6, MPI_COMM_WORLD, &requests[1]);
    if (rank % 2) MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    if (turn % 2) {
      MPI_Barrier(one);
    } else {
      MPI_Ibarrier(one, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    complete(2, requests, 0);
  }
  MPI_Comm_free(&one);
  MPI_Comm_free(&two);
  free(in), free(out);
  test_file();
  test_failed_receive();
}

static int has_thread_of_copses(void) {
  const char* progress = getenv("COPSE_PROGRESS");
  return progress != NULL && strcmp(progress, "thread") == 0;
}

/* Calls of the MPI's that wait for all ranks. Rank 0 is in one while the others wait for what it has started. The last call has no
 * wrapper of Copse's, whose thread must help by itself. */
enum { kFromGroup = 9, kWaits };
static MPI_Comm between; /* between even and odd ranks; reductions on it are passed on */

static void wait_in_mpi(int how) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Win window;
  int extent = ranks, periods = 1, neighbours[2], *memory;
  switch (how) {
    case 0: MPI_Comm_dup(MPI_COMM_WORLD, &made); break;
    case 1: MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &made); break;
    case 2: MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made); break;
    case 3:
    case 4:
      MPI_Cart_create(MPI_COMM_WORLD, 1, &extent, &periods, 0, &made);
      if (how == 4) MPI_Neighbor_allgather(&rank, 1, MPI_INT, neighbours, 1, MPI_INT, made);
      EXPECT(how != 4 || neighbours[0] == (rank + ranks - 1) % ranks, "neighbour %d", neighbours[0]);
      break;
    case 5: {
      MPI_Group all, two;
      MPI_Comm_group(MPI_COMM_WORLD, &all);
      MPI_Group_incl(all, 2, (const int[]){0, 1}, &two);
      if (rank < 2) MPI_Comm_create_group(MPI_COMM_WORLD, two, 3, &made);
      MPI_Group_free(&two);
      MPI_Group_free(&all);
      break;
    }
    case 6: MPI_Win_create(&extent, sizeof extent, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window); break;
    case 8: MPI_Allreduce(&rank, &extent, 1, MPI_INT, MPI_MAX, between); break;
    case kFromGroup: {
      struct room room; /* by MPI_Comm_create_from_group */
      open_room(&room, kSession, NULL, 1);
      close_room(&room, 1);
      break;
    }
    default:
      MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
      MPI_Win_fence(0, window); /* no MPI_Put: that of MPICH 4.0.2 is wrong in its own windows */
  }
  if (how == 6 || how == 7) MPI_Win_free(&window);
  if (made != MPI_COMM_NULL) MPI_Comm_free(&made);
}

/* The ranks meet in barriers, and the MPI makes no progress before the one call of MPI_Win_test. */
static void test_window(void) {
  static int memory;
  const int first = 0;
  int closed = 0;
  MPI_Win window;
  MPI_Group all, others;
  if (ranks == 1) return;
  MPI_Win_create(&memory, sizeof memory, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_get_group(window, &all);
  if (rank == 0) {
    MPI_Group_excl(all, 1, &first, &others);
    MPI_Win_start(others, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_complete(window);
    MPI_Barrier(MPI_COMM_WORLD);
  } else {
    MPI_Group_incl(all, 1, &first, &others);
    MPI_Win_post(others, 0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_test(window, &closed);
    EXPECT(closed, "the window is still open");
    if (!closed) MPI_Win_wait(window);
  }
  MPI_Group_free(&others);
  MPI_Group_free(&all);
  MPI_Win_free(&window);
}

void part_waits(void) {
  MPI_Comm one, half;
  int *in = malloc(sizeof(int) * kLong), *out = malloc(sizeof(int) * kLong);
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &between);
  MPI_Barrier(one);
  for (int how = 0; how < kWaits; ++how) {
    if (how == kFromGroup && !(HAS_SESSIONS && has_thread_of_copses())) continue;
    for (int i = 0; i < kLong; ++i) in[i] = i, out[i] = -1;
    start_some(1, in, out, kLong, one, &request);
    if (rank == 0) wait_in_mpi(how);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank != 0) wait_in_mpi(how);
    for (int i = 0; i < kLong; ++i) EXPECT(out[i] == ranks * i, "element %d", i);
  }
  test_window();
  MPI_Comm_free(&one);
  MPI_Comm_free(&half);
  MPI_Comm_free(&between);
  free(in), free(out);
}

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static pthread_t of_the_program;
static volatile int elsewhere;
static void add_here(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  if (!pthread_equal(pthread_self(), of_the_program)) elsewhere = 1;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* A thread of Copse's own may not run the program's operators. It has the time to. */
static void operators_stay_here(int* in, int* out) {
  MPI_Op sum;
  of_the_program = pthread_self();
  MPI_Op_create(add_here, 1, &sum);
  for (int turn = 0; turn < 8; ++turn) {
    const int count = turn % 2 ? kLong : 1;
    MPI_Request request;
    for (int i = 0; i < count; ++i) in[i] = i, out[i] = -1;
    MPI_Iallreduce(in, out, count, MPI_INT, sum, MPI_COMM_WORLD, &request);
    usleep(5000);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; ++i) EXPECT(out[i] == ranks * i, "turn %d, element %d", turn, i);
  }
  EXPECT(!elsewhere, "another thread has run the program's operator");
  MPI_Op_free(&sum);
}

/* All ranks compute. Their calls end through a thread of Copse's own, or not at all. */
void part_moved(void) {
  const int thread = has_thread_of_copses();
  int *in = malloc(sizeof(int) * kLong), *out = malloc(sizeof(int) * kLong);
  MPI_Request request;
  int stood_still = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  for (int turn = 0; turn < 12; ++turn) {
    const int count = turn % 3 == 0 ? 1 : turn % 3 == 1 ? kInts : kLong, kind = turn % 2, last = count - 1;
    for (int i = 0; i < count; ++i) in[i] = kind == 0 && rank > 0 ? -1 : i, out[i] = -1;
    volatile int* const result = kind == 0 ? &in[last] : &out[last];
    const int wanted = kind == 0 ? last : ranks * last;
    if (turn / 6 && rank == 1) usleep(5000); /* when the others have long been asleep */
    start_some(kind, in, out, count, MPI_COMM_WORLD, &request);
    const double end = seconds() + (thread ? 30 : 0.1);
    while (*result != wanted && seconds() < end) usleep(100);
    int moved = *result == wanted, flag = 0, all = 0;
    for (; thread && !flag && seconds() < end; usleep(100)) /* what was seen may still need an instant */
      MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    EXPECT(!thread || (moved && flag), "turn %d: %d, test says %d", turn, moved, flag);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT(*result == wanted, "turn %d: %d", turn, *result);
    PMPI_Allreduce(&moved, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    stood_still += !all;
  }
  /* A short call may end while it is started, if the ranks happen to look at the right time. Six of them will not
   * all do so. */
  EXPECT(thread || stood_still > 0, "calls ended without anybody: %d stood still", stood_still);
  operators_stay_here(in, out);
  free(in), free(out);
}

/* Threads. Each has its own communicator and waits for what another thread has started. */
enum { kThreads = 3, kTurns = 100 };
static MPI_Comm thread_comms[kThreads];
static MPI_Request handed[kThreads];
static int sums[kThreads], operands[kThreads];
static pthread_barrier_t together;

static void* request_thread(void* argument) {
  const int me = (int)(intptr_t)argument, next = (me + 1) % kThreads;
  const char* wrong = NULL;
  for (int turn = 0; turn < kTurns; ++turn) {
    MPI_Request mine[3];
    int sent = turn, got = -1, value = rank == turn % ranks ? turn : -1;
    operands[me] = rank + turn + me, sums[me] = -1;
    MPI_Iallreduce(&operands[me], &sums[me], 1, MPI_INT, MPI_SUM, thread_comms[me], &handed[me]);
    MPI_Ibcast(&value, 1, MPI_INT, turn % ranks, thread_comms[me], &mine[0]);
    MPI_Irecv(&got, 1, MPI_INT, rank, me, thread_comms[me], &mine[1]);
    MPI_Isend(&sent, 1, MPI_INT, rank, me, thread_comms[me], &mine[2]);
    pthread_barrier_wait(&together);
    MPI_Wait(&handed[next], MPI_STATUS_IGNORE);
    if (sums[next] != ranks * (ranks - 1) / 2 + ranks * (turn + next)) wrong = "wrong sum";
    complete(3, mine, (unsigned)(turn + me + rank));
    if (value != turn || got != turn) wrong = "wrong value";
    pthread_barrier_wait(&together);
  }
  return (void*)wrong;
}

/* One thread waits in the MPI already when another one starts a call, and the others make that call before they send what the first
 * thread waits for. */
static void* receive_first(void* comm) {
  static int got;
  got = -1;
  MPI_Recv(&got, 1, MPI_INT, ranks - 1, 9, *(MPI_Comm*)comm, MPI_STATUS_IGNORE);
  return &got;
}

static void start_behind_a_wait(void) {
  int level;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) return;
  int *in = malloc(sizeof(int) * kLong), *out = malloc(sizeof(int) * kLong);
  MPI_Comm comm, messages;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_dup(MPI_COMM_WORLD, &messages);
  MPI_Barrier(comm);
  for (int turn = 0; ranks > 1 && turn < 4; ++turn) {
    pthread_t receiver;
    MPI_Request request;
    void* got = NULL;
    for (int i = 0; i < kLong; ++i) in[i] = i + turn, out[i] = -1;
    if (rank == 0) pthread_create(&receiver, NULL, receive_first, &messages);
    if (rank == 0) usleep(20000); /* the thread is in the MPI by now */
    start_some(1, in, out, kLong, comm, &request);
    if (rank == 0) pthread_join(receiver, &got);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == ranks - 1) MPI_Send(&turn, 1, MPI_INT, 0, 9, messages);
    EXPECT(got == NULL || *(int*)got == turn, "turn %d: got %d", turn, *(int*)got);
    for (int i = 0; i < kLong; ++i) EXPECT(out[i] == ranks * (i + turn), "turn %d, element %d", turn, i);
  }
  MPI_Comm_free(&messages);
  MPI_Comm_free(&comm);
  free(in), free(out);
}

void part_request_threads(void) {
  pthread_t threads[kThreads];
  start_behind_a_wait();
  pthread_barrier_init(&together, NULL, kThreads);
  for (int i = 0; i < kThreads; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &thread_comms[i]);
    MPI_Barrier(thread_comms[i]);
  }
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, request_thread, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; ++i) {
    void* wrong;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL, "thread %d: %s", i, (char*)wrong);
    MPI_Comm_free(&thread_comms[i]);
  }
}
