/* Things that are legal and rare. */
#include "collectives.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

/* The program's own functions may call on a communicator that is being freed; its handle names another one later.
 * MPI does not say when these functions are called: while a rank has a message of the communicator under way, MPICH
 * and Intel MPI put them off until a later call. So the ranks first agree, by messages that Copse does not see,
 * whether all of them are inside MPI_Comm_free. If not, they leave the call out. */
static enum { kFreeing, kMet, kLeftOut } meeting;
static int all_freeing(int here) {
  int all = 0;
  PMPI_Allreduce(&here, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  return all;
}

static int meet_once_more(MPI_Comm comm, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  if (meeting == kLeftOut) return MPI_SUCCESS; /* put off */
  meeting = all_freeing(1) ? kMet : kLeftOut;
  return meeting == kMet ? MPI_Barrier(comm) : MPI_SUCCESS;
}

/* Uses a communicator once and frees it. Returns whether the ranks met meanwhile. */
static int free_and_meet(int key, int i) {
  MPI_Comm comm;
  int me, value;
  MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &comm);
  if ((i + rank) % 2) MPI_Comm_set_attr(comm, key, &value); /* before Copse's, */
  MPI_Comm_rank(comm, &me);
  value = me == 0 ? i : -1;
  MPI_Bcast(&value, 1, MPI_INT, 0, comm);
  EXPECT(value == i, "communicator %d: %d", i, value);
  if ((i + rank) % 2 == 0) MPI_Comm_set_attr(comm, key, &value); /* or behind it */
  meeting = kFreeing;
  if (i % 6 == 4) MPI_Comm_disconnect(&comm);
  else MPI_Comm_free(&comm);
  if (meeting == kFreeing) {
    meeting = kLeftOut;
    all_freeing(0);
  }
  return meeting == kMet;
}

static void calls_while_freeing(void) {
  enum { kMeetings = 6, kTries = 100 };
  int key, met = 0;
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meet_once_more, &key, NULL);
  for (int i = 0; i < kTries && met < kMeetings; ++i) met += free_and_meet(key, i);
  EXPECT(met == kMeetings, "of %d communicators only %d were freed by all ranks at once", kTries, met);
  MPI_Comm_free_keyval(&key);
}

/* Nobody looks at the receive buffer of a rank that receives nothing. */
static void buffers_of_no_meaning(void) {
  for (int root = 0; root < ranks; ++root) {
    int one = 1, sum = 0;
    MPI_Reduce(&one, rank == root ? &sum : MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    EXPECT(rank != root || sum == ranks, "root %d: %d", root, sum);
  }
}

/* A user's operator gets the datatype that the program gave. */
static MPI_Datatype pair;
static int pair_key, others;
static void add_pairs(void* in, void* inout, int* count, MPI_Datatype* type) {
  void* value;
  int found = 0, sizes[3], combiner;
  MPI_Type_get_attr(*type, pair_key, &value, &found);
  MPI_Type_get_envelope(*type, &sizes[0], &sizes[1], &sizes[2], &combiner);
  others += *type != pair || found == 0 || combiner != MPI_COMBINER_VECTOR;
  for (int i = 0; i < 2 * *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

static void types_that_operators_see(void) {
  MPI_Op add;
  int in[8], out[8];
  MPI_Type_vector(2, 1, 1, MPI_INT, &pair);
  MPI_Type_commit(&pair);
  MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &pair_key, NULL);
  MPI_Type_set_attr(pair, pair_key, &pair_key);
  MPI_Op_create(add_pairs, 1, &add);
  for (int i = 0; i < 8; ++i) in[i] = i + rank;
  for (int started = 0; started < 2; ++started) {
    MPI_Request request;
    if (started) {
      MPI_Iallreduce(in, out, 4, pair, add, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      MPI_Allreduce(in, out, 4, pair, add, MPI_COMM_WORLD);
    }
    for (int i = 0; i < 8; ++i) EXPECT(out[i] == ranks * i + ranks * (ranks - 1) / 2, "element %d: %d", i, out[i]);
    EXPECT(others == 0, "%d calls with another type", others);
  }
  MPI_Op_free(&add);
  MPI_Type_free(&pair);
  MPI_Type_free_keyval(&pair_key);
}

void part_rare(void) {
  calls_while_freeing();
  buffers_of_no_meaning();
  types_that_operators_see();
}

/* Two threads, each on its own communicator, meet a datatype at the same moment. */
static MPI_Comm comms[2];
static MPI_Datatype type;
static int arrived[2];
enum { kTypes = 400 };

static void meet(int me, int turn) { /* a barrier of the system would not bring them close enough */
  __atomic_store_n(&arrived[me], turn, __ATOMIC_SEQ_CST);
  while (__atomic_load_n(&arrived[1 - me], __ATOMIC_SEQ_CST) < turn) sched_yield();
}

static void* meet_types(void* argument) {
  const int me = (int)(intptr_t)argument;
  const char* wrong = NULL;
  for (int i = 0; i < kTypes; ++i) {
    int values[16];
    if (me == 0) {
      MPI_Type_vector(8, 1, 2, MPI_INT, &type);
      MPI_Type_commit(&type);
    }
    meet(me, 2 * i + 1);
    for (int k = 0; k < 16; ++k) values[k] = rank == 0 ? i + k : -1;
    MPI_Bcast(values, 1, type, 0, comms[me]);
    for (int k = 0; k < 16; k += 2)
      if (values[k] != i + k) wrong = "wrong data";
    meet(me, 2 * i + 2);
    if (me == 0) MPI_Type_free(&type);
  }
  return (void*)wrong;
}

void part_type_threads(void) {
  pthread_t other;
  void* theirs = NULL;
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    MPI_Barrier(comms[i]);
  }
  pthread_create(&other, NULL, meet_types, (void*)(intptr_t)1);
  void* const mine = meet_types(NULL);
  pthread_join(other, &theirs);
  EXPECT(mine == NULL && theirs == NULL, "%s", (char*)(mine ? mine : theirs));
  for (int i = 0; i < 2; ++i) MPI_Comm_free(&comms[i]);
}

static atomic_int barrier_over;

static void* wait_in_a_barrier(void* unused) {
  (void)unused;
  MPI_Barrier(MPI_COMM_WORLD);
  atomic_store(&barrier_over, 1);
  pause(); /* a cancellation point */
  return NULL;
}

/* A thread that is cancelled while it waits in a call ends after that call. */
void part_cancelled_threads(void) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    pthread_t other;
    void* end = NULL;
    pthread_create(&other, NULL, wait_in_a_barrier, NULL);
    usleep(300000); /* by then it sleeps */
    pthread_cancel(other);
    pthread_join(other, &end);
    EXPECT(end == PTHREAD_CANCELED && atomic_load(&barrier_over), "the barrier was %sover",
           atomic_load(&barrier_over) ? "" : "not ");
  } else {
    usleep(1000000);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  int sum = 0;
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT(sum == ranks * (ranks - 1) / 2, "a sum of %d", sum);
}
