/* Communicators of every kind, each made from another. One table serves the matrix and the random programs. */
#include "trials.h"

const char* const kind_names[kKinds] = {"world", "self",  "dup",     "split", "create", "create_group",
                                        "cart",  "graph", "session", "inter", "merged"};

static MPI_Comm duplicate(MPI_Comm comm, unsigned seed) {
  MPI_Comm made;
  MPI_Request request;
  switch (seed % 3) {
    case 0: MPI_Comm_dup(comm, &made); break;
    case 1: MPI_Comm_dup_with_info(comm, MPI_INFO_NULL, &made); break;
    default: MPI_Comm_idup(comm, &made, &request); MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return made;
}

static MPI_Comm split(const struct room* parent, unsigned seed) {
  MPI_Comm made;
  const int colour = (int)(mixed(seed, 1, (uint64_t)parent->me) % (1 + seed % 3)),
            key = (int)(mixed(seed, 2, (uint64_t)parent->me) % 8);
  if (seed % 4 == 3) MPI_Comm_split_type(parent->comm, MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &made);
  else MPI_Comm_split(parent->comm, colour, key, &made);
  return made;
}

/* All ranks of the parent except a few, in any order. */
static MPI_Comm from_group(const struct room* parent, int by_members, unsigned seed) {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Group all, some;
  int members[kRanksMax], count = 0, member = 0;
  for (int k = 0; k < parent->size; ++k) {
    const int r = (k + (int)(seed % 7)) % parent->size;
    if (k > 0 && mixed(seed, 3, (uint64_t)r) % 4 == 0) continue;
    members[count++] = r;
    member |= r == parent->me;
  }
  MPI_Comm_group(parent->comm, &all);
  MPI_Group_incl(all, count, members, &some);
  if (!by_members) MPI_Comm_create(parent->comm, some, &made);
  else if (member) MPI_Comm_create_group(parent->comm, some, (int)(seed % 100), &made);
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  return made;
}

static MPI_Comm cart(const struct room* parent, unsigned seed) {
  MPI_Comm made;
  const int dimensions = 1 + (int)(seed % 2);
  int sides[2] = {0, 0}, periods[2] = {seed / 2 % 2 == 0, seed / 4 % 2 == 0};
  MPI_Dims_create(parent->size, dimensions, sides);
  MPI_Cart_create(parent->comm, dimensions, sides, periods, (int)(seed / 8 % 2), &made);
  return made;
}

static MPI_Comm graph(const struct room* parent, unsigned seed) {
  MPI_Comm made;
  const int degree = (int)(seed % (kNeighbours + 1)), n = parent->size;
  int from[kNeighbours], to[kNeighbours], ones[kNeighbours];
  for (int k = 0; k < degree; ++k) {
    const int step = (int)(mixed(seed, 4, (uint64_t)k) % (unsigned)n);
    from[k] = (parent->me + n - step) % n, to[k] = (parent->me + step) % n, ones[k] = 1;
  }
  MPI_Dist_graph_create_adjacent(parent->comm, degree, from, ones, degree, to, ones, MPI_INFO_NULL, 0, &made);
  return made;
}

static MPI_Comm across(const struct room* parent, int merge, unsigned seed) {
  MPI_Comm half, inter, made;
  const int colour = parent->me >= 1 + (int)(seed % (unsigned)(parent->size - 1)),
            first = 1 + (int)(seed % (unsigned)(parent->size - 1));
  MPI_Comm_split(parent->comm, colour, parent->me, &half);
  MPI_Intercomm_create(half, 0, parent->comm, colour ? 0 : first, (int)(seed % 50), &inter);
  MPI_Comm_free(&half);
  if (!merge) return inter;
  MPI_Intercomm_merge(inter, (int)(seed / 8 % 2) ^ colour, &made);
  MPI_Comm_free(&inter);
  return made;
}

static MPI_Comm from_session(struct room* room, unsigned seed) {
  MPI_Comm made = MPI_COMM_NULL;
#if HAS_SESSIONS
  MPI_Group group;
  char tag[40];
  snprintf(tag, sizeof tag, "copse.test.%u", seed);
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &room->session);
  MPI_Group_from_session_pset(room->session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &made);
  MPI_Group_free(&group);
#else
  (void)room, (void)seed;
#endif
  return made;
}

/* Asks the MPI who this rank's neighbours are. */
static void look_around(struct room* room) {
  if (room->kind == kCart) {
    int dimensions;
    MPI_Cartdim_get(room->comm, &dimensions);
    for (int d = 0; d < dimensions; ++d) MPI_Cart_shift(room->comm, d, 1, &room->source[2 * d], &room->source[2 * d + 1]);
    room->sources = room->destinations = 2 * dimensions;
    memcpy(room->destination, room->source, sizeof room->source);
  }
  if (room->kind == kGraph) {
    int weighted, ones[kNeighbours], twos[kNeighbours];
    MPI_Dist_graph_neighbors_count(room->comm, &room->sources, &room->destinations, &weighted);
    MPI_Dist_graph_neighbors(room->comm, room->sources, room->source, ones, room->destinations, room->destination, twos);
  }
}

void open_room(struct room* room, enum kind kind, const struct room* parent, unsigned seed) {
  memset(room, 0, sizeof *room);
  room->comm = MPI_COMM_NULL;
  if (kind == kSession && !HAS_SESSIONS) kind = kSplit;
  if (kind > kSelf && kind != kSession && parent->comm == MPI_COMM_NULL) return;
  if ((kind == kInter || kind == kMerged) && parent->size < 2) kind = kDup;
  room->kind = kind;
  room->of_session = kind == kSession || (kind > kSelf && parent->of_session);
  switch (kind) {
    case kWorld: room->comm = MPI_COMM_WORLD; break;
    case kSelf: room->comm = MPI_COMM_SELF; break;
    case kDup: room->comm = duplicate(parent->comm, seed); break;
    case kSplit: room->comm = split(parent, seed); break;
    case kCreate:
    case kCreateGroup: room->comm = from_group(parent, kind == kCreateGroup, seed); break;
    case kCart: room->comm = cart(parent, seed); break;
    case kGraph: room->comm = graph(parent, seed); break;
    case kSession: room->comm = from_session(room, seed); break;
    case kInter:
    case kMerged: room->comm = across(parent, kind == kMerged, seed); break;
    case kKinds: break;
  }
  if (room->comm == MPI_COMM_NULL) return;
  MPI_Comm_rank(room->comm, &room->me);
  MPI_Comm_size(room->comm, &room->size);
  room->peers = room->size;
  if (kind == kInter) {
    const int second = parent->me >= 1 + (int)(seed % (unsigned)(parent->size - 1));
    MPI_Comm_remote_size(room->comm, &room->peers);
    room->base = second ? kRanksMax / 2 : 0;
    room->peer_base = second ? 0 : kRanksMax / 2;
  }
  look_around(room);
}

void close_room(struct room* room, unsigned seed) {
  if (room->comm == MPI_COMM_NULL || room->kind <= kSelf) return;
  if (seed % 4 == 0) MPI_Comm_disconnect(&room->comm);
  else MPI_Comm_free(&room->comm);
  EXPECT(room->comm == MPI_COMM_NULL, "a handle is left");
#if HAS_SESSIONS
  if (room->kind == kSession) MPI_Session_finalize(&room->session);
#endif
}
