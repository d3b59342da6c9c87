/* Calls among neighbours, in all forms, with types that differ from rank to rank: neighbors PART. What must come is computed here.
 *
 *   grid      grids of one and two dimensions, with and without ends
 *   graph     graphs: of one direction, with edges to oneself, without edges, in both directions
 *   nested    topologies of communicators that have another one, and communicators of some of their ranks
 *   alone     a rank without neighbours, which may run ahead of two that refuse calls (for three ranks)
 *   sent      how many messages a rank sends for ten calls, with sent.c: in a ring, and if all ranks are neighbours
 *   pairs     pairs of neighbours that exchange blocks of other sizes than other pairs (for an even number of ranks)
 *   differ    ranks that give more than they take, and less, where MPI wants both to be the same: Copse finds what is too long
 *   two       two ranks that give more than they take, or less, as MPI allows (for two ranks)
 *   star      ranks around one, which gives to them and takes nothing: COPSE_CHECK ends it
 *   cut       a block that is longer than its taker has room for, and MPI_IN_PLACE: Copse finds both
 *
 * Every rank prints that it is right. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "blocks.h"

enum call { kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kCalls };
static const char* const names[kCalls] = {"allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

static int sources, destinations, source[kMost], destination[kMost];

/* Pairs of ints in a block. A block that goes to all has no `to`. */
static int pairs_in(enum call call, int length, int from, int to) {
  if (call == kAllgather || call == kAlltoall) return length;
  return mixed((unsigned)from, call == kAllgatherv ? 99u : (unsigned)to, (unsigned)length) % 4 == 0
             ? 0
             : (int)(mixed((unsigned)from, call == kAllgatherv ? 7u : (unsigned)to, 5u) % (unsigned)length) + 1;
}

static void make(MPI_Comm comm, enum call call, int form, struct side* in, struct side* out) {
  MPI_Request request;
  const int sent = in->blocks > 0 ? in->counts[0] : 0, come = out->blocks > 0 ? out->counts[0] : 0;
  const MPI_Datatype from = in->blocks > 0 ? in->types[0] : MPI_INT, to = out->blocks > 0 ? out->types[0] : MPI_INT;
  switch (call) {
    case kAllgather: CALL(form, comm, Neighbor_allgather, neighbor_allgather, in->memory, sent, from, out->memory, come, to);
    case kAllgatherv:
      CALL(form, comm, Neighbor_allgatherv, neighbor_allgatherv, in->memory, sent, from, out->memory, out->counts, out->places, to);
    case kAlltoall: CALL(form, comm, Neighbor_alltoall, neighbor_alltoall, in->memory, sent, from, out->memory, come, to);
    case kAlltoallv:
      CALL(form, comm, Neighbor_alltoallv, neighbor_alltoallv, in->memory, in->counts, in->places, from, out->memory, out->counts,
           out->places, to);
    default:
      CALL(form, comm, Neighbor_alltoallw, neighbor_alltoallw, in->memory, in->counts, in->bytes, in->types, out->memory,
           out->counts, out->bytes, out->types);
  }
}

static void one_call(MPI_Comm comm, enum call call, int form, int length, const char* where) {
  static unsigned char *sent, *kept, *got, *want;
  if (sent == NULL)
    sent = malloc(kBytes * kMost), kept = malloc(kBytes * kMost), got = malloc(kBytes * kMost), want = malloc(kBytes * kMost);
  const int to_all = call <= kAllgatherv, blocks = to_all ? 1 : destinations;
  int given[kMost], taken[kMost];
  for (int b = 0; b < blocks; ++b)
    given[b] = to_all || destination[b] != MPI_PROC_NULL ? pairs_in(call, length, rank, to_all ? 0 : destination[b]) : length;
  for (int b = 0; b < sources; ++b) taken[b] = source[b] == MPI_PROC_NULL ? length : pairs_in(call, length, source[b], rank);
  struct side in = {.memory = sent}, out = {.memory = got};
  const enum order order = call == kAllgather || call == kAlltoall ? kInRow : call == kAlltoallw ? kOfOwnTypes : kBackwards;
  lay_out(&in, order, blocks, given, (rank + (int)call) % 2);
  lay_out(&out, order, sources, taken, (rank / 2 + length) % 2);
  const size_t used = (size_t)(16 * (length + 2) * kMost);
  memset(sent, 0x5A, used), memset(got, 0x6B, used), memset(want, 0x6B, used);
  for (int b = 0; b < blocks; ++b) write_block(sent, &in, b, given[b], rank, to_all ? 0 : destination[b]);
  memcpy(kept, sent, used);
  for (int b = 0; b < sources; ++b)
    if (source[b] != MPI_PROC_NULL) write_block(want, &out, b, taken[b], source[b], to_all ? 0 : rank);
  make(comm, call, form, &in, &out);
  if (memcmp(got, want, used) != 0) fail(names[call], where);
  if (memcmp(sent, kept, used) != 0) fail("the input has changed", where);
}

static void all_calls(MPI_Comm comm, int kind, const char* where) {
  if (kind == MPI_CART) {
    int dimensions;
    MPI_Cartdim_get(comm, &dimensions);
    for (int i = 0; i < dimensions; ++i) MPI_Cart_shift(comm, i, 1, &source[2 * i], &source[2 * i + 1]);
    sources = destinations = 2 * dimensions;
    memcpy(destination, source, sizeof source);
  } else if (kind == MPI_GRAPH) {
    MPI_Graph_neighbors_count(comm, rank, &sources);
    MPI_Graph_neighbors(comm, rank, sources, source);
    destinations = sources;
    memcpy(destination, source, sizeof source);
  } else {
    int weighted, in[kMost], out[kMost];
    MPI_Dist_graph_neighbors_count(comm, &sources, &destinations, &weighted);
    MPI_Dist_graph_neighbors(comm, sources, source, in, destinations, destination, out);
  }
  static const int lengths[] = {1, 3, 40, 900, kLongest};
  for (int form = 0; form < 3; ++form)
    for (int call = 0; call < kCalls; ++call)
      for (int i = 0; i < 5; ++i) one_call(comm, (enum call)call, form, lengths[i], where);
}

static void grid(int dimensions, int ends) {
  int sides[2] = {0, 0}, periods[2] = {!ends, !ends};
  MPI_Comm comm;
  MPI_Dims_create(ranks, dimensions, sides);
  MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, periods, 0, &comm);
  all_calls(comm, MPI_CART, dimensions == 1 ? (ends ? "line" : "ring") : ends ? "grid" : "torus");
  MPI_Comm_free(&comm);
}

/* Rank r gives to those ranks to which has_edge() says so. */
enum { kRing = 0, kAll = 5, kStar = 6 };
static int has_edge(int kind, int from, int to) {
  switch (kind) {
    case 0: return to == (from + 1) % ranks;
    case 1: return mixed((unsigned)from, (unsigned)to, 1u) % 2 == 0;
    case 2: return from == 0;
    case 3: return 0;
    case kAll: return from != to;
    case kStar: return (from == 0) != (to == 0);
    default: return from == to || (from ^ to) == 1;
  }
}

static MPI_Comm with_graph(int kind) {
  int ones[kMost];
  sources = destinations = 0;
  for (int i = ranks - 1; i >= 0; --i) {
    ones[i] = 1;
    if (has_edge(kind, i, rank)) source[sources++] = i;
    if (has_edge(kind, rank, i)) destination[destinations++] = i;
  }
  MPI_Comm comm;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, sources, source, ones, destinations, destination, ones, MPI_INFO_NULL, 0, &comm);
  return comm;
}

static void graph(int kind) {
  MPI_Comm comm = with_graph(kind), again;
  char where[20];
  snprintf(where, sizeof where, "graph %d", kind);
  all_calls(comm, MPI_DIST_GRAPH, where);
  MPI_Comm_dup(comm, &again);
  all_calls(again, MPI_DIST_GRAPH, "the graph's duplicate");
  MPI_Comm_free(&again);
  MPI_Comm_free(&comm);
}

static void count_messages(int kind, enum call call) {
  long before = 0, after = 0;
  MPI_Comm comm = with_graph(kind);
  one_call(comm, call, 0, 3, "counted");
  MPI_Pcontrol(1, &before);
  for (int i = 0; i < 10; ++i) one_call(comm, call, 0, 3, "counted");
  MPI_Pcontrol(1, &after);
  printf("%s, graph %d: %ld messages\n", names[call], kind, after - before);
  MPI_Comm_free(&comm);
}

/* Gives each neighbour `given` numbers, and takes `taken`, of which `come` come. Returns MPI's error class. */
static int exchange(MPI_Comm comm, int given, int taken, int come) {
  int class = MPI_SUCCESS, in[4 * kMost], out[4 * kMost];
  for (int d = 0; d < destinations; ++d)
    for (int i = 0; i < given; ++i) in[d * given + i] = 1000 * rank + 10 * destination[d] + i;
  memset(out, -1, sizeof out);
  const int code = MPI_Neighbor_alltoall(in, given, MPI_INT, out, taken, MPI_INT, comm);
  for (int s = 0; s < sources; ++s)
    for (int i = 0; i < come; ++i)
      if (out[s * taken + i] != 1000 * source[s] + 10 * rank + i) fail("wrong data", "blocks of other sizes");
  for (int i = sources * taken; i < 4 * kMost; ++i)
    if (out[i] != -1) fail("more was written than there is room for", "blocks of other sizes");
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

static void pairs(void) {
  MPI_Comm comm = with_graph(4);
  for (int turn = 0; turn < 3; ++turn)
    if (exchange(comm, (rank / 2 + turn) % 4, (rank / 2 + turn) % 4, (rank / 2 + turn) % 4) != MPI_SUCCESS)
      fail("an error", "pairs");
  MPI_Barrier(comm);
  MPI_Comm_free(&comm);
}

static void differ(void) {
  for (int all = 0; all < 2; ++all) {
    MPI_Comm comm = with_graph(all ? kAll : kRing);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (exchange(comm, 4, 3, 3) != MPI_ERR_TRUNCATE) fail("no error", "what is too long");
    if (exchange(comm, 4, 0, 0) != MPI_ERR_TRUNCATE) fail("no error", "what there is no room for");
    if (exchange(comm, 3, 4, 3) != MPI_SUCCESS) fail("an error", "what is short");
    if (exchange(comm, 4, 4, 4) != MPI_SUCCESS) fail("an error", "what is right");
    MPI_Comm_free(&comm);
  }
}

/* Two ranks may each give more than they take. */
static void two(void) {
  MPI_Comm comm = with_graph(kAll);
  for (int fewer = 0; fewer < 4; ++fewer)
    for (int turn = 0; turn < 2; ++turn)
      if (exchange(comm, rank == turn ? fewer : 4, rank == turn ? 4 : fewer, rank == turn ? 4 : fewer) != MPI_SUCCESS)
        fail("an error", "two");
  MPI_Comm_free(&comm);
}

/* Every two neighbours agree, but not all ranks do. */
static void star(void) {
  MPI_Comm comm = with_graph(kStar);
  exchange(comm, rank == 0, rank != 0, rank != 0);
  fail("no end", "star");
}

static MPI_Comm made_from(MPI_Comm parent, int kind) {
  MPI_Comm comm;
  int sides[1] = {ranks}, periods[1] = {0}, ends[kMost], edges[2 * kMost], ones[2] = {1, 1};
  const int beside[2] = {(rank + ranks - 1) % ranks, (rank + 1) % ranks};
  for (int i = 0; i < ranks; ++i) ends[i] = 2 * i + 2, edges[2 * i] = (i + ranks - 1) % ranks, edges[2 * i + 1] = (i + 1) % ranks;
  if (kind == MPI_CART) MPI_Cart_create(parent, 1, sides, periods, 0, &comm);
  else if (kind == MPI_GRAPH) MPI_Graph_create(parent, ranks, ends, edges, 0, &comm);
  else MPI_Dist_graph_create_adjacent(parent, 2, beside, ones, 2, beside, ones, MPI_INFO_NULL, 0, &comm);
  return comm;
}

/* Communicators of some ranks of one with a topology have none, but Open MPI may say that they do. */
static void some_of(int kind) {
  MPI_Comm outer = made_from(MPI_COMM_WORLD, kind), some = MPI_COMM_NULL;
  MPI_Group all, group;
  int range[1][3] = {{0, ranks - 2, 1}}, sum = 0;
  MPI_Comm_group(outer, &all);
  MPI_Group_range_incl(all, 1, range, &group);
  if (rank < ranks - 1) MPI_Comm_create_group(outer, group, 7, &some);
  for (int i = 0; some != MPI_COMM_NULL && i < 3; ++i) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, some);
    if (sum != (ranks - 1) * (ranks - 2) / 2) fail("another sum", "some of a topology");
  }
  if (some != MPI_COMM_NULL) MPI_Comm_free(&some);
  MPI_Group_free(&group);
  MPI_Group_free(&all);
  MPI_Comm_free(&outer);
}

static void nested(void) {
  const int kinds[] = {MPI_CART, MPI_GRAPH, MPI_DIST_GRAPH};
  for (int i = 0; i < 3; ++i) some_of(kinds[i]);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 3; ++k) {
      MPI_Comm outer = made_from(MPI_COMM_WORLD, kinds[i]), comm = made_from(outer, kinds[k]), again;
      char where[40];
      snprintf(where, sizeof where, "topology %d of topology %d", k, i);
      MPI_Comm_dup(comm, &again);
      all_calls(comm, kinds[k], where);
      all_calls(again, kinds[k], where);
      MPI_Comm_free(&again);
      MPI_Comm_free(&comm);
      MPI_Comm_free(&outer);
    }
}

/* Rank 0 gives its neighbours more than they have room for. */
static void cut(void) {
  int sides[1] = {ranks}, periods[1] = {0}, class = MPI_SUCCESS;
  MPI_Comm comm;
  MPI_Cart_create(MPI_COMM_WORLD, 1, sides, periods, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int length = 4; length <= kLongest; length *= 10) {
    int* const in = calloc((size_t)(2 * length), sizeof *in);
    int* const out = malloc(sizeof *out * (size_t)(2 * length + 2));
    const int counts[2] = {rank == 0 ? length : length - 1, rank == 0 ? length : length - 1}, room[2] = {length - 1, length - 1},
              places[2] = {0, length};
    memset(out, -1, sizeof *out * (size_t)(2 * length + 2));
    const int code = MPI_Neighbor_alltoallv(in, counts, places, MPI_INT, out, room, places, MPI_INT, comm);
    if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    if ((code != MPI_SUCCESS) != (rank == 1) || (rank == 1 && class != MPI_ERR_TRUNCATE)) fail("another error", "cut");
    if (out[length - 1] != -1 || out[2 * length - 1] != -1) fail("more was written than there is room for", "cut");
    free(in), free(out);
  }
  int blocks[4] = {0};
  const int code = MPI_Neighbor_alltoall(MPI_IN_PLACE, 1, MPI_INT, blocks, 1, MPI_INT, comm);
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  if (code == MPI_SUCCESS || class != MPI_ERR_BUFFER) fail("in place is not an error", "cut");
  all_calls(comm, MPI_CART, "behind an error");
  MPI_Comm_free(&comm);
}

/* Ranks 0 and 1 are neighbours. The others have none, so nothing holds them up. */
static void alone(void) {
  MPI_Comm comm;
  const int peer[1] = {1 - rank}, degree = rank < 2 ? 1 : 0;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, peer, MPI_UNWEIGHTED, degree, peer, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  for (int call = 0; call < 4000; ++call) {
    const int refused = call % 1000 == 500, in = 10 * call + rank;
    int out = -1;
    if (refused && rank == 0) usleep(100000);
    const int code = MPI_Neighbor_alltoall(&in, refused && rank == 0 ? -1 : 1, MPI_INT, &out, 1, MPI_INT, comm);
    if ((code != MPI_SUCCESS) != (refused && rank < 2)) fail("another error", "alone");
    if (!refused && rank < 2 && out != 10 * call + 1 - rank) fail("wrong data", "alone");
  }
  const int one = 1;
  int sum = 0;
  MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
  if (sum != ranks) fail("a wrong sum", "alone");
  MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 12, &gapped);
  MPI_Type_commit(&gapped);
  const char* const part = argc > 1 ? argv[1] : "grid";
  if (strcmp(part, "grid") == 0)
    for (int i = 0; i < 4; ++i) grid(1 + i / 2, i % 2);
  if (strcmp(part, "graph") == 0)
    for (int kind = 0; kind < 5; ++kind) graph(kind);
  for (int i = 0; strcmp(part, "sent") == 0 && i < 6; ++i)
    count_messages(i % 2 ? kAll : kRing, i / 2 == 0 ? kAllgather : i / 2 == 1 ? kAlltoall : kAlltoallv);
  if (strcmp(part, "pairs") == 0) pairs();
  if (strcmp(part, "differ") == 0) differ();
  if (strcmp(part, "two") == 0) two();
  if (strcmp(part, "star") == 0) star();
  if (strcmp(part, "nested") == 0) nested();
  if (strcmp(part, "cut") == 0) cut();
  if (strcmp(part, "alone") == 0) alone();
  MPI_Type_free(&pair);
  MPI_Type_free(&gapped);
  printf("rank %d is right\n", rank);
  MPI_Finalize();
  return 0;
}
