/* Programs whose first calls the MPI makes, before Copse begins (test_late.py). late PART [N]; each rank says that it is
 * right. The results are known, whoever makes a call. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBlock = 16384, kThreads = 3 };

static int rank, ranks, wrong;

static void expect(int yes, const char* what, int where) {
  if (yes) return;
  ++wrong;
  printf("rank %d: wrong %s in call %d\n", rank, what, where);
}

/* One call of each kind by turns, with its result. */
static void make_call(MPI_Comm comm, int number) {
  int me, all, in, out = -1, many[64];
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &all);
  in = number + me;
  const int sum = all * number + all * (all - 1) / 2, root = number % all;
  switch (number % 6) {
    case 0: MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm), expect(out == sum, "sum", number); break;
    case 1: in = me == root ? number : -1, MPI_Bcast(&in, 1, MPI_INT, root, comm), expect(in == number, "broadcast", number); break;
    case 2:
      MPI_Reduce(&in, &out, 1, MPI_INT, MPI_MAX, root, comm), expect(me != root || out == number + all - 1, "maximum", number);
      break;
    case 3:
      MPI_Allgather(&in, 1, MPI_INT, many, 1, MPI_INT, comm);
      for (int i = 0; i < all; ++i) expect(many[i] == number + i, "gathered", number);
      break;
    case 4:
      out = in, MPI_Allreduce(MPI_IN_PLACE, &out, 1, MPI_INT, MPI_SUM, comm), expect(out == sum, "sum in place", number);
      break;
    default: MPI_Barrier(comm);
  }
}

/* N calls on a dup, on halves, and again on the world. */
static void switched(int calls) {
  MPI_Comm dup, half;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int i = 0; i < calls; ++i) make_call(dup, i), make_call(half, i), make_call(MPI_COMM_WORLD, i);
  MPI_Comm_free(&dup);
  MPI_Comm_free(&half);
}

/* Started calls are pending on both sides of the first call that Copse makes. */
static void mixed(int calls) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  for (int i = 0; i < calls; ++i) {
    MPI_Request pending[3];
    int sum = 0, given = rank == i % ranks ? i : -1, in = i + rank;
    static char large[kBlock];
    if (rank == 0) memset(large, i, kBlock);
    MPI_Iallreduce(&in, &sum, 1, MPI_INT, MPI_SUM, dup, &pending[0]);
    MPI_Ibcast(&given, 1, MPI_INT, i % ranks, dup, &pending[1]);
    MPI_Ibcast(large, kBlock, MPI_BYTE, 0, dup, &pending[2]);
    if (rank % 2 == 0) make_call(dup, i), MPI_Waitall(3, pending, MPI_STATUSES_IGNORE);
    else
      MPI_Wait(&pending[1], MPI_STATUS_IGNORE), make_call(dup, i), MPI_Wait(&pending[2], MPI_STATUS_IGNORE),
          MPI_Wait(&pending[0], MPI_STATUS_IGNORE);
    expect(sum == ranks * i + ranks * (ranks - 1) / 2 && given == i && large[kBlock - 1] == (char)i, "started call", i);
  }
  MPI_Comm_free(&dup);
}

static double third(int i) { return 1.0 / (3 + 7 * rank + i % 5) * (rank % 2 ? 1e8 : 1e-8); }

/* The same reduction gives the same bits in every call, whoever makes the others. */
static void bits(int calls, int started) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  double first[64], in[64], out[64];
  for (int i = 0; i < 64; ++i) in[i] = third(i);
  for (int call = 0; call < calls; ++call) {
    MPI_Request request;
    if (call > 0) make_call(dup, 3), make_call(dup, 5);
    if (started) MPI_Iallreduce(in, out, 64, MPI_DOUBLE, MPI_SUM, dup, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    else MPI_Allreduce(in, out, 64, MPI_DOUBLE, MPI_SUM, dup);
    if (call == 0) memcpy(first, out, sizeof out);
    expect(memcmp(first, out, sizeof out) == 0, "bits", call);
  }
  MPI_Comm_free(&dup);
}

/* A persistent call is meant to be made often. */
static void persistent(int calls) {
  MPI_Comm dup;
  MPI_Request request;
  int in, out;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Allreduce_init(&in, &out, 1, MPI_INT, MPI_SUM, dup, MPI_INFO_NULL, &request);
  for (int i = 0; i < calls; ++i) {
    in = i + rank;
    MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(out == ranks * i + ranks * (ranks - 1) / 2, "persistent sum", i);
  }
  MPI_Request_free(&request);
  MPI_Comm_free(&dup);
}

/* Handles come back: some of these communicators live long enough, and some do not. */
static void reused(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm comm;
    if (round % 3 == 0) MPI_Comm_split(MPI_COMM_WORLD, rank == round % ranks, rank, &comm);
    else MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i <= round % 9; ++i) make_call(comm, i);
    if (round % 2 == 0) MPI_Comm_free(&comm);
    else PMPI_Comm_free(&comm);
  }
}

/* All ranks give what MPI forbids, and go on. */
static void mistaken(int calls) {
  MPI_Comm dup;
  MPI_Comm_dup(MPI_COMM_WORLD, &dup);
  MPI_Comm_set_errhandler(dup, MPI_ERRORS_RETURN);
  for (int i = 0; i < calls; ++i) {
    int in = 1, out = 0;
    expect(MPI_Bcast(&in, 1, MPI_INT, ranks + 7, dup) != MPI_SUCCESS, "root that was not refused", i);
    expect(MPI_Allreduce(&in, &out, -1, MPI_INT, MPI_SUM, dup) != MPI_SUCCESS, "count that was not refused", i);
    make_call(dup, i);
  }
  MPI_Comm_free(&dup);
}

static pthread_barrier_t gate;
static MPI_Comm of_thread[kThreads];
static void* work(void* number) {
  const long me = (long)number;
  pthread_barrier_wait(&gate);
  for (int i = 0; i < 400; ++i) make_call(of_thread[me], i);
  return NULL;
}
static void threads(void) {
  pthread_t all[kThreads];
  pthread_barrier_init(&gate, NULL, kThreads);
  for (long i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[i]);
  for (long i = 0; i < kThreads; ++i) pthread_create(&all[i], NULL, work, (void*)i);
  for (long i = 0; i < kThreads; ++i) pthread_join(all[i], NULL);
  for (long i = 0; i < kThreads; ++i) MPI_Comm_free(&of_thread[i]);
}

/* Calls that cost the MPI much: Copse begins by itself. */
static void dear(int calls) {
  static char block[kBlock * 4];
  for (int i = 0; i < calls; ++i) {
    if (rank == 0) block[i % kBlock] = (char)i;
    MPI_Bcast(block, sizeof block, MPI_BYTE, 0, MPI_COMM_WORLD);
    expect(block[i % kBlock] == (char)i, "broadcast", i);
  }
}

static long kilobytes(void) {
  long total, resident;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%ld %ld", &total, &resident) != 2) exit(1);
  fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Communicators of one rank, each with calls. */
static void alone(int many) {
  long before = 0;
  for (int i = 0; i < many; ++i) {
    MPI_Comm own;
    if (i == many / 10) before = kilobytes();
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &own);
    make_call(own, i);
    MPI_Comm_free(&own);
  }
  const long grown = kilobytes() - before;
  printf("rank %d grew by %ld KiB\n", rank, grown);
  expect(grown < 1024, "growth", many);
}

int main(int argc, char** argv) {
  const char* part = argc > 1 ? argv[1] : "";
  const int n = argc > 2 ? atoi(argv[2]) : 100;
  int level;
  MPI_Init_thread(NULL, NULL, strcmp(part, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (strcmp(part, "switched") == 0) switched(n);
  else if (strcmp(part, "mixed") == 0) mixed(n);
  else if (strcmp(part, "bits") == 0) bits(n, 0);
  else if (strcmp(part, "started-bits") == 0) bits(n, 1);
  else if (strcmp(part, "persistent") == 0) persistent(n);
  else if (strcmp(part, "reused") == 0) reused(n);
  else if (strcmp(part, "mistaken") == 0) mistaken(n);
  else if (strcmp(part, "threads") == 0) threads();
  else if (strcmp(part, "dear") == 0) dear(n);
  else if (strcmp(part, "alone") == 0) alone(n);
  else ++wrong;
  if (wrong == 0) printf("rank %d is right\n", rank), fflush(stdout);
  return MPI_Finalize();
}
