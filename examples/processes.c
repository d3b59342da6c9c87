/* Processes as ranks, which meet by a name and without any MPI. Rank 0 broadcasts a line, and all ranks find the
 * greatest process number among them.
 *
 *     build/release/bin/example-processes NAME RANK RANKS       # runs one rank; start each in a shell of its own
 *     build/release/bin/example-processes                       # starts four ranks
 */
#include <copse/copse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_rank(const char* name, int rank, int ranks) {
  const double timeout_seconds = 30;
  copse_comm* comm = NULL;
  if (copse_comm_join(name, rank, ranks, timeout_seconds, &comm) != COPSE_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, copse_comm_message(NULL));
    return 1;
  }
  char line[64] = "";
  if (rank == 0) snprintf(line, sizeof line, "greetings from process %d", (int)getpid());
  const int64_t mine = getpid();
  int64_t greatest = 0;
  if (copse_broadcast(comm, line, sizeof line, 0) != COPSE_OK ||
      copse_allreduce(comm, &mine, &greatest, 1, COPSE_INT64, COPSE_MAX) != COPSE_OK || copse_barrier(comm) != COPSE_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, copse_comm_message(comm));
    return 1;
  }
  printf("rank %d of %d: %s; the greatest is %lld\n", rank, ranks, line, (long long)greatest);
  copse_comm_free(comm);
  return strncmp(line, "greetings", 9) == 0 && greatest >= mine ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc == 4) return run_rank(argv[1], atoi(argv[2]), atoi(argv[3]));
  if (argc != 1) {
    fprintf(stderr, "usage: %s [NAME RANK RANKS]\n", argv[0]);
    return 2;
  }
  enum { kRanks = 4 };
  char name[40];
  snprintf(name, sizeof name, "example-%d", (int)getpid());
  for (int rank = 0; rank < kRanks; ++rank) {
    const pid_t child = fork();
    if (child < 0) return 1;
    if (child == 0) return run_rank(name, rank, kRanks);
  }
  int failed = 0, status = 0;
  while (wait(&status) > 0) failed += status != 0;
  return failed != 0;
}
