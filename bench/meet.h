/* Ranks meet by messages, which no library of collectives sees. So what they call next is their first collective, and all come to
 * it at about the same time. */
#ifndef COPSE_BENCH_MEET_H
#define COPSE_BENCH_MEET_H

#include <mpi.h>
#include <stddef.h>

static void meet(int rank, int ranks) {
  for (int far = 1; far < ranks; far *= 2)
    MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + far) % ranks, 0, NULL, 0, MPI_BYTE, (rank + ranks - far) % ranks, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

#endif
