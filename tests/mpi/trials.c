/* The life of a trial, and the matrix of every call in every form on every kind of communicator. */
#include "trials.h"

const char* const call_names[kCalls] = {"barrier",
                                        "bcast",
                                        "gather",
                                        "gatherv",
                                        "scatter",
                                        "scatterv",
                                        "allgather",
                                        "allgatherv",
                                        "alltoall",
                                        "alltoallv",
                                        "alltoallw",
                                        "neighbor_allgather",
                                        "neighbor_allgatherv",
                                        "neighbor_alltoall",
                                        "neighbor_alltoallv",
                                        "neighbor_alltoallw",
                                        "message",
                                        "allreduce",
                                        "reduce",
                                        "reduce_scatter",
                                        "reduce_scatter_block",
                                        "scan",
                                        "exscan"};
static const char* const form_names[] = {"", " started", " persistent"};

/* Tells whether the MPI's own started call goes wrong in place. With types of different sizes, bare MPICH 4.0 and Intel MPI now
 * and then send the wrong bytes. Open MPI 4 uses no tag on a rank that gets nothing: if other ranks got something, its later
 * nonblocking calls on that communicator, one of which Copse's ranks meet in, never end or get the wrong message. */
#if defined(I_MPI_VERSION) || (defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 50000000)
static int goes_wrong_in_place(enum call call) { return call == kAlltoallw; }
#elif defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
static int goes_wrong_in_place(enum call call) { return call == kAlltoallv || call == kAlltoallw; }
#else
static int goes_wrong_in_place(enum call call) { return (void)call, 0; }
#endif

enum form form = kBlocking;
_Thread_local MPI_Request* slot;
uint64_t digest;

void add_to_digest(uint64_t hash, long values) { digest += (hash ^ (uint64_t)values) * 0x9e3779b97f4a7c15u; }

struct trial* make_trial(enum call call, enum form wanted, const struct room* room, int root, int length, int in_place, int large,
                         unsigned seed) {
  struct trial* t = calloc(1, sizeof *t);
  const int inter = room->kind == kInter;
  if (call >= kNeighborAllgather && call <= kNeighborAlltoallw && room->kind != kCart && room->kind != kGraph) call = kBcast;
  /* Some MPIs' own calls are wrong: those of MPICH 4.0, Intel and Open MPI on one rank, and those of most MPIs
   * between groups. */
  if (room->size == 1 && !inter && (call == kAllgatherv || call == kAlltoallw)) call = kAlltoall;
  if (room->size == 1 && !inter && wanted == kPersistent && call != kMessage) wanted = kStarted;
  if (inter && call != kBarrier && (wanted != kBlocking || call == kGatherv || call == kScatterv || call > kAllgather))
    call = call < kMoves ? kAlltoall : kAllreduce;
  *t = (struct trial){.call = call, .room = room, .length = length, .large = large && HAS_LARGE, .seed = seed};
  t->form = wanted == kPersistent && !HAS_PERSISTENT && call != kMessage ? kStarted : wanted;
  t->in_place = in_place && !inter && call != kBarrier && call != kBcast && (call < kNeighborAllgather || call >= kMoves) &&
                !(t->form != kBlocking && goes_wrong_in_place(call));
  /* The root's side of an intercommunicator is its lower or its upper group. */
  t->root_base = inter && seed / 16 % 2 ? kRanksMax / 2 : 0;
  t->root = root % (t->root_base == room->base ? room->size : room->peers);
  t->lone = inter && t->root_base == room->base && room->me != t->root;
  t->theirs =
      bare || (t->form == kStarted && !room->met) || room->size == 1 || inter || (call >= kNeighborAllgather && call <= kMessage);
  t->requests = call == kMessage ? 2 : 1;
  t->request[0] = t->request[1] = MPI_REQUEST_NULL;
  if (call < kMoves) make_move(t);
  else make_reduction(t);
  return t;
}

static const char* describe(const struct trial* t) {
  static char text[300];
  snprintf(text, sizeof text, "%s%s%s%s of up to %d on %s of %d/%d (%s), root %d, seed %u, values %ld: %s", call_names[t->call],
           t->large ? "_c" : "", t->in_place ? " in place" : "", form_names[t->form], t->length, kind_names[t->room->kind],
           t->room->size, t->room->peers, t->room->met ? "met" : "not met", t->root, t->seed, t->values,
           t->call >= kMoves ? describe_reduction(t) : "");
  return text;
}

void fill_trial(struct trial* t, long values) {
  t->values = values;
  if (t->call < kMoves) fill_move(t);
  else fill_reduction(t);
}

void issue_trial(struct trial* t) {
  form = t->form;
  slot = &t->request[0];
  if (getenv("COLLECTIVES_VERBOSE") != NULL) fprintf(stderr, "rank %d: %s\n", rank, describe(t));
  const int code = t->call < kMoves ? issue_move(t, t->request) : issue_reduction(t);
  EXPECT(code == MPI_SUCCESS, "%s", describe(t));
}

void note_meeting(struct room* room, const struct trial* t) {
  room->met |= t->form != kStarted && (t->call < kNeighborAllgather || t->call >= kMoves);
}

void check_trial(const struct trial* t) {
  EXPECT(t->call < kMoves ? move_is_right(t) : reduction_is_right(t), "%s", describe(t));
  EXPECT(t->send.bytes == 0 || memcmp(t->send.memory, t->sent, t->send.bytes) == 0, "what was sent has changed: %s", describe(t));
}

void free_trial(struct trial* t) {
  if (t->form == kPersistent)
    for (int i = 0; i < t->requests; ++i) MPI_Request_free(&t->request[i]);
  for (int i = 0; i < t->requests; ++i) EXPECT(t->request[i] == MPI_REQUEST_NULL, "a request is left: %s", describe(t));
  free(t->send.memory), free(t->receive.memory), free(t->sent), free(t->want), free(t);
}

/* Runs one trial from beginning to end. A persistent trial runs twice. */
static void run_trial(struct room* room, struct trial* t) {
  long values = 2 * (long)t->seed;
  fill_trial(t, values);
  issue_trial(t);
  note_meeting(room, t);
  for (int turn = 0; turn <= (t->form == kPersistent); ++turn) {
    if (turn > 0) fill_trial(t, values + 1);
    if (t->form == kPersistent) MPI_Startall(t->requests, t->request);
    if (t->form != kBlocking)
      end_beside_message(t->requests, t->request, room->of_session ? MPI_COMM_NULL : MPI_COMM_WORLD, t->theirs);
    check_trial(t);
  }
  free_trial(t);
}

/* Tests every call, form, length and root, in place or not, with large counts or not. Layouts differ between ranks
 * and between trials. Uses every kind of communicator, or `only` one. */
void part_matrix(const char* only) {
  static const int lengths[] = {0, 1, 7, 1001, 20000};
  struct room world;
  unsigned number = 0;
  open_room(&world, kWorld, NULL, 0);
  for (int kind = 0; kind < kKinds; ++kind) {
    if (only != NULL && strcmp(only, kind_names[kind]) != 0) continue;
    struct room room;
    open_room(&room, (enum kind)kind, &world, (unsigned)kind);
    for (int f = 0; f < 3; ++f)
      for (int call = 0; call < kCalls; ++call)
        for (size_t n = 0; n < sizeof lengths / sizeof *lengths; ++n)
          for (int in_place = 0; in_place < 2; ++in_place)
            for (int large = 0; large <= HAS_LARGE; ++large) {
              if (++number && lengths[n] > 10000 && (number / 2 + (unsigned)call) % 4) continue;
              if (room.comm == MPI_COMM_NULL) continue;
              run_trial(&room, make_trial((enum call)call, (enum form)f, &room, (int)number, lengths[n], in_place, large, number));
            }
    close_room(&room, (unsigned)kind);
  }
}
