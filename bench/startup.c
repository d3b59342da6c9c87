/* A program that only initialises and finalises the MPI, for bench/startup.py: startup
 * or a short program that makes many communicators: startup KIND COMMUNICATORS
 *
 * It calls MPI_Allreduce of 8 bytes on the world, and then duplicates the world, calls it on the duplicate, and frees that, so many
 * times. KIND is integers or doubles: what is added. Rank 0 prints us: the first allreduce, the median of MPI_Comm_dup with an
 * allreduce, and the median of MPI_Comm_free, each by the rank that took longest; and the mean resident set of a rank in kB. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "meet.h"

static int doubles;

static void call(MPI_Comm comm) {
  long long one = 1, sum;
  double real = 1, real_sum;
  if (doubles) MPI_Allreduce(&real, &real_sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  else MPI_Allreduce(&one, &sum, 1, MPI_LONG_LONG, MPI_SUM, comm);
}

static double resident(void) {
  char line[256];
  double kilobytes = 0;
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmRSS:", 6) == 0) kilobytes = atof(line + 6);
  if (status != NULL) fclose(status);
  return kilobytes;
}

static int in_order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static double median(double* values, int count) {
  qsort(values, (size_t)count, sizeof *values, in_order);
  return count > 0 ? values[count / 2] : 0;
}

static void short_program(int communicators) {
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int count = 1 + 2 * communicators; /* times: the first call, then making, then freeing */
  double* const times = calloc((size_t)count, sizeof *times);
  double* const most = calloc((size_t)count, sizeof *most);
  double *const making = times + 1, *const freeing = making + communicators;
  meet(rank, ranks);
  double before = MPI_Wtime();
  call(MPI_COMM_WORLD);
  times[0] = MPI_Wtime() - before;
  for (int i = 0; i < communicators; ++i) {
    MPI_Comm comm;
    before = MPI_Wtime();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    call(comm);
    const double made = MPI_Wtime();
    MPI_Comm_free(&comm);
    making[i] = made - before, freeing[i] = MPI_Wtime() - made;
  }
  const double kilobytes = resident();
  double sum;
  PMPI_Reduce(times, most, count, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  PMPI_Reduce(&kilobytes, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%.3f %.3f %.3f %.0f\n", 1e6 * most[0], 1e6 * median(most + 1, communicators),
           1e6 * median(most + 1 + communicators, communicators), sum / ranks);
  free(times), free(most);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc == 3) {
    doubles = strcmp(argv[1], "doubles") == 0;
    short_program(atoi(argv[2]));
  }
  MPI_Finalize();
  return 0;
}
