/* Threads as ranks: four threads of one process add up their vectors.
 *
 *     build/release/bin/example-threads          # prints the sum
 */
#include <copse/copse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 4, kCount = 100000 };

static copse_meeting* meeting;

static void* work(void* argument) {
  const int rank = *(const int*)argument;
  copse_comm* comm = NULL;
  if (copse_comm_create_threads(meeting, rank, &comm) != COPSE_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, copse_comm_message(NULL));
    exit(1);
  }
  double *mine = malloc(kCount * sizeof *mine), *sum = malloc(kCount * sizeof *sum);
  if (mine == NULL || sum == NULL) exit(1);
  for (int i = 0; i < kCount; ++i) mine[i] = rank + i;

  if (copse_allreduce(comm, mine, sum, kCount, COPSE_DOUBLE, COPSE_SUM) != COPSE_OK) {
    fprintf(stderr, "rank %d: %s\n", rank, copse_comm_message(comm));
    exit(1);
  }
  for (int i = 0; i < kCount; ++i) {
    const double expected = kRanks * (kRanks - 1) / 2 + (double)kRanks * i;
    if (sum[i] != expected) {
      fprintf(stderr, "rank %d: sum[%d] is %g, not %g\n", rank, i, sum[i], expected);
      exit(1);
    }
  }
  if (rank == 0) printf("%d threads, %d doubles: sum[0] = %g, sum[%d] = %g\n", kRanks, kCount, sum[0], kCount - 1, sum[kCount - 1]);
  free(sum);
  free(mine);
  copse_comm_free(comm);
  return NULL;
}

int main(void) {
  if (copse_meeting_create(kRanks, &meeting) != COPSE_OK) {
    fprintf(stderr, "%s\n", copse_comm_message(NULL));
    return 1;
  }
  pthread_t threads[kRanks];
  int ranks[kRanks];
  for (int rank = 0; rank < kRanks; ++rank) {
    ranks[rank] = rank;
    if (pthread_create(&threads[rank], NULL, work, &ranks[rank]) != 0) return 1;
  }
  for (int rank = 0; rank < kRanks; ++rank) pthread_join(threads[rank], NULL);
  copse_meeting_free(meeting);
  return 0;
}
