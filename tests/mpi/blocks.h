/* Blocks of pairs of ints, for programs that test calls which move data. Each rank knows what every other one gives. */
#pragma once
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kMost = 32, kLongest = 20000, kBytes = 16 * (kLongest + 2) };

static int rank, ranks;
static MPI_Datatype gapped; /* a pair of ints, and a gap as long as one */

static void fail(const char* what, const char* where) {
  fprintf(stderr, "rank %d: %s: %s\n", rank, where, what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned mixed(unsigned a, unsigned b, unsigned c) {
  unsigned bits = a * 2654435761u + b * 40503u + c * 9176u;
  bits ^= bits >> 15;
  return bits * 2246822519u >> 7;
}

/* One side of a call: blocks that are dense or have gaps in every pair. */
struct side {
  int blocks, counts[kMost], places[kMost], places_in_bytes[kMost];
  MPI_Aint bytes[kMost]; /* the places in bytes */
  MPI_Datatype types[kMost];
  unsigned char* memory;
};

static int pair_bytes(MPI_Datatype type) { return type == gapped ? 12 : 8; }

/* The blocks follow one another. Or the last one comes first, and there are gaps. Then each may have a type of its own. */
enum order { kInRow, kBackwards, kOfOwnTypes };

static void lay_out(struct side* side, enum order order, int blocks, const int* pairs, int gaps) {
  side->blocks = blocks;
  int at = 0; /* in pairs */
  for (int i = 0; i < blocks; ++i) {
    const int b = order == kInRow ? i : blocks - 1 - i, by_itself = order == kOfOwnTypes && (b + rank) % 2 == 0;
    side->types[b] = gaps != by_itself ? gapped : MPI_INT;
    side->counts[b] = side->types[b] == gapped ? pairs[b] : 2 * pairs[b];
    side->places[b] = side->types[b] == gapped ? at : 2 * at;
    side->places_in_bytes[b] = order == kOfOwnTypes ? 12 * at : at * pair_bytes(side->types[b]);
    side->bytes[b] = side->places_in_bytes[b];
    at += pairs[b] + (order == kInRow ? 0 : 2);
  }
}

static void write_block(unsigned char* memory, const struct side* side, int b, int pairs, int from, int to) {
  for (int k = 0; k < pairs; ++k) {
    const int values[2] = {from * 1000003 + to * 10007 + k, k * 31 + from};
    memcpy(memory + side->bytes[b] + k * pair_bytes(side->types[b]), values, sizeof values);
  }
}

/* The end of a case: makes a call that is blocking (form 0), started (1) or persistent. It needs a `request`. */
#if MPI_VERSION >= 4
#define PERSISTENT(comm, name, ...)                                                       \
  MPI_##name##_init(__VA_ARGS__, comm, MPI_INFO_NULL, &request);                          \
  for (int i = 0; i < 2; ++i) MPI_Start(&request), MPI_Wait(&request, MPI_STATUS_IGNORE); \
  MPI_Request_free(&request)
#else
#define PERSISTENT(comm, name, ...) MPI_##name(__VA_ARGS__, comm)
#endif
#define CALL(form, comm, name, stem, ...)     \
  if ((form) == 0) {                          \
    MPI_##name(__VA_ARGS__, comm);            \
  } else if ((form) == 1) {                   \
    MPI_I##stem(__VA_ARGS__, comm, &request); \
    MPI_Wait(&request, MPI_STATUS_IGNORE);    \
  } else {                                    \
    PERSISTENT(comm, name, __VA_ARGS__);      \
  }                                           \
  break
