/* Takes the time of whole lives of communicators: communicators KIND ROUNDS CALLS...
 *
 * KIND says how they are made: dup, halves (MPI_Comm_split of the world), or grid (a row and a column for each rank, whose
 * calls alternate). Each life is: make, CALLS allreduces of 8 bytes, free. With "-doubles" behind KIND, they add doubles. With
 * `first`, the program makes its first CALLS calls on the world, once, and takes their times.
 *
 * For each number of calls, rank 0 prints: calls, and the shortest and the median of the rounds in microseconds. A round takes as
 * long as its slowest rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, doubles;

static void call(MPI_Comm comm) {
  long long mine = rank, sum;
  double real = rank, real_sum;
  if (doubles) MPI_Allreduce(&real, &real_sum, 1, MPI_DOUBLE, MPI_SUM, comm);
  else MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, comm);
}

/* The widest grid that is not higher than wide. */
static int columns(void) {
  int height = 1;
  for (int i = 2; i * i <= ranks; ++i)
    if (ranks % i == 0) height = i;
  return ranks / height;
}

static double life(const char* kind, int calls) {
  MPI_Comm comms[2];
  int live = 1;
  MPI_Barrier(MPI_COMM_WORLD);  /* a call of the program's, as others are */
  PMPI_Barrier(MPI_COMM_WORLD); /* on both sides, ranks come from the same barrier */
  const double start = MPI_Wtime();
  if (strncmp(kind, "dup", 3) == 0) {
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[0]);
  } else if (strncmp(kind, "halves", 6) == 0) {
    MPI_Comm_split(MPI_COMM_WORLD, 2 * rank / ranks, rank, &comms[0]);
  } else {
    const int wide = columns();
    MPI_Comm_split(MPI_COMM_WORLD, rank / wide, rank, &comms[0]);
    MPI_Comm_split(MPI_COMM_WORLD, rank % wide, rank, &comms[1]);
    live = 2;
  }
  for (int i = 0; i < calls; ++i) call(comms[i % live]);
  for (int i = 0; i < live; ++i) MPI_Comm_free(&comms[i]);
  return MPI_Wtime() - start;
}

static double slowest(double mine) {
  double all;
  PMPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return all;
}

static int in_order(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void first_calls(int count, char** numbers) {
  double* const at = calloc((size_t)count, sizeof *at);
  int made = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < count; ++i) {
    for (; made < atoi(numbers[i]); ++made) call(MPI_COMM_WORLD);
    at[i] = MPI_Wtime() - start;
  }
  for (int i = 0; i < count; ++i) {
    const double all = slowest(at[i]);
    if (rank == 0) printf("%s %.3f %.3f\n", numbers[i], 1e6 * all, 1e6 * all);
  }
  free(at);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const kind = argc > 3 ? argv[1] : "dup";
  doubles = strstr(kind, "-doubles") != NULL;
  const int rounds = argc > 3 ? atoi(argv[2]) : 10;
  if (argc > 3 && strncmp(kind, "first", 5) == 0) {
    first_calls(argc - 3, argv + 3);
  } else {
    double* const times = calloc((size_t)rounds, sizeof *times);
    for (int i = 3; i < argc; ++i) {
      life(kind, atoi(argv[i])); /* not counted */
      for (int round = 0; round < rounds; ++round) times[round] = slowest(life(kind, atoi(argv[i])));
      if (rank != 0) continue;
      qsort(times, (size_t)rounds, sizeof *times, in_order);
      printf("%s %.3f %.3f\n", argv[i], 1e6 * times[0], 1e6 * times[rounds / 2]);
    }
    free(times);
  }
  MPI_Finalize();
  return 0;
}
