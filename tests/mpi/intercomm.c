/* Collectives between the two groups of an intercommunicator: intercomm PART. What must come is computed here.
 *
 *   calls     all calls in all forms, roots in either group, groups of unlike sizes, types that differ from rank to rank
 *   reduce    reductions, which are the MPI's, between other calls
 *   life      intercommunicators that are made and freed again and again, duplicates, and calls that outlive theirs
 *   errors    arguments that one rank alone gives wrong, blocks that are too long, MPI_IN_PLACE: Copse finds them
 *   late      many calls on one intercommunicator, so that Copse may begin amid them
 *   mismatch  ranks of one group call MPI_Gather and those of the other one MPI_Scatter (for COPSE_CHECK)
 *   spawn P   an intercommunicator with two spawned ranks that run program P without arguments
 *
 * Every rank prints that it is right. A blocking call comes first on each intercommunicator, so that Copse begins there with
 * COPSE_JOIN=1: MPICH's own started broadcasts between groups are wrong for some roots. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "blocks.h"

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
  kCalls
};
static const char* const names[kCalls] = {"barrier",   "bcast",      "gather",   "gatherv",   "scatter",  "scatterv",
                                          "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};

/* The intercommunicator at hand. Ranks are known here by their numbers in MPI_COMM_WORLD. */
static MPI_Comm across;
static int group, me, size[2], member[2][kMost]; /* this rank's group, its rank there, and the members of both groups */

static int group_of(int world_rank, int cut, int odd) { return odd ? world_rank % 2 : world_rank >= cut; }

/* The first `cut` ranks and the others, or the even ranks and the odd ones. The second group may have its ranks backwards. */
static void open_across(int cut, int odd, int backwards) {
  MPI_Comm half;
  group = group_of(rank, cut, odd);
  size[0] = size[1] = 0;
  for (int i = 0; i < ranks; ++i) {
    const int g = group_of(i, cut, odd);
    member[g][size[g]++] = i;
  }
  for (int i = 0; backwards && i < size[1] / 2; ++i) {
    const int kept = member[1][i];
    member[1][i] = member[1][size[1] - 1 - i], member[1][size[1] - 1 - i] = kept;
  }
  MPI_Comm_split(MPI_COMM_WORLD, group, group == 1 && backwards ? -rank : rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, member[1 - group][0], 3, &across);
  MPI_Comm_free(&half);
  MPI_Comm_rank(across, &me);
}

/* Who exchanges data in a call: this rank is the root, or in the root's group beside it, or in the other group. */
enum place { kRoot, kBeside, kOther };

struct what {
  enum call call;
  int form, length, root_group, root;
};

static int rooted(enum call call) { return call >= kBcast && call <= kScatterv; }
static enum place place_in(const struct what* w) { return group != w->root_group ? kOther : me == w->root ? kRoot : kBeside; }
static int root_argument(const struct what* w) {
  const enum place place = place_in(w);
  return place == kRoot ? MPI_ROOT : place == kBeside ? MPI_PROC_NULL : w->root;
}

/* Pairs of ints in a block. A block that goes to several ranks, or to the root, has no `to`. In an allgather and an alltoall each
 * group gives as much as it likes. */
static int pairs_in(const struct what* w, int from, int from_group, int to) {
  const int is_v = w->call == kGatherv || w->call == kScatterv || w->call == kAllgatherv || w->call >= kAlltoallv;
  if (w->call == kAllgather || w->call == kAlltoall) return from_group == 0 ? w->length : w->length / 2;
  if (!is_v) return w->length;
  if (w->call == kScatterv) from = 5;
  return mixed((unsigned)from, (unsigned)to, (unsigned)w->length) % 4 == 0
             ? 0
             : (int)(mixed((unsigned)from, (unsigned)to, 5u) % (unsigned)w->length) + 1;
}

static void make(const struct what* w, struct side* in, struct side* out) {
  MPI_Request request;
  const int root = root_argument(w), sent = in->blocks > 0 ? in->counts[0] : 0, come = out->blocks > 0 ? out->counts[0] : 0;
  const MPI_Datatype from = in->blocks > 0 ? in->types[0] : MPI_INT, to = out->blocks > 0 ? out->types[0] : MPI_INT;
  struct side* const one = in->blocks > 0 ? in : out;
  switch (w->call) {
    case kBcast: CALL(w->form, across, Bcast, bcast, one->memory, one->counts[0], one->types[0], root);
    case kGather: CALL(w->form, across, Gather, gather, in->memory, sent, from, out->memory, come, to, root);
    case kGatherv: CALL(w->form, across, Gatherv, gatherv, in->memory, sent, from, out->memory, out->counts, out->places, to, root);
    case kScatter: CALL(w->form, across, Scatter, scatter, in->memory, sent, from, out->memory, come, to, root);
    case kScatterv:
      CALL(w->form, across, Scatterv, scatterv, in->memory, in->counts, in->places, from, out->memory, come, to, root);
    case kAllgather: CALL(w->form, across, Allgather, allgather, in->memory, sent, from, out->memory, come, to);
    case kAllgatherv:
      CALL(w->form, across, Allgatherv, allgatherv, in->memory, sent, from, out->memory, out->counts, out->places, to);
    case kAlltoall: CALL(w->form, across, Alltoall, alltoall, in->memory, sent, from, out->memory, come, to);
    case kAlltoallv:
      CALL(w->form, across, Alltoallv, alltoallv, in->memory, in->counts, in->places, from, out->memory, out->counts, out->places,
           to);
    case kAlltoallw:
      CALL(w->form, across, Alltoallw, alltoallw, in->memory, in->counts, in->places_in_bytes, in->types, out->memory, out->counts,
           out->places_in_bytes, out->types);
    default:
      if (w->form == 1) MPI_Ibarrier(across, &request), MPI_Wait(&request, MPI_STATUS_IGNORE);
      else MPI_Barrier(across);
  }
}

/* The blocks that this rank gives and takes: none, one, or one for each rank of the other group. */
static int blocks_given(const struct what* w) {
  const enum place place = place_in(w);
  const int all = size[1 - group];
  if (w->call == kBarrier) return 0;
  if (!rooted(w->call)) return w->call <= kAllgatherv ? 1 : all;
  if (w->call == kBcast) return place == kRoot;
  if (w->call <= kGatherv) return place == kOther;
  return place == kRoot ? all : 0;
}

static int blocks_taken(const struct what* w) {
  const enum place place = place_in(w);
  const int all = size[1 - group];
  if (w->call == kBarrier) return 0;
  if (!rooted(w->call)) return all;
  if (w->call == kGather || w->call == kGatherv) return place == kRoot ? all : 0;
  return place == kOther;
}

static enum order order_of(enum call call) {
  if (call == kAlltoallw) return kOfOwnTypes;
  return call == kGatherv || call == kScatterv || call == kAllgatherv || call == kAlltoallv ? kBackwards : kInRow;
}

static void one_call(const struct what* w) {
  static unsigned char *sent, *kept, *got, *want;
  if (sent == NULL)
    sent = malloc(kBytes * kMost), kept = malloc(kBytes * kMost), got = malloc(kBytes * kMost), want = malloc(kBytes * kMost);
  const int to_one = w->call == kScatter || w->call == kScatterv || w->call >= kAlltoall, other = 1 - group,
            gives = blocks_given(w), takes = blocks_taken(w), from_root = rooted(w->call) && place_in(w) == kOther;
  int given[kMost], taken[kMost];
  for (int b = 0; b < gives; ++b) given[b] = pairs_in(w, rank, group, to_one ? member[other][b] : 0);
  const int* const givers = from_root ? &member[other][w->root] : member[other];
  for (int b = 0; b < takes; ++b) taken[b] = pairs_in(w, givers[b], other, to_one ? rank : 0);
  struct side in = {.memory = sent, .types = {MPI_INT}}, out = {.memory = got, .types = {MPI_INT}};
  lay_out(&in, order_of(w->call), gives, given, (rank + (int)w->call) % 2);
  lay_out(&out, order_of(w->call), takes, taken, (rank / 2 + w->length) % 2);
  const size_t used = (size_t)(16 * (w->length + 2) * ranks);
  memset(sent, 0x5A, used), memset(got, 0x6B, used), memset(want, 0x6B, used);
  for (int b = 0; b < gives; ++b) write_block(sent, &in, b, given[b], rank, to_one ? member[other][b] : 0);
  memcpy(kept, sent, used);
  for (int b = 0; b < takes; ++b) write_block(want, &out, b, taken[b], givers[b], to_one ? rank : 0);
  make(w, &in, &out);
  char where[120];
  snprintf(where, sizeof where, "%s of form %d, length %d, %d and %d ranks, root %d of group %d", names[w->call], w->form,
           w->length, size[0], size[1], w->root, w->root_group);
  if (memcmp(got, want, used) != 0) fail("wrong data", where);
  if (memcmp(sent, kept, used) != 0) fail("the input has changed", where);
}

/* Every root of both groups, if the call has a root and is short. */
static void all_roots(struct what w) {
  for (w.root_group = 0; w.root_group < 2; ++w.root_group)
    for (w.root = 0; w.root < size[w.root_group]; ++w.root) {
      if (rooted(w.call) ? w.length > 100 && w.root > 0 : w.root > 0 || w.root_group > 0) continue;
      one_call(&w);
    }
}

static void all_calls(void) {
  static const int lengths[] = {1, 3, 40, 900, kLongest};
  MPI_Barrier(across);
  for (int form = 0; form < 3; ++form)
    for (int call = 0; call < kCalls; ++call)
      for (int i = 0; i < 5; ++i) all_roots((struct what){(enum call)call, form, lengths[i], 0, 0});
  for (int root_group = 0; root_group < 2; ++root_group) { /* with zero counts, with no buffers at all */
    const struct what w = {kBcast, 0, 0, root_group, 0};
    MPI_Bcast(NULL, 0, MPI_INT, root_argument(&w), across);
    MPI_Gather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, root_argument(&w), across);
  }
  MPI_Allgather(NULL, 0, MPI_INT, NULL, 0, MPI_INT, across);
}

static void calls(void) {
  for (int cut = 1; cut < ranks; cut += 2)
    for (int backwards = 0; backwards < 2; ++backwards) {
      open_across(cut, 0, backwards);
      all_calls();
      MPI_Comm_free(&across);
    }
  open_across(0, 1, 1);
  all_calls();
  MPI_Comm_disconnect(&across);
}

static void one_bcast(int turn) {
  const int root_group = turn % 2;
  one_call(&(struct what){kBcast, turn / 2 % 3, 1 + turn * 37 % 500, root_group, turn % size[root_group]});
}

static void sum_is_right(const int* sums, int turn) {
  int expected = 0;
  for (int i = 0; i < size[1 - group]; ++i) expected += member[1 - group][i] + turn;
  for (int i = 0; i < 10; ++i)
    if (sums[i] != expected) fail("a wrong sum", "reduce");
}

static void reduce(void) {
  open_across(1 + ranks / 3, 0, 0);
  int values[10], sums[10];
  MPI_Request request;
  for (int turn = 0; turn < 24; ++turn) {
    const struct what w = {kBcast, 0, 0, turn % 2, 0};
    for (int i = 0; i < 10; ++i) values[i] = rank + turn, sums[i] = -1;
    MPI_Allreduce(values, sums, 10, MPI_INT, MPI_SUM, across);
    sum_is_right(sums, turn);
    one_bcast(turn);
    MPI_Reduce(values, sums, 10, MPI_INT, MPI_SUM, root_argument(&w), across);
    if (place_in(&w) == kRoot) sum_is_right(sums, turn);
    MPI_Iallreduce(values, sums, 10, MPI_INT, MPI_SUM, across, &request);
    one_bcast(turn + 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sum_is_right(sums, turn);
  }
  MPI_Comm_free(&across);
}

/* A call of which this rank frees the communicator while it is pending. */
static void outlive(int length) {
  int* const data = malloc(sizeof(int) * (size_t)length);
  const struct what w = {kBcast, 0, length, 1, size[1] - 1};
  for (int i = 0; i < length; ++i) data[i] = place_in(&w) == kRoot ? 3 * i : -1;
  MPI_Request request;
  MPI_Ibcast(data, length, MPI_INT, root_argument(&w), across, &request);
  MPI_Comm_free(&across);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  for (int i = 0; i < length; ++i)
    if (data[i] != (place_in(&w) == kBeside ? -1 : 3 * i)) fail("wrong data", "a call that outlives its communicator");
  free(data);
}

static void life(void) {
  for (int turn = 0; turn < 40; ++turn) {
    open_across(1 + turn % (ranks - 1), turn % 5 == 4, turn % 3 == 0);
    MPI_Barrier(across);
    MPI_Comm first = across, again;
    MPI_Comm_dup(across, &again);
    MPI_Barrier(again);
    for (int i = 0; i < 6; ++i) {
      across = i % 2 ? again : first;
      one_bcast(turn + i);
    }
    if (turn % 2) MPI_Comm_free(&first);
    across = again;
    one_bcast(turn);
    if (turn % 4 < 2) outlive(1 + 40 * turn * turn);
    else MPI_Comm_disconnect(&across);
    if (turn % 2 == 0) MPI_Comm_free(&first);
  }
}

static int handled;
static void handler(MPI_Comm* comm, int* code, ...) {
  (void)code;
  if (*comm != across) fail("the handler of another communicator", "errors");
  ++handled;
}

static int class_of(int code) {
  int class = MPI_SUCCESS;
  if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
  return class;
}

/* One rank refuses a call. The others end it, with or without an error, and the next calls match. */
static void refuse(int refuser) {
  const struct what w = {kBcast, 0, 0, 0, 0};
  int value = place_in(&w) == kRoot ? 7 : -1, before = handled;
  const int code = class_of(MPI_Bcast(&value, rank == refuser ? -1 : 1, MPI_INT, root_argument(&w), across));
  const int wrong = rank == refuser && place_in(&w) != kBeside; /* the count of a rank beside the root has no meaning */
  if (wrong ? code != MPI_ERR_COUNT : code != MPI_SUCCESS && code != MPI_ERR_OTHER) fail("another error", "errors");
  if ((code != MPI_SUCCESS) != handled - before) fail("the handler was not called", "errors");
  for (int turn = 0; turn < 4; ++turn) one_bcast(turn);
}

static void errors(void) {
  open_across(ranks / 2, 0, 1);
  MPI_Errhandler made;
  MPI_Comm_create_errhandler(handler, &made);
  MPI_Comm_set_errhandler(across, made);
  MPI_Errhandler_free(&made);
  one_bcast(0);
  for (int refuser = 0; refuser < ranks; ++refuser) refuse(refuser);
  int values[2 * kMost] = {0}, room[2 * kMost];
  if (class_of(MPI_Bcast(values, 1, MPI_INT, kMost, across)) != MPI_ERR_ROOT) fail("no error", "a root that is not there");
  if (class_of(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, room, 1, MPI_INT, across)) != MPI_ERR_BUFFER) fail("no error", "in place");
  for (int turn = 0; turn < 4; ++turn) one_bcast(turn);
  /* The root gives two numbers, and the others have room for one. Then all ranks but the root do, which gathers. */
  const struct what w = {kBcast, 0, 0, 1, 0};
  const int is_root = place_in(&w) == kRoot, is_other = place_in(&w) == kOther;
  memset(room, -1, sizeof room);
  int code = class_of(MPI_Bcast(is_root ? values : room, is_root ? 2 : 1, MPI_INT, root_argument(&w), across));
  if (code != (is_other ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || room[1] != -1) fail("not cut off", "a broadcast");
  code = class_of(MPI_Gather(values, 2, MPI_INT, room, 1, MPI_INT, root_argument(&w), across));
  if (code != (is_root ? MPI_ERR_TRUNCATE : MPI_SUCCESS) || room[size[0]] != -1) fail("not cut off", "a gather");
  for (int turn = 0; turn < 4; ++turn) one_bcast(turn);
  MPI_Comm_free(&across);
}

static void late(void) {
  open_across(1, 0, 0);
  for (int turn = 0; turn < 600; ++turn) one_bcast(6 * turn + turn % 2), one_call(&(struct what){kAllgather, 0, 3, 0, 0});
  MPI_Comm_free(&across);
}

static void mismatch(void) {
  open_across(1, 0, 0);
  int in[kMost] = {0}, out[kMost];
  const struct what w = {kGather, 0, 1, 0, 0};
  if (group == 0) MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, root_argument(&w), across);
  else MPI_Scatter(in, 1, MPI_INT, out, 1, MPI_INT, root_argument(&w), across);
}

/* The other side may have no Copse. */
static void between_worlds(int child) {
  int mine = child ? 100 + rank : rank, all[kMost], others;
  MPI_Comm_remote_size(across, &others);
  for (int turn = 0; turn < 100; ++turn) {
    const int from_parents = turn % 2 == 0, root = (from_parents == child) ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
    int value = root == MPI_ROOT ? turn : -1;
    MPI_Bcast(&value, 1, MPI_INT, root, across);
    if (value != (root == MPI_PROC_NULL ? -1 : turn)) fail("MPI_Bcast", "between worlds");
    MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, across);
    for (int i = 0; i < others; ++i)
      if (all[i] != (child ? i : 100 + i)) fail("MPI_Allgather", "between worlds");
    MPI_Barrier(across);
  }
}

static void spawn(char* program) {
  MPI_Comm_spawn(program, MPI_ARGV_NULL, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &across, MPI_ERRCODES_IGNORE);
  between_worlds(0);
  MPI_Comm_disconnect(&across);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Datatype pair;
  MPI_Type_contiguous(2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 12, &gapped);
  MPI_Type_commit(&gapped);
  MPI_Comm_get_parent(&across);
  const char* const part = across != MPI_COMM_NULL ? "child" : argc > 1 ? argv[1] : "calls";
  if (strcmp(part, "child") == 0) between_worlds(1), MPI_Comm_disconnect(&across);
  if (strcmp(part, "calls") == 0) calls();
  if (strcmp(part, "reduce") == 0) reduce();
  if (strcmp(part, "life") == 0) life();
  if (strcmp(part, "errors") == 0) errors();
  if (strcmp(part, "late") == 0) late();
  if (strcmp(part, "mismatch") == 0) mismatch();
  if (strcmp(part, "spawn") == 0) spawn(argv[2]);
  MPI_Type_free(&pair);
  MPI_Type_free(&gapped);
  printf("%s %d is right\n", strcmp(part, "child") == 0 ? "child" : "rank", rank);
  MPI_Finalize();
  return 0;
}
