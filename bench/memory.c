/* Makes communicators, calls allreduces on each, and says what memory the ranks have then: memory COMMUNICATORS [CALLS]
 *
 * CALLS is how many calls of each short size are made on each communicator. Rank 0 prints kB: the mean and the largest proportional
 * share (Pss), resident set (Rss) and page tables (VmPTE) of a rank. Pages that several ranks map count in each resident set, and
 * once in all shares together. The page tables are the kernel's, for each rank alone, and in none of these sets. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kFigures = 3 };

static const char* const names[kFigures] = {"Pss:", "Rss:", "VmPTE:"};
static int calls = 100;

static void read_figures(const char* from, double* figures) {
  char line[256];
  FILE* const file = fopen(from, "r");
  if (file == NULL) return;
  while (fgets(line, sizeof line, file) != NULL)
    for (int i = 0; i < kFigures; ++i)
      if (strncmp(line, names[i], strlen(names[i])) == 0) figures[i] = atof(line + strlen(names[i]));
  fclose(file);
}

static void call(MPI_Comm comm) {
  double mine[32] = {1}, sum[32]; /* of 8 and 256 bytes, and of 64 KiB */
  static double many[8192], sums[8192];
  for (int i = 0; i < calls; ++i) {
    MPI_Allreduce(mine, sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    MPI_Allreduce(mine, sum, 32, MPI_DOUBLE, MPI_SUM, comm);
  }
  MPI_Allreduce(many, sums, 8192, MPI_DOUBLE, MPI_SUM, comm);
}

int main(int argc, char** argv) {
  int rank, ranks;
  double figures[kFigures] = {0}, sum[kFigures], most[kFigures];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int communicators = argc > 1 ? atoi(argv[1]) : 1;
  if (argc > 2) calls = atoi(argv[2]);
  MPI_Comm* const comms = calloc((size_t)communicators, sizeof *comms);
  for (int i = 0; i < communicators; ++i) {
    if (i == 0) comms[i] = MPI_COMM_WORLD;
    else MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    call(comms[i]);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  read_figures("/proc/self/smaps_rollup", figures);
  read_figures("/proc/self/status", figures);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Reduce(figures, sum, kFigures, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Reduce(figures, most, kFigures, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < kFigures; ++i) printf("%.0f %.0f%c", sum[i] / ranks, most[i], i + 1 < kFigures ? ' ' : '\n');
  for (int i = 1; i < communicators; ++i) MPI_Comm_free(&comms[i]);
  free(comms);
  MPI_Finalize();
  return 0;
}
