/* What a call costs that Copse passes on to the MPI: nanoseconds of the cheapest calls that it wraps.
 *
 *   barrier_self, allreduce_self  on MPI_COMM_SELF; passed on when COPSE_DISABLE=1
 *   bcast_intercomm               on an intercommunicator, which Copse never serves, in the root's group but not the
 *                                 root: a call without effect. Needs 3 ranks; the other two sleep meanwhile.
 *
 * Run it bare and preloaded in turn, several times, and subtract the minima: bench/passthrough.py does.
 * Output is CSV on rank 1: call,ns (the minimum over batches). */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { kBatches = 200, kCalls = 1000, kWarmUp = 100, kSleepMicroseconds = 300000 };

static MPI_Comm across;

static void barrier_self(void) { MPI_Barrier(MPI_COMM_SELF); }

static void allreduce_self(void) {
  double in = 1, out;
  MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}

static void bcast_intercomm(void) {
  double value = 0;
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Bcast(&value, 1, MPI_DOUBLE, rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0, across);
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
  for (int i = 0; i < kWarmUp; ++i) bcast_intercomm();

  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    printf("call,ns\n");
    printf("barrier_self,%.1f\n", measure(barrier_self));
    printf("allreduce_self,%.1f\n", measure(allreduce_self));
    printf("bcast_intercomm,%.1f\n", measure(bcast_intercomm));
    fflush(stdout);
  } else {
    usleep(kSleepMicroseconds);
    for (int i = 0; i < kBatches * kCalls; ++i) bcast_intercomm();
  }
  MPI_Comm_free(&across);
  MPI_Comm_free(&side);
  MPI_Finalize();
  return 0;
}
