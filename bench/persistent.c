/* Takes the time and the memory of persistent calls, each an allreduce of 8 bytes: persistent CALLS ASSERTED
 *
 * With ASSERTED 1 the communicator asserts that all ranks start persistent calls in one order. Rank 0 prints the microseconds
 * to initialise and free a call, to start and complete it, and to make the blocking call instead. The last figure is the KiB
 * that a call adds to a rank's share of memory (Pss), without that of files: a rank's share of the libraries changes when any
 * other program starts or ends. A time is the median of the slowest rank's. */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 15, kRuns = 40, kWarm = 3, kFigures = 3 };

static int in_order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double share(void) {
  char line[256];
  double kib = 0;
  FILE* const file = fopen("/proc/self/smaps_rollup", "r");
  while (file != NULL && fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, "Pss_Anon:", 9) == 0 || strncmp(line, "Pss_Shmem:", 10) == 0) kib += atof(strchr(line, ':') + 1);
  }
  if (file != NULL) fclose(file);
  return kib;
}

int main(int argc, char** argv) {
  static double times[kFigures][kRounds];
  int rank, ranks;
  double memory = 0, sum = 0;
  MPI_Comm comm;
  MPI_Info info = MPI_INFO_NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int calls = argc > 1 ? atoi(argv[1]) : 1, asserted = argc > 2 && atoi(argv[2]) != 0;
#if MPI_MAX_INFO_KEY >= 50
  if (asserted) {
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_strict_persistent_collective_ordering", "true");
  }
#endif
  MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &comm);
  if (info != MPI_INFO_NULL) MPI_Info_free(&info);
  MPI_Request* const requests = malloc((size_t)calls * sizeof *requests);
  double *const from = calloc((size_t)calls, sizeof *from), *const to = calloc((size_t)calls, sizeof *to);
  MPI_Allreduce(from, to, 1, MPI_DOUBLE, MPI_SUM, comm);
  for (int round = -kWarm; round < kRounds; ++round) {
    double mine[kFigures], slowest[kFigures], before = 0;
    if (round == -kWarm) before = share();
    MPI_Barrier(comm);
    double start = MPI_Wtime();
    for (int i = 0; i < calls; ++i) MPI_Allreduce_init(&from[i], &to[i], 1, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &requests[i]);
    mine[0] = MPI_Wtime() - start;
    MPI_Barrier(comm);
    start = MPI_Wtime();
    for (int run = 0; run < kRuns; ++run)
      for (int i = 0; i < calls; ++i) {
        MPI_Start(&requests[i]);
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
      }
    mine[1] = (MPI_Wtime() - start) / kRuns;
    if (round == -kWarm) {
      MPI_Barrier(comm);
      memory = share() - before;
    }
    MPI_Barrier(comm);
    start = MPI_Wtime();
    for (int i = 0; i < calls; ++i) MPI_Request_free(&requests[i]);
    mine[0] += MPI_Wtime() - start;
    MPI_Barrier(comm);
    start = MPI_Wtime();
    for (int run = 0; run < kRuns; ++run)
      for (int i = 0; i < calls; ++i) MPI_Allreduce(&from[i], &to[i], 1, MPI_DOUBLE, MPI_SUM, comm);
    mine[2] = (MPI_Wtime() - start) / kRuns;
    MPI_Reduce(mine, slowest, kFigures, MPI_DOUBLE, MPI_MAX, 0, comm);
    for (int i = 0; i < kFigures && round >= 0; ++i) times[i][round] = 1e6 * slowest[i] / calls;
  }
  MPI_Reduce(&memory, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    for (int i = 0; i < kFigures; ++i) {
      qsort(times[i], kRounds, sizeof times[i][0], in_order);
      printf("%.3f ", times[i][kRounds / 2]);
    }
    printf("%.3f\n", sum / ranks / calls);
  }
  MPI_Comm_free(&comm);
  free(requests), free(from), free(to);
  MPI_Finalize();
  return 0;
}
