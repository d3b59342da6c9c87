/* Calls that move data. Trials make them with blocks at different places and of different types on every rank; other
 * tests need buffers of a special kind.
 *
 * The expected result is known without an oracle, because an item that s sends to d is a function of s, d and its
 * place. Receive buffers are compared whole, so that gaps stay untouched. Send buffers are compared too. */
#include "trials.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* Broadcasts between types of equal content and different layout. Gaps stay untouched. */
void part_derived(void) {
  enum { kRows = 1000 };
  MPI_Datatype column, swapped, shifted, negative, whole, absolute;
  MPI_Type_vector(kRows, 1, 3, MPI_INT, &column);
  int lengths[2] = {1, 1};
  MPI_Aint displacements[2] = {4, 0};
  MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
  MPI_Type_create_struct(2, lengths, displacements, ints, &swapped); /* as large as its data, in another order */
  MPI_Type_create_hindexed(1, (int[]){2}, (MPI_Aint[]){8}, MPI_INT, &shifted);
  MPI_Type_create_hvector(2, 1, -4, MPI_INT, &negative);
  MPI_Type_contiguous(kRows, MPI_INT, &whole);
  int buffer[3 * kRows], data[kRows];
  MPI_Aint address;
  MPI_Get_address(data, &address);
  MPI_Type_create_hindexed(1, (int[]){kRows}, &address, MPI_INT, &absolute);
  MPI_Datatype* made[] = {&column, &swapped, &shifted, &negative, &whole, &absolute};
  for (int i = 0; i < 6; ++i) MPI_Type_commit(made[i]);
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < 3 * kRows; ++i) buffer[i] = -1;
    if (rank == root)
      for (int i = 0; i < kRows; ++i) buffer[rank % 2 ? i : 3 * i] = 7 * i + root;
    if (rank % 2) MPI_Bcast(buffer, kRows, MPI_INT, root, MPI_COMM_WORLD);
    else MPI_Bcast(buffer, 1, column, root, MPI_COMM_WORLD);
    for (int i = 0; i < kRows; ++i) EXPECT(buffer[rank % 2 ? i : 3 * i] == 7 * i + root, "row %d", i);
    if (rank % 2 == 0)
      for (int i = 0; i < kRows; ++i) EXPECT(buffer[3 * i + 1] == -1, "gap %d", i);

    for (int i = 0; i < kRows; ++i) data[i] = rank == root ? i * i + root : -1;
    if (rank % 3 == 0) MPI_Bcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD);
    else if (rank % 3 == 1) MPI_Bcast(data, 1, whole, root, MPI_COMM_WORLD);
    else MPI_Bcast(data, kRows / 2, swapped, root, MPI_COMM_WORLD);
    for (int i = 0; i < kRows; ++i) {
      int at = rank % 3 == 2 ? i ^ 1 : i;   /* where item i of the message lies here */
      int sent = root % 3 == 2 ? i ^ 1 : i; /* where it lay at the root */
      EXPECT(data[at] == sent * sent + root, "element %d: %d", i, data[at]);
    }
    int four[4] = {-1, -1, -1, -1};
    if (rank == root) four[2] = 20 + root, four[3] = 30 + root;
    MPI_Bcast(four, 1, shifted, root, MPI_COMM_WORLD);
    EXPECT(four[0] == -1 && four[1] == -1 && four[2] == 20 + root && four[3] == 30 + root, "true_lb > 0");
    int two[2] = {rank == root ? 1 : -1, rank == root ? 2 : -1};
    MPI_Bcast(&two[1], 1, negative, root, MPI_COMM_WORLD);
    EXPECT(two[0] == 1 && two[1] == 2, "negative stride");
    MPI_Bcast(NULL, 0, column, root, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_INT, root, MPI_COMM_WORLD);
  }
  for (int i = 0; i < 6; ++i) MPI_Type_free(made[i]);

  for (int step = 2; step < 12; ++step) { /* a type that has just been freed, and the next one with its handle */
    MPI_Datatype now;
    MPI_Type_vector(2, 1, step, MPI_INT, &now);
    MPI_Type_commit(&now);
    for (int call = 0; call < 2; ++call) {
      for (int i = 0; i < 12; ++i) buffer[i] = rank == 0 && i % step == 0 ? step + i : -1;
      MPI_Bcast(buffer, 1, now, 0, MPI_COMM_WORLD);
      for (int i = 0; i < 12; ++i) {
        const int sent = i == 0 || i == step || (rank == 0 && i % step == 0);
        EXPECT(buffer[i] == (sent ? step + i : -1), "step %d, element %d: %d", step, i, buffer[i]);
      }
    }
    MPI_Type_free(&now);
  }
}

/* Trials of moves ------------------------------------------------------------------------------------------------ */

/* How the items of one element lie, in units of items. Each layout can be made of any predefined type. Open MPI's
 * own calls are right only with the simple ones. */
enum { kUnit = 4, kLayouts = 12, kSimple = 7, kBases = 5, kMargin = 64, kUntouched = 0x5a };
struct layout {
  const char* name;
  int unit, at[kUnit], low, extent;
};
static const struct layout layouts[kLayouts] = {
    {"plain", 1, {0}, 0, 1},         {"contiguous", 2, {0, 1}, 0, 2}, {"swapped", 2, {1, 0}, 0, 2},
    {"gap inside", 2, {0, 2}, 0, 4}, {"gap behind", 1, {0}, 0, 3},    {"gap before", 1, {2}, 1, 4},
    {"backwards", 2, {0, -2}, 0, 4}, {"struct", 3, {0, 1, 4}, 0, 5},  {"indexed", 4, {0, 1, 5, 3}, 0, 6},
    {"subarray", 2, {2, 3}, 0, 4},   {"leftwards", 1, {0}, 0, -2},    {"nested", 4, {0, 2, 4, 6}, 0, 8}};
static const int widths[kBases] = {4, 1, 2, 8, 16};
static MPI_Datatype layout_types[kBases][kLayouts];

static MPI_Datatype make_layout(int which, MPI_Datatype base, int width) {
  const struct layout* l = &layouts[which];
  MPI_Datatype bare, inner, made;
  switch (which) {
    case 1: MPI_Type_contiguous(2, base, &bare); break;
    case 3: MPI_Type_vector(2, 1, 2, base, &bare); break;
    case 6: MPI_Type_create_hvector(2, 1, -2 * width, base, &bare); break;
    case 7:
      MPI_Type_contiguous(2, base, &inner);
      MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){0, 4 * width}, (MPI_Datatype[]){inner, base}, &bare);
      MPI_Type_free(&inner);
      break;
    case 8: MPI_Type_indexed(3, (int[]){2, 1, 1}, (int[]){0, 5, 3}, base, &bare); break;
    case 9: MPI_Type_create_subarray(2, (int[]){2, 2}, (int[]){1, 2}, (int[]){1, 0}, MPI_ORDER_C, base, &bare); break;
    case 11:
      MPI_Type_create_indexed_block(2, 1, (int[]){0, 2}, base, &inner);
      MPI_Type_create_hvector(2, 1, 4 * width, inner, &bare);
      MPI_Type_free(&inner);
      break;
    default: {
      MPI_Aint at[kUnit];
      for (int i = 0; i < l->unit; ++i) at[i] = l->at[i] * width;
      MPI_Type_create_hindexed(l->unit, (int[]){1, 1, 1, 1}, at, base, &bare);
    }
  }
  MPI_Type_create_resized(bare, l->low * width, l->extent * width, &made);
  MPI_Type_commit(&made);
  MPI_Type_free(&bare);
  return made;
}

static void list_layouts(void) {
  const MPI_Datatype bases[kBases] = {MPI_INT, MPI_BYTE, MPI_SHORT, MPI_DOUBLE, MPI_C_DOUBLE_COMPLEX};
  if (layout_types[0][0] != 0) return;
  for (int b = 0; b < kBases; ++b)
    for (int i = 0; i < kLayouts; ++i) layout_types[b][i] = i == 0 ? bases[b] : make_layout(i, bases[b], widths[b]);
}

enum order { kInRow, kScattered, kScatteredBytes }; /* equal blocks in a row; in any order with gaps; the same, in bytes */

static void lay_out(struct side* side, int base, enum order order, int theirs, unsigned seed) {
  const int blocks = side->blocks, width = widths[base];
  int total = 0, in_order[kRanksMax];
  for (int b = 0; b < blocks; ++b) {
    const struct layout* layout;
    unsigned salt = order == kScatteredBytes ? seed + (unsigned)b : seed; /* only the w forms have a type for each block */
    int fits;
    do {
      layout = &layouts[mixed(salt++, 5, 0) % (theirs ? kSimple : kLayouts)];
      fits = 1;
      for (int k = 0; k < blocks; ++k) fits &= side->items[order == kScatteredBytes ? b : k] % layout->unit == 0;
    } while (!fits);
    side->layout[b] = layout;
    side->types[b] = layout_types[base][layout - layouts];
    side->counts[b] = side->items[b] / layout->unit;
    side->large_counts[b] = side->counts[b];
    total += side->items[b];
    in_order[b] = b;
  }
  if (order != kInRow)
    for (int b = blocks - 1; b > 0; --b) {
      int other = (int)(mixed(seed, 6, (uint64_t)b) % (unsigned)(b + 1)), kept = in_order[b];
      in_order[b] = in_order[other];
      in_order[other] = kept;
    }
  MPI_Aint at = 0, low = 0; /* elements, or bytes */
  for (int k = 0; k < blocks; ++k) {
    const int b = in_order[k], bytewise = order == kScatteredBytes;
    const MPI_Aint extent = side->layout[b]->extent * width, length = side->counts[b] * (extent < 0 ? -extent : extent);
    if (order == kScattered) at += (MPI_Aint)(mixed(seed, 7, (uint64_t)k) % 3);
    if (bytewise) at += 4 * width * (MPI_Aint)(mixed(seed, 7, (uint64_t)k) % 3 + 1) + (extent < 0 ? length : 0);
    side->displacements[b] = (int)at;
    side->large_displacements[b] = at;
    side->offsets[b] = bytewise ? at : at * extent;
    at += bytewise ? (extent < 0 ? 0 : length) : side->counts[b];
    if (!bytewise && extent < 0) low = -at * extent;
  }
  for (int b = 0; order == kScatteredBytes && !theirs && b < blocks; ++b) /* types of empty blocks mean nothing */
    if (side->counts[b] == 0) side->types[b] = MPI_DATATYPE_NULL;
  const MPI_Aint span = order == kScatteredBytes || blocks == 0 ? at : low != 0 ? 0 : at * side->layout[0]->extent * width;
  side->bytes = (size_t)(low + span) + 2 * kMargin;
  side->memory = malloc(side->bytes);
  side->start = side->memory + kMargin + low;
  side->buffer = total == 0 ? NULL : side->start;
}

/* Types that the program frees as soon as the call is made: copies, or types that hold the address, for MPI_BOTTOM. */
enum style { kLasting, kCopied, kAbsolute, kStyles };
static void dress(struct side* side, enum style style) {
  if (side->buffer == NULL || style == kLasting) return;
  for (int b = 0; b < side->blocks; ++b) {
    MPI_Datatype made, bare;
    MPI_Aint low, extent, address;
    if (side->types[b] == MPI_DATATYPE_NULL) continue;
    if (b > 0 && side->layout[b] == side->layout[0] && side->types[0] != MPI_DATATYPE_NULL) {
      side->types[b] = side->types[0];
      continue;
    }
    if (style == kCopied) {
      MPI_Type_dup(side->types[b], &made);
    } else {
      MPI_Get_address(side->start, &address);
      MPI_Type_get_extent(side->types[b], &low, &extent);
      MPI_Type_create_hindexed(1, (int[]){1}, &address, side->types[b], &bare);
      MPI_Type_create_resized(bare, address + low, extent, &made);
      MPI_Type_commit(&made);
      MPI_Type_free(&bare);
    }
    side->types[b] = made;
  }
  if (style == kAbsolute) side->buffer = MPI_BOTTOM;
}
static void undress(const struct side* side, int base) {
  for (int b = 0; b < side->blocks; ++b) {
    MPI_Datatype type = side->types[b]; /* the array itself belongs to the call until its end */
    if (type == MPI_DATATYPE_NULL || type == layout_types[base][side->layout[b] - layouts]) continue;
    if (b == 0 || type != side->types[0]) MPI_Type_free(&type);
  }
}

/* The rank that gives a block and the rank that gets it; -1: all ranks. */
struct ends {
  int from, to;
};
static struct ends ends_of(const struct trial* t, int sends, int b) {
  const struct room* room = t->room;
  const int me = room->base + room->me, root = t->root_base + t->root, n = room->size;
  int peer = room->peer_base + b;
  if (t->call == kMessage) peer = (sends ? room->me + 1 + (int)(t->seed % 3) : room->me + 4 * n - 1 - (int)(t->seed % 3)) % n;
  else if (t->call >= kNeighborAllgather) peer = sends ? room->destination[b] : room->source[b];
  switch (t->call) {
    case kBcast: return (struct ends){root, -1};
    case kGather:
    case kGatherv: return (struct ends){sends ? me : peer, root};
    case kScatter:
    case kScatterv: return (struct ends){root, sends ? peer : me};
    case kAllgather:
    case kAllgatherv:
    case kNeighborAllgather:
    case kNeighborAllgatherv: return (struct ends){sends ? me : peer, -1};
    default: return (struct ends){sends ? me : peer, sends ? peer : me};
  }
}
static int all_to_all(enum call call) {
  return (call >= kAlltoall && call <= kAlltoallw) || (call >= kNeighborAlltoall && call <= kMessage);
}
static int scatters(enum call call) { return call == kScatter || call == kScatterv; }
static int has_blocks_as_bytes(enum call call) { return call == kAlltoallw || call == kNeighborAlltoallw; }
static int ragged(enum call call) {
  return call == kGatherv || call == kScatterv || call == kAllgatherv || call == kAlltoallv || call == kNeighborAllgatherv ||
         call == kNeighborAlltoallv || call == kMessage || has_blocks_as_bytes(call);
}

/* Returns the items of a block. In v and w forms some blocks are shorter and some are empty. In place, a rank sends
 * blocks as long as those that it gets. */
static int items_in(const struct trial* t, struct ends e) {
  if (!ragged(t->call) || t->length == 0) return t->length;
  uint64_t key = (uint64_t)(scatters(t->call) ? e.to : e.from);
  if (all_to_all(t->call)) key = t->in_place && e.from > e.to ? (uint64_t)(e.to * 64 + e.from) : (uint64_t)(e.from * 64 + e.to);
  return mixed(t->seed, 3, key) % 4 == 0 ? 0 : (int)(mixed(t->seed, 4, key) % (unsigned)(t->length + 1));
}

static int replaces(const struct trial* t) { /* this rank passes MPI_IN_PLACE */
  return t->in_place && (t->call < kGather || t->call > kScatterv || t->room->me == t->root);
}

void make_move(struct trial* t) {
  const struct room* room = t->room;
  const int is_root = room->me == t->root && room->base == t->root_base, leaf = !t->lone && (room->kind != kInter || !is_root);
  const int sparse = t->call >= kNeighborAllgather && t->call < kMessage;
  const int sources = sparse ? room->sources : room->peers, destinations = sparse ? room->destinations : room->peers;
  struct side *send = &t->send, *receive = &t->receive;
  switch (t->call) {
    case kBarrier: break;
    case kBcast: send->blocks = is_root, receive->blocks = !is_root && leaf; break;
    case kGather:
    case kGatherv: send->blocks = leaf, receive->blocks = is_root ? sources : 0; break;
    case kScatter:
    case kScatterv: send->blocks = is_root ? destinations : 0, receive->blocks = leaf; break;
    case kMessage: send->blocks = receive->blocks = 1; break;
    default: send->blocks = all_to_all(t->call) ? destinations : 1, receive->blocks = sources;
  }
  for (int b = 0; b < send->blocks; ++b) send->items[b] = items_in(t, ends_of(t, 1, b));
  for (int b = 0; b < receive->blocks; ++b) receive->items[b] = items_in(t, ends_of(t, 0, b));
  list_layouts();
  t->base_type = (int)(t->seed / 7 % kBases);
  /* In some calls the MPIs themselves hang or fail if layouts differ. */
  const unsigned mine = mixed(t->seed, 2, (uint64_t)(t->theirs ? 0 : rank));
  const enum order order = has_blocks_as_bytes(t->call)             ? kScatteredBytes
                           : ragged(t->call) && t->call != kMessage ? kScattered
                                                                    : kInRow;
  /* A single block lies as its rank likes, whatever the other ranks do. kInRow also means: not in bytes. */
  lay_out(send, t->base_type, scatters(t->call) || all_to_all(t->call) ? order : kInRow, t->theirs, mine);
  lay_out(receive, t->base_type, scatters(t->call) ? kInRow : order, t->theirs, mine + !t->theirs);
  t->sent = malloc(send->bytes);
  t->want = malloc(receive->bytes);
}

static int value(long call, int s, int d, int i) {
  return (int)((unsigned)call * 2654435761u + (unsigned)s * 1000003u + (unsigned)d * 10007u + (unsigned)i * 31u);
}

static void put_item(unsigned char* to, const struct trial* t, struct ends e, int i, int width) {
  const unsigned v = (unsigned)value(t->values, e.from, e.to, i);
  unsigned words[4] = {v, v * 3, v * 5, v * 7};
  memcpy(to, words, (size_t)width);
}
static void write_block(const struct trial* t, const struct side* side, unsigned char* memory, int b, struct ends e) {
  const struct layout* layout = side->layout[b];
  const int width = widths[t->base_type];
  unsigned char* first = memory + (side->start - side->memory) + side->offsets[b];
  for (int i = 0; i < side->items[b]; ++i)
    put_item(first + (i / layout->unit * (ptrdiff_t)layout->extent + layout->at[i % layout->unit]) * width, t, e, i, width);
}

void fill_move(struct trial* t) {
  struct side *send = &t->send, *receive = &t->receive;
  const int replaced = replaces(t), me = t->room->me;
  memset(send->memory, kUntouched, send->bytes);
  memset(receive->memory, kUntouched, receive->bytes);
  memset(t->want, kUntouched, receive->bytes);
  for (int b = 0; b < send->blocks; ++b) write_block(t, send, send->memory, b, ends_of(t, 1, b));
  memcpy(t->sent, send->memory, send->bytes);
  for (int b = 0; b < receive->blocks; ++b) {
    const struct ends e = ends_of(t, 0, b);
    if (e.from < 0 || (replaced && scatters(t->call))) continue; /* MPI_PROC_NULL, or no data moves */
    write_block(t, receive, t->want, b, e);
    if (replaced && all_to_all(t->call)) write_block(t, receive, receive->memory, b, (struct ends){e.to, e.from});
    else if (replaced && b == me) write_block(t, receive, receive->memory, b, e);
  }
}

static int make_call(const struct trial* t, const struct side* s, const struct side* r, void* from, void* to, int root,
                     MPI_Request* two) {
  /* Arguments without meaning may be anything, but not if a rank merely happens to have no neighbours. */
  const int sparse = t->call >= kNeighborAllgather;
  const MPI_Datatype nothing = sparse ? MPI_INT : MPI_DATATYPE_NULL;
  const MPI_Datatype st = s->blocks ? s->types[0] : nothing, rt = r->blocks ? r->types[0] : nothing;
  const int sn = s->blocks ? s->counts[0] : sparse - 1, rn = r->blocks ? r->counts[0] : sparse - 1;
  const MPI_Comm comm = t->room->comm;
#define CALLS(C, sc, sd, rc, rd)                                                                                             \
  switch (t->call) {                                                                                                         \
    case kBcast:                                                                                                             \
      return s->blocks   ? CALL(Bcast, bcast, C, from, sn, st, root, comm)                                                   \
             : r->blocks ? CALL(Bcast, bcast, C, to, rn, rt, root, comm)                                                     \
                         : CALL(Bcast, bcast, C, NULL, 0, MPI_INT, root, comm);                                              \
    case kGather: return CALL(Gather, gather, C, from, sn, st, to, rn, rt, root, comm);                                      \
    case kGatherv: return CALL(Gatherv, gatherv, C, from, sn, st, to, rc, rd, rt, root, comm);                               \
    case kScatter: return CALL(Scatter, scatter, C, from, sn, st, to, rn, rt, root, comm);                                   \
    case kScatterv: return CALL(Scatterv, scatterv, C, from, sc, sd, st, to, rn, rt, root, comm);                            \
    case kAllgather: return CALL(Allgather, allgather, C, from, sn, st, to, rn, rt, comm);                                   \
    case kAllgatherv: return CALL(Allgatherv, allgatherv, C, from, sn, st, to, rc, rd, rt, comm);                            \
    case kAlltoall: return CALL(Alltoall, alltoall, C, from, sn, st, to, rn, rt, comm);                                      \
    case kAlltoallv: return CALL(Alltoallv, alltoallv, C, from, sc, sd, st, to, rc, rd, rt, comm);                           \
    case kAlltoallw: return CALL(Alltoallw, alltoallw, C, from, sc, sd, s->types, to, rc, rd, r->types, comm);               \
    case kNeighborAllgather: return CALL(Neighbor_allgather, neighbor_allgather, C, from, sn, st, to, rn, rt, comm);         \
    case kNeighborAllgatherv: return CALL(Neighbor_allgatherv, neighbor_allgatherv, C, from, sn, st, to, rc, rd, rt, comm);  \
    case kNeighborAlltoall: return CALL(Neighbor_alltoall, neighbor_alltoall, C, from, sn, st, to, rn, rt, comm);            \
    case kNeighborAlltoallv: return CALL(Neighbor_alltoallv, neighbor_alltoallv, C, from, sc, sd, st, to, rc, rd, rt, comm); \
    case kNeighborAlltoallw:                                                                                                 \
      return CALL(Neighbor_alltoallw, neighbor_alltoallw, C, from, sc, s->large_displacements, s->types, to, rc,             \
                  r->large_displacements, r->types, comm);                                                                   \
    default: break;                                                                                                          \
  }
  if (t->call == kBarrier) return CALL(Barrier, barrier, , comm);
  if (t->call == kMessage) {
    const int destination = ends_of(t, 1, 0).to, source = ends_of(t, 0, 0).from, tag = (int)(t->seed % 1000);
    if (t->form == kBlocking) return MPI_Sendrecv(from, sn, st, destination, tag, to, rn, rt, source, tag, comm, MPI_STATUS_IGNORE);
    if (t->form == kStarted)
      return MPI_Isend(from, sn, st, destination, tag, comm, two) | MPI_Irecv(to, rn, rt, source, tag, comm, two + 1);
    return MPI_Send_init(from, sn, st, destination, tag, comm, two) | MPI_Recv_init(to, rn, rt, source, tag, comm, two + 1);
  }
#if HAS_LARGE
  if (t->large) {
    CALLS(_c, s->large_counts, s->large_displacements, r->large_counts, r->large_displacements)
  }
#endif
  CALLS(, s->counts, s->displacements, r->counts, r->displacements)
  return MPI_ERR_OTHER;
}

int issue_move(struct trial* t, MPI_Request* request) {
  struct side nothing = {0}, *s = &t->send, *r = &t->receive;
  const int replaced = replaces(t), in_root_group = t->room->kind == kInter && t->room->base == t->root_base;
  if (!t->theirs) dress(s, (enum style)(mixed(t->seed, 8, (uint64_t)rank) % kStyles)); /* Open MPI's own calls may crash */
  if (!t->theirs) dress(r, (enum style)(mixed(t->seed, 9, (uint64_t)rank) % kStyles));
  void *from = s->blocks == 0 ? NULL : s->buffer, *to = r->blocks == 0 ? NULL : r->buffer;
  if (replaced && scatters(t->call)) to = MPI_IN_PLACE;
  else if (replaced) from = MPI_IN_PLACE;
  const int code =
      make_call(t, replaced && !scatters(t->call) ? &nothing : s, replaced && scatters(t->call) ? &nothing : r, from, to,
                !in_root_group ? t->root
                : t->lone      ? MPI_PROC_NULL
                               : MPI_ROOT,
                request);
  undress(s, t->base_type);
  undress(r, t->base_type);
  return code;
}

int move_is_right(const struct trial* t) {
  const struct side* r = &t->receive;
  const int width = widths[t->base_type];
  for (int b = 0; b < r->blocks; ++b) { /* in the order of items, which does not depend on the layout */
    const struct layout* layout = r->layout[b];
    uint64_t hash = 0;
    for (int i = 0; i < r->items[b]; ++i) {
      const ptrdiff_t at = r->offsets[b] + (i / layout->unit * (ptrdiff_t)layout->extent + layout->at[i % layout->unit]) * width;
      uint64_t item = 0;
      memcpy(&item, r->start + at, (size_t)(width < 8 ? width : 8));
      hash = (hash ^ item) * 0x100000001b3u;
    }
    add_to_digest(hash, t->values);
  }
  return memcmp(r->memory, t->want, r->bytes) == 0;
}

static void* map_sparse(size_t bytes) {
  void* memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT(memory != MAP_FAILED, "no %zu bytes of addresses", bytes);
  return memory;
}

/* Uses places beyond 2 and 4 GiB, in memory of which only the used part exists. */
void part_sparse(void) {
  enum { kInts = 1000 };
  const size_t apart = (size_t)700 << 20; /* ints: 2.7 GiB */
  const size_t bytes = sizeof(int) * (apart * (size_t)ranks + kInts);
  int *in = map_sparse(bytes), *out = map_sparse(bytes), counts[kRanksMax], places[kRanksMax];
  MPI_Datatype far; /* an int, and a third of a GiB to the next */
  const size_t step = (size_t)1 << 28;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)step * 4 / 3 / 4 * 4, &far);
  MPI_Type_commit(&far);
  for (int r = 0; r < ranks; ++r) counts[r] = kInts - r, places[r] = (int)(apart * (size_t)r);
  if (apart * (size_t)(ranks - 1) > INT32_MAX) /* as far as int displacements reach */
    for (int r = 0; r < ranks; ++r) places[r] = INT32_MAX / ranks * r;
#define AT(buffer, r, i) buffer[(size_t)places[r] + (size_t)(i)]
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < counts[r]; ++i) AT(in, r, i) = value(1, rank, r, i);
  int* own = malloc(sizeof(int) * kInts);
  MPI_Scatterv(in, counts, places, MPI_INT, own, counts[rank], MPI_INT, ranks - 1, MPI_COMM_WORLD);
  for (int i = 0; i < counts[rank]; ++i) EXPECT(own[i] == value(1, ranks - 1, rank, i), "element %d of a scatterv", i);
  MPI_Allgatherv(own, counts[rank], MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < counts[r]; ++i) EXPECT(AT(out, r, i) == value(1, ranks - 1, r, i), "element %d of rank %d", i, r);
  int takes[kRanksMax];
  for (int r = 0; r < ranks; ++r) takes[r] = counts[rank];
  MPI_Alltoallv(in, counts, places, MPI_INT, out, takes, places, MPI_INT, MPI_COMM_WORLD);
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < takes[r]; ++i) EXPECT(AT(out, r, i) == value(1, r, rank, i), "element %d from rank %d", i, r);
#undef AT
  MPI_Gather(&rank, 1, MPI_INT, out, 1, far, 0, MPI_COMM_WORLD);
  for (size_t r = 0; rank == 0 && r < (size_t)ranks; ++r)
    EXPECT(*(int*)((char*)out + r * (step * 4 / 3 / 4 * 4)) == (int)r, "element %d of a gather", (int)r);
  MPI_Type_free(&far);
  munmap(in, bytes);
  munmap(out, bytes);
  free(own);
}

/* Elements of several MiB. Only the two ends of each MiB are checked, so other memory of a sender need not exist. */
enum { kMiB = 1 << 20, kGap = 1 << 16 };
struct large {
  const char* name;
  MPI_Datatype type;
  int last_first, apart;
};
static int* large_row(const struct large* l, char* memory, int rows, int row) {
  return (int*)(memory + (size_t)(l->last_first ? (row + rows - 1) % rows : row) * (size_t)l->apart);
}
static void gather_large(int rows, const struct large* from, const struct large* to) {
  const size_t bytes = (size_t)rows * (kMiB + kGap);
  const int gives = rank == ranks - 1, last = kMiB / (int)sizeof(int) - 1;
  int counts[kRanksMax] = {0}, places[kRanksMax] = {0};
  char* memory = map_sparse(bytes);
  counts[ranks - 1] = 1;
  for (int row = 0; gives && row < rows; ++row) {
    int* const at = large_row(from, memory, rows, row);
    at[0] = value(2, rows, 0, row), at[last] = value(2, rows, 1, row);
  }
  MPI_Gatherv(memory, gives, from->type, memory, counts, places, to->type, 0, MPI_COMM_WORLD);
  for (int row = 0; rank == 0 && row < rows; ++row) {
    const int* const at = large_row(to, memory, rows, row);
    EXPECT(at[0] == value(2, rows, 0, row) && at[last] == value(2, rows, 1, row), "%s to %s: MiB %d", from->name, to->name, row);
  }
  munmap(memory, bytes);
}
static long peak_bytes(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}
void part_large(int rows) {
  enum { kTypes = 7, kDense = 4 }; /* the first four are recognised as dense and take no memory for packing */
  struct large types[kTypes] = {{"contiguous", 0, 0, kMiB},  {"most and rest", 0, 0, kMiB}, {"vector", 0, 0, kMiB},
                                {"large count", 0, 0, kMiB}, {"last first", 0, 1, kMiB},    {"gaps", 0, 0, kMiB + kGap},
                                {"indexed", 0, 0, kMiB}};
  MPI_Datatype row, most, turned;
  MPI_Type_contiguous(kMiB, MPI_BYTE, &row);
  MPI_Type_contiguous(rows, row, &types[0].type);
  MPI_Type_vector(rows - 1, 1, 1, row, &most); /* as libraries do for counts that are too large */
  const MPI_Aint most_bytes = (MPI_Aint)(rows - 1) * kMiB;
  MPI_Type_create_struct(2, (int[]){1, kMiB / 4}, (MPI_Aint[]){0, most_bytes}, (MPI_Datatype[]){most, MPI_INT}, &types[1].type);
  MPI_Type_create_hvector(rows, kMiB / 8, kMiB, MPI_DOUBLE, &types[2].type);
#if HAS_LARGE
  MPI_Type_contiguous_c((MPI_Count)rows * kMiB, MPI_CHAR, &types[3].type);
#else
  MPI_Type_dup(types[1].type, &types[3].type);
#endif
  MPI_Type_create_struct(2, (int[]){1, 1}, (MPI_Aint[]){most_bytes, 0}, (MPI_Datatype[]){row, most}, &turned);
  MPI_Type_contiguous(1, turned, &types[4].type);
  MPI_Type_create_hvector(rows, 1, kMiB + kGap, row, &types[5].type);
  MPI_Type_create_indexed_block(1, rows, (int[]){0}, row, &types[6].type);
  MPI_Type_free(&row);
  MPI_Type_free(&most);
  MPI_Type_free(&turned);
  for (int i = 0; i < kTypes; ++i) MPI_Type_commit(&types[i].type);
  MPI_Barrier(MPI_COMM_WORLD);
  const long before = peak_bytes();
  for (int i = 0; i < kTypes; ++i) {
    gather_large(rows, &types[i], &types[0]);
    gather_large(rows, &types[0], &types[i]);
    if (bare || i >= kDense) continue;
    const long more = peak_bytes() - before, own = rank == 0 ? rows : 0;
    EXPECT(more < (own + rows / 2) * (long)kMiB, "%s: %ld bytes more, as if it were packed", types[i].name, more);
  }
  for (int i = 0; i < kTypes; ++i) MPI_Type_free(&types[i].type);
}

/* More data comes than there is room for. The rank without room gets an error, and nothing is written past its
 * buffer. */
void part_truncated(void) {
  int class, counts[kRanksMax], places[kRanksMax], mine[4], *all = malloc(sizeof(int) * 8 * kRanksMax);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < 4; ++i) mine[i] = value(1, rank, root, i);
    for (int i = 0; i < 4 * kRanksMax; ++i) all[i] = -1;
    for (int r = 0; r < ranks; ++r) counts[r] = r == (root + 1) % ranks ? 2 : 4, places[r] = 4 * r;
    MPI_Error_class(MPI_Gatherv(mine, 4, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "gatherv: class %d", class);
    for (int r = 0; rank == root && r < ranks; ++r)
      for (int i = 0; i < 4; ++i)
        EXPECT(all[4 * r + i] == (i < counts[r] ? value(1, r, root, i) : -1), "element %d of rank %d", i, r);

    for (int i = 0; i < 4 * kRanksMax; ++i) all[i] = -1;
    MPI_Error_class(MPI_Gather(mine, 4, MPI_INT, all, 3, MPI_INT, root, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "gather: class %d", class);
    for (int r = 0; rank == root && r < ranks; ++r)
      for (int i = 0; i < 3; ++i) EXPECT(all[3 * r + i] == value(1, r, root, i), "element %d of rank %d", i, r);
    EXPECT(all[3 * ranks] == -1, "what follows the buffer");
    MPI_Error_class(MPI_Allgather(mine, 4, MPI_INT, all, rank == root ? 1 : 4, MPI_INT, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "allgather: class %d", class);
    EXPECT(all[4 * ranks] == -1, "what follows the buffer");

    if (bare) continue; /* an MPI gives no data but the error */
    int* const much = malloc(sizeof(int) * 100000);
    for (int i = 0; i < 100000; ++i) much[i] = value(1, rank, root, i);
    for (int i = 0; i < 8 * kRanksMax; ++i) all[i] = -1;
    for (int r = 0; r < ranks; ++r) counts[r] = 3;
    MPI_Error_class(MPI_Allgatherv(much, rank == root ? 100000 : 3, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "allgatherv: class %d", class);
    for (int i = 0; i < 4 * ranks; ++i)
      EXPECT(all[i] == (i % 4 < 3 ? value(1, i / 4, root, i % 4) : -1), "element %d of rank %d", i % 4, i / 4);
    /* a block that travels with no signal, and in more than one message between nodes */
    for (int i = 0; i < 8 * kRanksMax; ++i) all[i] = -1;
    const int from = (root + 1) % ranks;
    const int much_or_3 = rank == from ? 100000 : 3;
    MPI_Error_class(MPI_Gatherv(much, much_or_3, MPI_INT, all, counts, places, MPI_INT, root, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "gatherv of much: class %d", class);
    for (int i = 0; rank == root && i < 4 * ranks; ++i)
      EXPECT(all[i] == (i % 4 < 3 ? value(1, i / 4, root, i % 4) : -1), "element %d of rank %d", i % 4, i / 4);
    free(much);
    int* const out = all + 4 * ranks;
    for (int r = 0; r < ranks; ++r) counts[r] = 3;
    for (int i = 0; i < 8 * ranks; ++i) all[i] = i < 4 * ranks ? value(1, rank, i / 4, i % 4) : -1;
    int gives[kRanksMax];
    for (int r = 0; r < ranks; ++r) gives[r] = rank != root && r == root ? 4 : 3;
    MPI_Error_class(MPI_Alltoallv(all, gives, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD), &class);
    EXPECT(class == (rank == root && ranks > 1 ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "alltoallv: class %d", class);
    for (int i = 0; i < 4 * ranks; ++i)
      EXPECT(out[i] == (i % 4 < 3 ? value(1, i / 4, rank, i % 4) : -1), "element %d of rank %d", i % 4, i / 4);
  }
  free(all);
}
