/* Calls that move data: broadcasts between different layouts, and gathers, scatters, allgathers and all-to-alls, whose
 * blocks lie in other places and other types on every rank.
 *
 * What must come out is known without an oracle: the i-th integer that rank s sends to rank d is value(call, s, d, i). A
 * receive buffer is compared whole, so that gaps stay untouched, and a send buffer is compared as well. */
#include "collectives.h"

#include <sys/mman.h>

/* Broadcasts between types of equal content and different layout; gaps stay untouched. */
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
  MPI_Datatype *made[] = {&column, &swapped, &shifted, &negative, &whole, &absolute};
  for (int i = 0; i < 6; ++i) MPI_Type_commit(made[i]);
  for (int root = 0; root < ranks; ++root) {
    for (int i = 0; i < 3 * kRows; ++i) buffer[i] = -1;
    if (rank == root) for (int i = 0; i < kRows; ++i) buffer[rank % 2 ? i : 3 * i] = 7 * i + root;
    if (rank % 2) MPI_Bcast(buffer, kRows, MPI_INT, root, MPI_COMM_WORLD);
    else MPI_Bcast(buffer, 1, column, root, MPI_COMM_WORLD);
    for (int i = 0; i < kRows; ++i) EXPECT(buffer[rank % 2 ? i : 3 * i] == 7 * i + root, "row %d", i);
    if (rank % 2 == 0) for (int i = 0; i < kRows; ++i) EXPECT(buffer[3 * i + 1] == -1, "gap %d", i);

    for (int i = 0; i < kRows; ++i) data[i] = rank == root ? i * i + root : -1;
    if (rank % 3 == 0) MPI_Bcast(MPI_BOTTOM, 1, absolute, root, MPI_COMM_WORLD);
    else if (rank % 3 == 1) MPI_Bcast(data, 1, whole, root, MPI_COMM_WORLD);
    else MPI_Bcast(data, kRows / 2, swapped, root, MPI_COMM_WORLD);
    for (int i = 0; i < kRows; ++i) {
      int at = rank % 3 == 2 ? i ^ 1 : i;   /* where the i-th of the message lies here */
      int sent = root % 3 == 2 ? i ^ 1 : i; /* and where it lay at the root */
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
}


/* The other moves ---------------------------------------------------------------------------------------------- */

enum move { kGather, kGatherv, kScatter, kScatterv, kAllgather, kAllgatherv, kAlltoall, kAlltoallv, kAlltoallw, kMoves };
static const char *const move_names[kMoves] = {"gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv",
                                               "alltoall", "alltoallv", "alltoallw"};

/* A type of integers: where those of one element lie. */
struct layout { const char *name; int unit, at[2]; MPI_Aint extent; MPI_Datatype type; };
enum { kLayouts = 7, kMargin = 64, kUntouched = 0x5a };
static struct layout layouts[kLayouts];

static void list_layouts(void) {
  struct layout all[kLayouts] = {
    {"int", 1, {0, 0}, 4, MPI_INT},        {"pair", 2, {0, 4}, 8, MPI_DATATYPE_NULL},
    {"swapped", 2, {4, 0}, 8, MPI_DATATYPE_NULL}, {"gap inside", 2, {0, 8}, 16, MPI_DATATYPE_NULL},
    {"gap behind", 1, {0, 0}, 12, MPI_DATATYPE_NULL}, {"gap before", 1, {8, 0}, 16, MPI_DATATYPE_NULL},
    {"backwards", 2, {0, -8}, 16, MPI_DATATYPE_NULL}};
  for (int i = 1; i < kLayouts; ++i) {
    MPI_Datatype bare;
    MPI_Type_create_hindexed(all[i].unit, (int[]){1, 1}, (MPI_Aint[]){all[i].at[0], all[i].at[1]}, MPI_INT, &bare);
    MPI_Type_create_resized(bare, i == 5 ? 4 : 0, all[i].extent, &all[i].type);
    MPI_Type_commit(&all[i].type);
    MPI_Type_free(&bare);
  }
  memcpy(layouts, all, sizeof all);
}
static void free_layouts(void) {
  for (int i = 1; i < kLayouts; ++i) MPI_Type_free(&layouts[i].type);
}

static unsigned mixed(uint64_t a, uint64_t b, uint64_t c) { /* the same on all ranks, without a state */
  uint64_t z = (a * 0x9e3779b97f4a7c15u ^ b) * 0xbf58476d1ce4e5b9u ^ c;
  z = (z ^ z >> 31) * 0x94d049bb133111ebu;
  return (unsigned)(z >> 33);
}
static int value(long call, int s, int d, int i) {
  return (int)((unsigned)call * 2654435761u + (unsigned)s * 1000003u + (unsigned)d * 10007u + (unsigned)i * 31u);
}

/* One side of one rank's call: blocks of integers in a buffer. */
struct side {
  int blocks, ints[kRanksMax];
  const struct layout *layout[kRanksMax];
  int counts[kRanksMax], displacements[kRanksMax]; /* in elements; displacements of alltoallw in bytes */
  MPI_Count large_counts[kRanksMax];
  MPI_Aint large_displacements[kRanksMax];
  MPI_Datatype types[kRanksMax];
  size_t offsets[kRanksMax]; /* of element 0 of a block in memory */
  unsigned char *memory;
  size_t bytes;
  void *buffer; /* what MPI gets */
};

enum order { kInRow, kScattered, kScatteredBytes }; /* equal blocks in a row; in any order with gaps; the same, in bytes */

static void lay_out(struct side *side, int blocks, const int *ints, enum order order, unsigned seed) {
  int total = 0, in_order[kRanksMax];
  side->blocks = blocks;
  for (int b = 0; b < blocks; ++b) {
    const struct layout *layout;
    unsigned salt = order == kScatteredBytes ? seed + (unsigned)b : seed; /* only alltoallw has a type for each block */
    int fits;
    do {
      layout = &layouts[mixed(salt++, 5, 0) % kLayouts];
      fits = 1;
      for (int k = 0; k < blocks; ++k) fits &= ints[order == kScatteredBytes ? b : k] % layout->unit == 0;
    } while (!fits);
    side->layout[b] = layout;
    side->types[b] = layout->type;
    side->ints[b] = ints[b];
    side->counts[b] = ints[b] / layout->unit;
    side->large_counts[b] = side->counts[b];
    total += ints[b];
    in_order[b] = b;
  }
  if (order != kInRow)
    for (int b = blocks - 1; b > 0; --b) {
      int other = (int)(mixed(seed, 6, b) % (unsigned)(b + 1)), kept = in_order[b];
      in_order[b] = in_order[other];
      in_order[other] = kept;
    }
  MPI_Aint at = 0; /* elements, or bytes */
  for (int k = 0; k < blocks; ++k) {
    int b = in_order[k];
    MPI_Aint extent = side->layout[b]->extent, step = order == kScatteredBytes ? extent : 1;
    if (order == kScattered) at += (MPI_Aint)(mixed(seed, 7, k) % 3);
    if (order == kScatteredBytes) at += 16 * (MPI_Aint)(mixed(seed, 7, k) % 3 + 1); /* room for what lies before an element */
    side->displacements[b] = (int)at;
    side->large_displacements[b] = at;
    side->offsets[b] = kMargin + (size_t)(order == kScatteredBytes ? at : at * extent);
    at += side->counts[b] * step;
  }
  side->bytes = kMargin + (size_t)at * (order == kScatteredBytes || blocks == 0 ? 1 : (size_t)side->layout[0]->extent) + 64;
  side->memory = malloc(side->bytes);
  memset(side->memory, kUntouched, side->bytes);
  side->buffer = total == 0 ? NULL : side->memory + kMargin;
}

static void write_block(const struct side *side, unsigned char *memory, int b, long call, int s, int d) {
  const struct layout *layout = side->layout[b];
  unsigned char *element = memory + side->offsets[b];
  for (int i = 0; i < side->ints[b]; ++i) {
    int v = value(call, s, d, i);
    memcpy(element + i / layout->unit * layout->extent + layout->at[i % layout->unit], &v, 4);
  }
}

static int make_call(enum move move, int large, const struct side *s, const struct side *r, void *from, void *to, int root,
                     MPI_Comm comm) {
  MPI_Datatype st = s->blocks ? s->types[0] : MPI_DATATYPE_NULL, rt = r->blocks ? r->types[0] : MPI_DATATYPE_NULL;
  int sn = s->blocks ? s->counts[0] : -1, rn = r->blocks ? r->counts[0] : -1;
#define CALLS(C, sc, sd, rc, rd)                                                                          \
  switch (move) {                                                                                         \
    case kGather: return MPI_Gather##C(from, sn, st, to, rn, rt, root, comm);                             \
    case kGatherv: return MPI_Gatherv##C(from, sn, st, to, rc, rd, rt, root, comm);                       \
    case kScatter: return MPI_Scatter##C(from, sn, st, to, rn, rt, root, comm);                           \
    case kScatterv: return MPI_Scatterv##C(from, sc, sd, st, to, rn, rt, root, comm);                     \
    case kAllgather: return MPI_Allgather##C(from, sn, st, to, rn, rt, comm);                             \
    case kAllgatherv: return MPI_Allgatherv##C(from, sn, st, to, rc, rd, rt, comm);                       \
    case kAlltoall: return MPI_Alltoall##C(from, sn, st, to, rn, rt, comm);                               \
    case kAlltoallv: return MPI_Alltoallv##C(from, sc, sd, st, to, rc, rd, rt, comm);                     \
    case kAlltoallw: return MPI_Alltoallw##C(from, sc, sd, s->types, to, rc, rd, r->types, comm);         \
    case kMoves: break;                                                                                   \
  }
#if HAS_LARGE
  if (large) {
    CALLS(_c, s->large_counts, s->large_displacements, r->large_counts, r->large_displacements)
  }
#endif
  (void)large;
  CALLS(, s->counts, s->displacements, r->counts, r->displacements)
  return MPI_ERR_OTHER;
}

/* One call, checked. `ints`: the most integers in a block; v and w forms have fewer in some, and none in others. Every
 * argument is the same on all ranks. */
static void test_move(enum move move, MPI_Comm comm, int root, int ints, int in_place, int large, long call) {
  int me, size, lengths[kRanksMax], arrivals[kRanksMax];
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  if (bare && move == kAllgatherv) return; /* Open MPI with 4 ranks: an error, or wrong data */
  /* Alone, a rank is the MPI's, and some leave the data where they were: MPICH 4.0 and Open MPI. */
  if (size == 1 && (move == kAllgatherv || move == kAlltoallw)) return;
  const int rooted = move <= kScatterv, scatters = move == kScatter || move == kScatterv, all_to_all = move >= kAlltoall;
  const int ragged = move == kGatherv || move == kScatterv || move == kAllgatherv || move >= kAlltoallv;
  const unsigned seed = mixed((uint64_t)call, 1, 0), mine = mixed((uint64_t)call, 2, (uint64_t)(bare ? 0 : rank));
  const enum order order = move == kAlltoallw ? kScatteredBytes : ragged ? kScattered : kInRow;
  /* Integers from rank s to rank d. In place what one sends is as long as what it gets. */
#define INTS(s, d) (!ragged || ints == 0 ? ints : mixed(seed, 3, pair(s, d)) % 4 == 0 ? 0 : \
                    (int)(mixed(seed, 4, pair(s, d)) % (unsigned)(ints + 1)))
#define pair(s, d) (uint64_t)(!all_to_all ? (scatters ? (d) : (s)) : in_place ? ((s) < (d) ? (s) * 64 + (d) : (d) * 64 + (s)) : (s) * 64 + (d))
  for (int r = 0; r < size; ++r) lengths[r] = INTS(me, r), arrivals[r] = INTS(r, me);

  struct side send = {0}, receive = {0};
  const int sends = scatters ? (me == root ? size : 0) : all_to_all ? size : 1;
  const int receives = scatters ? 1 : rooted ? (me == root ? size : 0) : size;
  if (sends == 1 && !all_to_all && !scatters) lengths[0] = INTS(me, root);
  if (scatters) arrivals[0] = INTS(root, me);
  /* One block lies as the caller likes, whatever the others do; kInRow also means: not in bytes. */
  lay_out(&send, sends, lengths, scatters || all_to_all ? order : kInRow, mine);
  lay_out(&receive, receives, arrivals, scatters ? kInRow : order, mine + !bare);
#undef INTS
#undef pair
  for (int b = 0; !bare && move == kAlltoallw && b < size; ++b) { /* types of empty blocks mean nothing */
    if (send.counts[b] == 0) send.types[b] = MPI_DATATYPE_NULL;
    if (receive.counts[b] == 0) receive.types[b] = MPI_DATATYPE_NULL;
  }
  const int replaced = in_place && (!rooted || me == root); /* this rank passes MPI_IN_PLACE */

  for (int b = 0; b < sends; ++b) write_block(&send, send.memory, b, call, me, sends == size && (scatters || all_to_all) ? b : rooted ? root : -1);
  unsigned char *sent = malloc(send.bytes), *want = malloc(receive.bytes);
  memcpy(sent, send.memory, send.bytes);
  memset(want, kUntouched, receive.bytes);
  for (int b = 0; b < receives; ++b) {
    const int from = scatters ? root : b, to = scatters || all_to_all ? me : rooted ? root : -1;
    if (replaced && scatters) continue;
    write_block(&receive, want, b, call, from, to);
    if (replaced && all_to_all) write_block(&receive, receive.memory, b, call, me, b);
    if (replaced && !all_to_all && b == me) write_block(&receive, receive.memory, b, call, me, to);
  }
  void *from = sends == 0 ? NULL : send.buffer, *to = receives == 0 ? NULL : receive.buffer;
  struct side nothing = {0};
  if (replaced && scatters) to = MPI_IN_PLACE;
  if (replaced && !scatters) from = MPI_IN_PLACE;
  int result = make_call(move, large, replaced && !scatters ? &nothing : &send, replaced && scatters ? &nothing : &receive,
                         from, to, root, comm);
#define ABOUT "%s%s of up to %d ints, root %d of %d, call %ld: %s to %s", move_names[move], in_place ? " in place" : "", \
              ints, root, size, call, sends ? send.layout[0]->name : "-", receives ? receive.layout[0]->name : "-"
  EXPECT(result == MPI_SUCCESS, ABOUT);
  EXPECT(memcmp(receive.memory, want, receive.bytes) == 0, ABOUT);
  EXPECT(memcmp(send.memory, sent, send.bytes) == 0, ABOUT);
#undef ABOUT
  free(sent), free(want), free(send.memory), free(receive.memory);
}

/* Every move with every root, lengths from none to large, in place and not; every few on another communicator. */
void part_moves(void) {
  MPI_Comm half;
  static const int lengths[] = {0, 1, 2, 7, 30, 1001, 20000, 150000};
  long call = 0;
  list_layouts();
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
  for (int move = 0; move < kMoves; ++move)
    for (int root = 0; root < ranks; ++root)
      for (size_t n = 0; n < sizeof lengths / sizeof *lengths; ++n)
        for (int in_place = 0; in_place < 2; ++in_place)
          for (int large = 0; large <= HAS_LARGE; ++large) {
            if (lengths[n] > 100000 && (root > 0 || large)) continue;
            test_move(move, MPI_COMM_WORLD, root, lengths[n], in_place, large, ++call);
            if (call % 5 == 0) {
              test_move(move, call / 5 % 2 ? MPI_COMM_SELF : half, 0, lengths[n], in_place, large, call);
            }
          }
  /* MPI_BOTTOM with a type that holds the address. */
  int data[100], *all = malloc(sizeof(int) * 100 * (size_t)ranks);
  MPI_Aint address;
  MPI_Datatype absolute;
  MPI_Get_address(data, &address);
  MPI_Type_create_hindexed(1, (int[]){100}, &address, MPI_INT, &absolute);
  MPI_Type_commit(&absolute);
  for (int i = 0; i < 100; ++i) data[i] = value(1, rank, 0, i);
  MPI_Allgather(MPI_BOTTOM, 1, absolute, all, 100, MPI_INT, MPI_COMM_WORLD);
  for (int i = 0; i < 100 * ranks; ++i) EXPECT(all[i] == value(1, i / 100, 0, i % 100), "element %d of an allgather", i);
  for (int i = 0; i < 100; ++i) data[i] = -1;
  MPI_Scatter(all, 100, MPI_INT, MPI_BOTTOM, 1, absolute, ranks - 1, MPI_COMM_WORLD);
  for (int i = 0; i < 100; ++i) EXPECT(data[i] == value(1, rank, 0, i), "element %d of a scatter", i);
  MPI_Type_free(&absolute);
  free(all);
  MPI_Comm_free(&half);
  free_layouts();
}

static void *map_sparse(size_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT(memory != MAP_FAILED, "no %zu bytes of addresses", bytes);
  return memory;
}

/* Places beyond 2 and 4 GiB, in memory of which only what is used exists. */
void part_sparse(void) {
  enum { kInts = 1000 };
  const size_t apart = (size_t)700 << 20; /* ints: 2.7 GiB */
  const size_t bytes = sizeof(int) * (apart * (size_t)ranks + kInts);
  int *in = map_sparse(bytes), *out = map_sparse(bytes), counts[kRanksMax], places[kRanksMax];
  MPI_Datatype far; /* an int, and a third of a GiB till the next */
  const size_t step = (size_t)1 << 28;
  MPI_Type_create_resized(MPI_INT, 0, (MPI_Aint)step * 4 / 3 / 4 * 4, &far);
  MPI_Type_commit(&far);
  for (int r = 0; r < ranks; ++r) counts[r] = kInts - r, places[r] = (int)(apart * (size_t)r);
  if (apart * (size_t)(ranks - 1) > INT32_MAX) /* as far as int displacements go */
    for (int r = 0; r < ranks; ++r) places[r] = INT32_MAX / ranks * r;
#define AT(buffer, r, i) buffer[(size_t)places[r] + (size_t)(i)]
  for (int r = 0; r < ranks; ++r)
    for (int i = 0; i < counts[r]; ++i) AT(in, r, i) = value(1, rank, r, i);
  int *own = malloc(sizeof(int) * kInts);
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
    EXPECT(*(int *)((char *)out + r * (step * 4 / 3 / 4 * 4)) == (int)r, "element %d of a gather", (int)r);
  MPI_Type_free(&far);
  munmap(in, bytes);
  munmap(out, bytes);
  free(own);
}

/* More comes than there is room for: an error of the rank that has not got it; nothing is written past its buffer. */
void part_truncated(void) {
  int class, counts[kRanksMax], places[kRanksMax], mine[4], *all = malloc(sizeof(int) * 4 * kRanksMax);
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
  }
  free(all);
}

void random_move(MPI_Comm comm, long call) {
  static int listed = 0;
  if (!listed++) list_layouts();
  int size;
  PMPI_Comm_size(comm, &size);
  unsigned pick = next_random(), root = next_random(), length = next_random();
  test_move(pick % kMoves, comm, (int)(root % (unsigned)size), (int)(length % (1u << root / 64 % 14)), pick / 16 % 3 == 0,
            pick / 64 % 2, call);
}
