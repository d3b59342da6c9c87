/* Many communicators over several nodes at a time: dups of the world, halves of it, and the world the other way round. Their
 * messages must not meet. Prints "wires: N checks" on rank 0. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMany = 300, kStarted = 64, kRounds = 3 };

static int checks, wrong;

static void check(int got, int expected) {
  ++checks;
  if (got != expected) ++wrong;
}

/* Returns the sum that an allreduce of rank + salt must give on the communicator. */
static int expected_of(MPI_Comm comm, int salt) {
  int ranks;
  MPI_Comm_size(comm, &ranks);
  return ranks * (ranks - 1) / 2 + ranks * salt;
}

static int mine_of(MPI_Comm comm, int salt) {
  int rank;
  MPI_Comm_rank(comm, &rank);
  return rank + salt;
}

static void call(MPI_Comm comm, int salt) {
  int mine = mine_of(comm, salt), sum = 0, ranks, value = mine;
  MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm);
  check(sum, expected_of(comm, salt));
  MPI_Comm_size(comm, &ranks);
  MPI_Bcast(&value, 1, MPI_INT, ranks - 1, comm);
  check(value, ranks - 1 + salt);
}

static void call_all_at_once(MPI_Comm* comms) {
  MPI_Request requests[kStarted];
  int mine[kStarted], sums[kStarted], i;
  for (i = 0; i < kStarted; ++i) {
    mine[i] = mine_of(comms[i], i);
    MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, comms[i], &requests[i]);
  }
  for (i = kStarted - 1; i >= 0; --i) {
    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    check(sums[i], expected_of(comms[i], i));
  }
}

int main(int argc, char** argv) {
  static MPI_Comm comms[kMany];
  MPI_Comm half, round;
  int rank, i, turn;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half); /* before the world is used: it has no communicator to share yet */
  call(half, 5);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &round);
  call(round, 7);
  call(MPI_COMM_WORLD, 9);
  for (i = 0; i < kMany; ++i) MPI_Comm_dup(i % 3 == 1 ? half : i % 3 == 2 ? round : MPI_COMM_WORLD, &comms[i]);
  for (turn = 0; turn < kRounds; ++turn) {
    for (i = kMany - 1; i >= 0; --i) call(comms[i], i);
    call_all_at_once(comms);
    for (i = turn; i < kMany; i += 2) { /* what is freed is used again */
      MPI_Comm_free(&comms[i]);
      MPI_Comm_dup(i % 2 == 0 ? half : MPI_COMM_WORLD, &comms[i]);
    }
  }
  for (i = 0; i < kMany; ++i) MPI_Comm_free(&comms[i]);
  MPI_Comm_free(&half);
  MPI_Comm_free(&round);
  MPI_Reduce(rank == 0 ? MPI_IN_PLACE : &wrong, &wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf(wrong == 0 ? "wires: %d checks\n" : "wires: %d checks, but some are wrong\n", checks);
  MPI_Finalize();
  return wrong == 0 ? 0 : 1;
}
