/* Trials: single calls with known results, on communicators of every kind.
 *
 * A trial is made, filled and issued, and checked when its requests are complete. Some choices must be the same on
 * all ranks (the first members of struct trial). Each rank chooses for itself how data lie in memory. */
#ifndef TRIALS_H
#define TRIALS_H

#include "collectives.h"

/* A communicator, and what its calls must know. Ranks have numbers that differ between the two groups of an
 * intercommunicator: base + rank here, and peer_base + rank on the other side. On other communicators both are
 * equal. */
enum kind { kWorld, kSelf, kDup, kSplit, kCreate, kCreateGroup, kCart, kGraph, kSession, kInter, kMerged, kKinds };
extern const char* const kind_names[kKinds];
enum { kNeighbours = 6 };
struct room {
  enum kind kind;
  MPI_Comm comm; /* MPI_COMM_NULL if this rank is not a member */
  int me, size, peers, base, peer_base;
  int sources, destinations, source[kNeighbours], destination[kNeighbours]; /* of neighbourhood calls; may be MPI_PROC_NULL */
  int met;                                                                  /* Copse can have met */
  int of_session;                                                           /* it, or what it was made from */
#if HAS_SESSIONS
  MPI_Session session;
#endif
};
/* Collective over the parent, which must not be an intercommunicator; for a session it is collective over the world.
 * Falls back to another kind if the parent or the MPI cannot have this one. */
void open_room(struct room* room, enum kind kind, const struct room* parent, unsigned seed);
void close_room(struct room* room, unsigned seed);

enum call {
  kBarrier,
  kBcast,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
  kAlltoallv,
  kAlltoallw,
  kNeighborAllgather,
  kNeighborAllgatherv,
  kNeighborAlltoall,
  kNeighborAlltoallv,
  kNeighborAlltoallw,
  kMessage,
  kMoves, /* and the reductions: */
  kAllreduce = kMoves,
  kReduce,
  kReduceScatter,
  kReduceScatterBlock,
  kScan,
  kExscan,
  kCalls
};
extern const char* const call_names[kCalls];

/* One side of one rank's call: blocks of items in a buffer. */
struct side {
  int blocks, items[kRanksMax];
  const struct layout* layout[kRanksMax];
  MPI_Datatype types[kRanksMax];
  int counts[kRanksMax], displacements[kRanksMax];
  MPI_Count large_counts[kRanksMax];
  MPI_Aint large_displacements[kRanksMax];
  ptrdiff_t offsets[kRanksMax]; /* of the blocks' first elements, in bytes from `start` */
  unsigned char *memory, *start;
  size_t bytes;
  void* buffer; /* what MPI gets */
};

struct trial {
  enum call call;
  const struct room* room;
  int root, length, in_place, large; /* length: the most items in a block */
  unsigned seed;
  enum form form; /* the same on all ranks up to here */
  long values;    /* which data: all ranks alike */
  int root_base, base_type;
  int lone;   /* in the root's group of an intercommunicator, and not the root */
  int theirs; /* the MPI's own call */
  struct side send, receive;
  unsigned char *sent, *want;
  struct algebra* algebra; /* of a reduction */
  int requests;
  MPI_Request request[2];
};

/* Replaces what the room or the MPI cannot have (the call, in place or not, the root) in the same way on all ranks. */
struct trial* make_trial(enum call call, enum form form, const struct room* room, int root, int length, int in_place, int large,
                         unsigned seed);
/* Fills the buffers again, before a trial is issued and before a persistent one is started again. */
void fill_trial(struct trial* trial, long values);
void issue_trial(struct trial* trial);
void check_trial(const struct trial* trial);
/* Call this after the first call in which Copse may have met. Calls that are started before that go to the MPI. */
void note_meeting(struct room* room, const struct trial* trial);
void free_trial(struct trial* trial);
/* The digest of all that was received. It does not depend on the order of checks. */
extern uint64_t digest;
void add_to_digest(uint64_t hash, long values);

/* The parts of moves.c and reductions.c in making a trial. */
void make_move(struct trial* trial);
void fill_move(struct trial* trial);
int issue_move(struct trial* trial, MPI_Request* request);
int move_is_right(const struct trial* trial);
void make_reduction(struct trial* trial);
void fill_reduction(struct trial* trial);
int issue_reduction(struct trial* trial);
int reduction_is_right(const struct trial* trial);
const char* describe_reduction(const struct trial* trial);

static inline unsigned mixed(uint64_t a, uint64_t b, uint64_t c) { /* the same on all ranks, without a state */
  uint64_t z = (a * 0x9e3779b97f4a7c15u ^ b) * 0xbf58476d1ce4e5b9u ^ c;
  z = (z ^ z >> 31) * 0x94d049bb133111ebu;
  return (unsigned)(z >> 33);
}

#endif
