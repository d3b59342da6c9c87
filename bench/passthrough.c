/* Measures what a call costs that Copse passes on to the MPI, in nanoseconds, for the cheapest calls that it wraps.
 *
 * passthrough collectives:
 *   barrier_self, allreduce_self  on MPI_COMM_SELF, which Copse never serves
 *   reduce_intercomm              on an intercommunicator, where Copse never makes reductions. The rank is in the root's group
 *                                 but is not the root, so the call has no effect. Needs 3 ranks; the other two sleep.
 * passthrough messages: to and from MPI_PROC_NULL, and on null requests. The calls run first without any request of
 *   Copse's, then ("known") with a persistent barrier, which is Copse's unless the program runs bare.
 *
 * bench/passthrough.py runs it bare and preloaded, in turn and several times, and subtracts the minima.
 * Output is CSV on rank 1: call,ns (the minimum over batches). */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { kBatches = 200, kCalls = 1000, kWarmUp = 100, kSleepMicroseconds = 300000 };

static MPI_Comm across;

static void barrier_self(void) { MPI_Barrier(MPI_COMM_SELF); }

static void allreduce_self(void) {
  double in = 1, out;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void reduce_intercomm(void) {
  double in = 0, out = 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Reduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0, across);
}

static void send_none(void) { MPI_Send(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); }
static void recv_none(void) { MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE); }

static void isend_wait(void) {
  MPI_Request request;
  MPI_Isend(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void wait_null(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Wait(&none, MPI_STATUS_IGNORE);
}

static void test_null(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  int flag;
  MPI_Test(&none, &flag, MPI_STATUS_IGNORE);
}

static MPI_Request persistent;
static void start_wait(void) {
  MPI_Start(&persistent);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static double measure(void (*call)(void)) {
  double best = 1e9;
  for (int batch = 0; batch < kBatches; ++batch) {
    const double start = MPI_Wtime();
    for (int i = 0; i < kCalls; ++i) call();
    const double ns = (MPI_Wtime() - start) / kCalls * 1e9;
    if (ns < best) best = ns;
  }
  return best;
}

#define PRINT(call, when) printf(#call when ",%.1f\n", measure(call))
#define PRINT_MESSAGES(when)                                                                                               \
  PRINT(send_none, when), PRINT(recv_none, when), PRINT(isend_wait, when), PRINT(wait_null, when), PRINT(test_null, when), \
      PRINT(start_wait, when)

static void messages(int rank) {
  MPI_Request known;
  MPI_Send_init(NULL, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &persistent);
  if (rank == 1) PRINT_MESSAGES("");
  MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &known);
  if (rank == 1) PRINT_MESSAGES(" known");
  MPI_Request_free(&known);
  MPI_Request_free(&persistent);
}

static void collectives(int rank) {
  if (rank == 1) {
    PRINT(barrier_self, ""), PRINT(allreduce_self, ""), PRINT(reduce_intercomm, "");
    fflush(stdout);
    return;
  }
  usleep(kSleepMicroseconds);
  for (int i = 0; i < kBatches * kCalls; ++i) reduce_intercomm();
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (ranks != 3) {
    fprintf(stderr, "passthrough: started with %d ranks; it needs 3\n", ranks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Comm side;
  MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &side);
  MPI_Intercomm_create(side, 0, MPI_COMM_WORLD, rank == 2 ? 0 : 2, 0, &across);
  for (int i = 0; i < kWarmUp; ++i) reduce_intercomm();

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) printf("call,ns\n");
  if (argc > 1 && strcmp(argv[1], "messages") == 0) messages(rank);
  else collectives(rank);
  MPI_Comm_free(&across);
  MPI_Comm_free(&side);
  MPI_Finalize();
  return 0;
}
