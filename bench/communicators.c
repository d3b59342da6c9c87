/* Takes the time of whole lives of communicators: communicators KIND ROUNDS CALLS...
 *
 * KIND says how they are made: dup, halves (MPI_Comm_split of the world), grid (a row and a column for each rank, whose calls
 * alternate), or self (MPI_Comm_split of MPI_COMM_SELF). Each life is: make, CALLS allreduces of 8 bytes, free. With "-doubles"
 * behind KIND, they add doubles, and with "-barriers" they are barriers. With `first`, the program makes its first CALLS calls on
 * the world, once, and takes their times.
 *
 * For each number of calls, rank 0 prints: calls, the shortest and the median of the rounds in microseconds, the sum of all rounds
 * in seconds, and by how many kB and open files the rank grew that grew most. A round takes as long as its slowest rank. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, doubles, barriers;

static void call(MPI_Comm comm) {
  if (barriers) {
    MPI_Barrier(comm);
    return;
  }
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
  } else if (strncmp(kind, "self", 4) == 0) {
    MPI_Comm_split(MPI_COMM_SELF, 0, 0, &comms[0]);
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

/* The largest of all ranks' values, on rank 0. */
static double largest(double mine) {
  double all;
  PMPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return all;
}

/* What a rank holds: its resident kB and its open files. */
static void read_held(double* held) {
  char line[256];
  FILE* const status = fopen("/proc/self/status", "r");
  while (status != NULL && fgets(line, sizeof line, status) != NULL)
    if (strncmp(line, "VmRSS:", 6) == 0) held[0] = atof(line + 6);
  if (status != NULL) fclose(status);
  DIR* const folder = opendir("/proc/self/fd");
  held[1] = 0;
  while (folder != NULL && readdir(folder) != NULL) ++held[1];
  if (folder != NULL) closedir(folder);
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
    const double all = largest(at[i]);
    if (rank == 0) printf("%s %.3f %.3f %.6f 0 0\n", numbers[i], 1e6 * all, 1e6 * all, all);
  }
  free(at);
}

static void lives(const char* kind, int rounds, const char* calls, double* times) {
  double before[2] = {0}, held[2] = {0}, grown[2], sum = 0;
  for (int round = 0; round < rounds; ++round) times[round] = -1; /* so that its pages are no growth */
  life(kind, atoi(calls));                                        /* not counted */
  read_held(before);
  for (int round = 0; round < rounds; ++round) sum += times[round] = largest(life(kind, atoi(calls)));
  read_held(held);
  for (int i = 0; i < 2; ++i) grown[i] = largest(held[i] - before[i]);
  if (rank != 0) return;
  qsort(times, (size_t)rounds, sizeof *times, in_order);
  printf("%s %.3f %.3f %.6f %.0f %.0f\n", calls, 1e6 * times[0], 1e6 * times[rounds / 2], sum, grown[0], grown[1]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const kind = argc > 3 ? argv[1] : "dup";
  doubles = strstr(kind, "-doubles") != NULL, barriers = strstr(kind, "-barriers") != NULL;
  const int rounds = argc > 3 ? atoi(argv[2]) : 10;
  if (argc > 3 && strncmp(kind, "first", 5) == 0) {
    first_calls(argc - 3, argv + 3);
  } else {
    double* const times = calloc((size_t)rounds, sizeof *times);
    for (int i = 3; i < argc; ++i) lives(kind, rounds, argv[i], times);
    free(times);
  }
  MPI_Finalize();
  return 0;
}
