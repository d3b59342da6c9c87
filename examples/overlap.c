/* Nonblocking calls, and work while they are under way: a distributed sample sort. Every thread draws numbers. The
 * threads tell one another how many numbers go to whom. While the numbers travel, each thread adds up its own.
 *
 *     build/release/bin/example-overlap          # prints the least and the greatest number of each rank
 */
#include <copse/copse.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kRanks = 4, kCount = 200000 };

static copse_meeting* meeting;

static void check(copse_comm* comm, copse_status status) {
  if (status == COPSE_OK) return;
  fprintf(stderr, "rank %d: %s: %s\n", copse_comm_rank(comm), copse_status_text(status), copse_comm_message(comm));
  exit(1);
}

static int ascending(const void* a, const void* b) {
  const uint32_t left = *(const uint32_t*)a, right = *(const uint32_t*)b;
  return (left > right) - (left < right);
}

static void sort_with_others(copse_comm* comm, const uint32_t* mine) {
  const int rank = copse_comm_rank(comm);
  const uint32_t step = UINT32_MAX / kRanks + 1; /* rank r gets the numbers from r * step on */

  /* 1. Sort the numbers by receiver. Meanwhile every rank tells every other rank how much it will send. */
  size_t gives[kRanks] = {0}, gets[kRanks], at[kRanks];
  for (int i = 0; i < kCount; ++i) gives[mine[i] / step] += sizeof *mine;
  copse_request* sizes;
  check(comm, copse_start_alltoall(comm, gives, gets, sizeof(size_t), &sizes));
  uint32_t* ordered = malloc(kCount * sizeof *ordered);
  if (ordered == NULL) exit(1);
  for (size_t r = 0, begin = 0; r < kRanks; begin += gives[r++]) at[r] = begin / sizeof *mine;
  for (int i = 0; i < kCount; ++i) ordered[at[mine[i] / step]++] = mine[i];
  check(comm, copse_wait(&sizes));

  /* 2. Send the numbers, and then their sum. Two calls are under way at once; the first is tested now and then. */
  size_t bytes = 0;
  for (int r = 0; r < kRanks; ++r) bytes += gets[r];
  uint32_t* sorted = malloc(bytes);
  if (sorted == NULL) exit(1);
  copse_request* requests[2];
  check(comm, copse_start_alltoallv(comm, ordered, gives, NULL, sorted, gets, NULL, &requests[0]));
  uint64_t before = 0, after = 0, sum_before, sum_after;
  int done = 0;
  for (int i = 0; i < kCount; ++i) {
    before += mine[i];
    if (i % 10000 == 0) check(comm, copse_test(&requests[0], &done)); /* calls like this one move it on */
  }
  check(comm, copse_start_allreduce(comm, &before, &sum_before, 1, COPSE_UINT64, COPSE_SUM, &requests[1]));
  check(comm, copse_wait_all(2, requests));

  /* 3. Check that no number is lost and that all are on the right rank. */
  const size_t count = bytes / sizeof *sorted;
  qsort(sorted, count, sizeof *sorted, ascending);
  for (size_t i = 0; i < count; ++i) after += sorted[i];
  check(comm, copse_allreduce(comm, &after, &sum_after, 1, COPSE_UINT64, COPSE_SUM));
  if (sum_before != sum_after || count == 0 || sorted[0] / step != (uint32_t)rank || sorted[count - 1] / step != (uint32_t)rank) {
    fprintf(stderr, "rank %d: numbers were lost or went astray\n", rank);
    exit(1);
  }
  printf("rank %d: %zu numbers from %u to %u\n", rank, count, sorted[0], sorted[count - 1]);
  free(sorted);
  free(ordered);
}

static void* work(void* argument) {
  const int rank = *(const int*)argument;
  copse_comm* comm = NULL;
  check(NULL, copse_comm_create_threads(meeting, rank, &comm));
  uint32_t* mine = malloc(kCount * sizeof *mine);
  if (mine == NULL) exit(1);
  uint32_t state = 2463534242U + (uint32_t)rank;
  for (int i = 0; i < kCount; ++i) {
    state ^= state << 13, state ^= state >> 17, state ^= state << 5; /* xorshift */
    mine[i] = state;
  }
  sort_with_others(comm, mine);
  free(mine);
  copse_comm_free(comm);
  return NULL;
}

int main(void) {
  check(NULL, copse_meeting_create(kRanks, &meeting));
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
