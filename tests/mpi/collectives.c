/* Calls MPI_ functions, which the preload wraps, and PMPI_ functions, which it does not: the MPI itself is the oracle.
 *
 * Usage: collectives PART [SEED CALLS]. Prints "PART: N checks" on rank 0; on a difference prints it and exits with 1. */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank, ranks;
static long checks;

#define EXPECT(condition, ...)                                                    \
  do {                                                                            \
    ++checks;                                                                     \
    if (!(condition)) {                                                           \
      fprintf(stderr, "rank %d, line %d: %s: ", rank, __LINE__, #condition);      \
      fprintf(stderr, __VA_ARGS__);                                               \
      fprintf(stderr, "\n");                                                      \
      PMPI_Abort(MPI_COMM_WORLD, 1);                                              \
    }                                                                             \
  } while (0)

static uint64_t random_state;
static unsigned next_random(void) { /* splitmix64 */
  uint64_t z = random_state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return (unsigned)((z ^ z >> 31) >> 33);
}

/* A type: one or two members. i: integer of `bytes`; f: floating; h, b: the two halves; o: logical. */
struct member { char kind; int bytes, offset; };
struct type { const char *name; MPI_Datatype handle; size_t extent; int members; struct member member[2]; };
struct operator { const char *name; MPI_Op handle; };

static void put(unsigned char *at, const struct member *m, unsigned value) { /* value 0..3 */
  static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200}, brain[] = {0, 0x3f80, 0x4000, 0x4040};
  at += m->offset;
  if (m->kind == 'h') memcpy(at, &half[value], 2);
  if (m->kind == 'b') memcpy(at, &brain[value], 2);
  if (m->kind == 'o') { uint64_t v = value & 1; memcpy(at, &v, m->bytes); }
  if (m->kind == 'i') { uint64_t v = value; memcpy(at, &v, m->bytes); }
  if (m->kind == 'f') {
    float f = value; double d = value; long double l = value;
    memcpy(at, m->bytes == 4 ? (void *)&f : m->bytes == 8 ? (void *)&d : (void *)&l, m->bytes == 16 ? 10 : m->bytes);
  }
}
static void fill(unsigned char *to, const struct type *t, int count) {
  const unsigned values = ranks > 5 ? 2 : 4; /* such that a product of all ranks is exact in 8 bits */
  memset(to, 0, t->extent * count);
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < t->members; ++m) put(to + i * t->extent, &t->member[m], next_random() % values);
}
static int is_zero(const unsigned char *at, const struct member *m) { /* which sign it has, the order decides */
  if (m->kind == 'f' && m->bytes == 4) { float v; memcpy(&v, at, 4); return v == 0; }
  if (m->kind == 'f' && m->bytes == 8) { double v; memcpy(&v, at, 8); return v == 0; }
  if (m->kind == 'f') { long double v; memcpy(&v, at, sizeof v); return v == 0; }
  return (m->kind == 'h' || m->kind == 'b') && at[0] == 0 && (at[1] & 0x7f) == 0;
}
static int same(const unsigned char *a, const unsigned char *b, const struct type *t, int count) {
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < t->members; ++m) {
      size_t at = i * t->extent + t->member[m].offset;
      if (is_zero(a + at, &t->member[m]) && is_zero(b + at, &t->member[m])) continue;
      if (memcmp(a + at, b + at, t->member[m].bytes == 16 ? 10 : t->member[m].bytes) != 0) return 0; /* x87: 10 */
    }
  return 1;
}

#define ONE(T, kind, bytes) {#T, T, bytes, 1, {{kind, bytes, 0}}}
#define TWO(T, kind, bytes) {#T, T, 2 * (bytes), 2, {{kind, bytes, 0}, {kind, bytes, bytes}}}
#define PAIR(T, kind, C) {#T, T, sizeof(struct { C v; int i; }), 2, \
  {{kind, sizeof(C), 0}, {'i', 4, offsetof(struct { C v; int i; }, i)}}}
static struct type types[80];
static int type_count;

static void list_types(void) {
  struct type all[] = {
    ONE(MPI_SIGNED_CHAR, 'i', 1), ONE(MPI_UNSIGNED_CHAR, 'i', 1), ONE(MPI_SHORT, 'i', 2),
    ONE(MPI_UNSIGNED_SHORT, 'i', 2), ONE(MPI_INT, 'i', 4), ONE(MPI_UNSIGNED, 'i', 4), ONE(MPI_LONG, 'i', 8),
    ONE(MPI_UNSIGNED_LONG, 'i', 8), ONE(MPI_LONG_LONG, 'i', 8), ONE(MPI_UNSIGNED_LONG_LONG, 'i', 8),
    ONE(MPI_INT8_T, 'i', 1), ONE(MPI_INT16_T, 'i', 2), ONE(MPI_INT32_T, 'i', 4), ONE(MPI_INT64_T, 'i', 8),
    ONE(MPI_UINT8_T, 'i', 1), ONE(MPI_UINT16_T, 'i', 2), ONE(MPI_UINT32_T, 'i', 4), ONE(MPI_UINT64_T, 'i', 8),
    ONE(MPI_AINT, 'i', 8), ONE(MPI_OFFSET, 'i', 8), ONE(MPI_COUNT, 'i', 8), ONE(MPI_INTEGER, 'i', 4),
    ONE(MPI_INTEGER1, 'i', 1), ONE(MPI_INTEGER2, 'i', 2), ONE(MPI_INTEGER4, 'i', 4), ONE(MPI_INTEGER8, 'i', 8),
    ONE(MPI_BYTE, 'i', 1), ONE(MPI_FLOAT, 'f', 4), ONE(MPI_DOUBLE, 'f', 8), ONE(MPI_LONG_DOUBLE, 'f', 16),
    ONE(MPI_REAL, 'f', 4), ONE(MPI_DOUBLE_PRECISION, 'f', 8), ONE(MPI_REAL4, 'f', 4), ONE(MPI_REAL8, 'f', 8),
    ONE(MPI_C_BOOL, 'o', 1), ONE(MPI_CXX_BOOL, 'o', 1), ONE(MPI_LOGICAL, 'o', 4),
    TWO(MPI_C_FLOAT_COMPLEX, 'f', 4), TWO(MPI_C_DOUBLE_COMPLEX, 'f', 8), TWO(MPI_C_LONG_DOUBLE_COMPLEX, 'f', 16),
    TWO(MPI_COMPLEX, 'f', 4), TWO(MPI_DOUBLE_COMPLEX, 'f', 8), TWO(MPI_COMPLEX8, 'f', 4), TWO(MPI_COMPLEX16, 'f', 8),
    TWO(MPI_CXX_FLOAT_COMPLEX, 'f', 4), TWO(MPI_CXX_DOUBLE_COMPLEX, 'f', 8),
    TWO(MPI_CXX_LONG_DOUBLE_COMPLEX, 'f', 16),
    PAIR(MPI_FLOAT_INT, 'f', float), PAIR(MPI_DOUBLE_INT, 'f', double), PAIR(MPI_LONG_INT, 'i', long),
    PAIR(MPI_2INT, 'i', int), PAIR(MPI_SHORT_INT, 'i', short), PAIR(MPI_LONG_DOUBLE_INT, 'f', long double),
    TWO(MPI_2REAL, 'f', 4), TWO(MPI_2DOUBLE_PRECISION, 'f', 8), TWO(MPI_2INTEGER, 'i', 4),
#if defined(MPI_LOGICAL1) || MPI_VERSION >= 5
    ONE(MPI_LOGICAL1, 'o', 1), ONE(MPI_LOGICAL2, 'o', 2), ONE(MPI_LOGICAL4, 'o', 4), ONE(MPI_LOGICAL8, 'o', 8),
#endif
#ifdef MPI_REAL2
    ONE(MPI_REAL2, 'h', 2), TWO(MPI_COMPLEX4, 'h', 2),
#endif
#ifdef MPIX_C_FLOAT16
    ONE(MPIX_C_FLOAT16, 'h', 2),
#endif
#ifdef MPIX_BFLOAT16
    ONE(MPIX_BFLOAT16, 'b', 2),
#endif
#ifdef MPIX_C_BF16
    ONE(MPIX_C_BF16, 'b', 2),
#endif
  };
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
    if (all[i].handle != MPI_DATATYPE_NULL) types[type_count++] = all[i];
}
static int list_operators(struct operator *to) {
  struct operator all[] = {{"SUM", MPI_SUM}, {"PROD", MPI_PROD}, {"MIN", MPI_MIN}, {"MAX", MPI_MAX},
    {"LAND", MPI_LAND}, {"LOR", MPI_LOR}, {"LXOR", MPI_LXOR}, {"BAND", MPI_BAND}, {"BOR", MPI_BOR},
    {"BXOR", MPI_BXOR}, {"MINLOC", MPI_MINLOC}, {"MAXLOC", MPI_MAXLOC}};
  memcpy(to, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* MPI-4.1 6.9.2. Not every MPI survives being asked for more: MPICH 4.0 asserts for LAND of FLOAT. */
static int is_defined(const struct type *t, const char *op) {
  int logical = strcmp(op, "LAND") == 0 || strcmp(op, "LOR") == 0 || strcmp(op, "LXOR") == 0, bitwise = op[0] == 'B';
  int location = strlen(op) == 6, order = !location && op[0] == 'M', arithmetic = !logical && !bitwise && op[0] != 'M';
  if (t->members == 2 && (t->member[1].kind == 'i' || strncmp(t->name, "MPI_2", 5) == 0)) return location;
  if (t->members == 2) return arithmetic;
  if (t->handle == MPI_BYTE) return bitwise;
  if (t->member[0].kind == 'o') return logical;
  if (t->member[0].kind != 'i') return arithmetic || order;
  if (strncmp(t->name, "MPI_INTEGER", 11) == 0 || t->handle == MPI_AINT || t->handle == MPI_OFFSET ||
      t->handle == MPI_COUNT) return arithmetic || order || bitwise;
  return !location;
}

static float from_half(uint16_t bits, char kind) { /* of zero and normal numbers */
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, size = bits & 0x7fff, wide;
  wide = sign | (kind == 'b' ? size << 16 : size == 0 ? 0 : (size << 13) + (112u << 23));
  float value;
  memcpy(&value, &wide, 4);
  return value;
}
static uint16_t to_half(float value, char kind) {
  uint32_t wide;
  memcpy(&wide, &value, 4);
  uint32_t size = wide & 0x7fffffff;
  return (uint16_t)(wide >> 16 & 0x8000) | (uint16_t)(kind == 'b' ? size >> 16 : size == 0 ? 0 : (size - (112u << 23)) >> 13);
}

/* The MPI's own result. Of half floats by way of whole ones: MPICH 5 asserts for PROD of BFLOAT16. */
static void ask(const unsigned char *in, unsigned char *out, int count, const struct type *t, MPI_Op op) {
  char kind = t->member[0].kind;
  if (kind != 'h' && kind != 'b') {
    EXPECT(PMPI_Allreduce(in, out, count, t->handle, op, MPI_COMM_WORLD) == MPI_SUCCESS, "%s", t->name);
    return;
  }
  int lanes = count * t->members;
  float *wide = malloc(sizeof(float) * 2 * (size_t)lanes), *sum = wide + lanes;
  for (int i = 0; i < lanes; ++i) wide[i] = from_half(((const uint16_t *)in)[i], kind);
  PMPI_Allreduce(wide, sum, count, t->members == 2 ? MPI_C_FLOAT_COMPLEX : MPI_FLOAT, op, MPI_COMM_WORLD);
  for (int i = 0; i < lanes; ++i) ((uint16_t *)out)[i] = to_half(sum[i], kind);
  free(wide);
}

/* Every predefined type with every predefined operator. */
static void part_types(void) {
  struct operator ops[12];
  int op_count = list_operators(ops);
  enum { kCount = 67 };
  static _Alignas(16) unsigned char in[kCount * 64], mine[kCount * 64], oracle[kCount * 64];
  int defined = 0;
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < op_count; ++o) {
      if (!is_defined(&types[t], ops[o].name)) continue;
      int root = (t + o) % ranks;
      fill(in, &types[t], kCount);
      ask(in, oracle, kCount, &types[t], ops[o].handle);
      MPI_Allreduce(in, mine, kCount, types[t].handle, ops[o].handle, MPI_COMM_WORLD);
      ++defined;
      EXPECT(same(mine, oracle, &types[t], kCount), "allreduce %s of %s", ops[o].name, types[t].name);
      memcpy(mine, in, sizeof in);
      MPI_Allreduce(MPI_IN_PLACE, mine, kCount, types[t].handle, ops[o].handle, MPI_COMM_WORLD);
      EXPECT(same(mine, oracle, &types[t], kCount), "allreduce in place, %s of %s", ops[o].name, types[t].name);
      memcpy(mine, in, sizeof in);
      MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, rank == root ? mine : NULL, kCount, types[t].handle,
                 ops[o].handle, root, MPI_COMM_WORLD);
      EXPECT(rank != root || same(mine, oracle, &types[t], kCount), "reduce %s of %s", ops[o].name, types[t].name);
      memset(mine, 0, sizeof mine);
      if (rank == root) memcpy(mine, oracle, sizeof oracle);
      MPI_Bcast(mine, kCount, types[t].handle, root, MPI_COMM_WORLD);
      EXPECT(same(mine, oracle, &types[t], kCount), "bcast of %s", types[t].name);
    }
  EXPECT(defined > 250, "only %d pairs are defined", defined);
}

/* Broadcasts between types of equal content and different layout; gaps stay untouched. */
static void part_derived(void) {
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

static void matrix_product(void *in, void *inout, int *count, MPI_Datatype *type) { /* does not commute */
  (void)type;
  unsigned *a = in, *b = inout;
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    unsigned r[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2],
                     a[2] * b[1] + a[3] * b[3]};
    memcpy(b, r, sizeof r);
  }
}
struct gappy { short key; /* gap */ int value; short tail; /* gap at the end */ };
static void add_gappy(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  struct gappy *a = in, *b = inout;
  for (int i = 0; i < *count; ++i) b[i].key += a[i].key, b[i].value += a[i].value, b[i].tail += a[i].tail;
}
static void add_ints(void *in, void *inout, int *count, MPI_Datatype *type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int *)inout)[i] += ((int *)in)[i];
}

static void part_operators(void) {
  enum { kCount = 300 };
  MPI_Datatype matrix, gaps;
  MPI_Op product, add, plain;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 4, 8}, (MPI_Datatype[]){MPI_SHORT, MPI_INT, MPI_SHORT},
                         &gaps);
  MPI_Type_commit(&matrix);
  MPI_Type_commit(&gaps);
  MPI_Op_create(matrix_product, 0, &product);
  MPI_Op_create(add_gappy, 1, &add);
  MPI_Op_create(add_ints, 1, &plain);
  for (int root = 0; root < ranks; ++root)
    for (int count = 1; count <= kCount; count += 299) {
      static unsigned in[4 * kCount], mine[4 * kCount], oracle[4 * kCount];
      for (int i = 0; i < 4 * kCount; ++i) in[i] = next_random() % 100;
      PMPI_Allreduce(in, oracle, count, matrix, product, MPI_COMM_WORLD);
      MPI_Allreduce(in, mine, count, matrix, product, MPI_COMM_WORLD);
      EXPECT(memcmp(mine, oracle, 16 * count) == 0, "allreduce of matrices");
      memset(mine, 0, sizeof mine);
      MPI_Reduce(in, rank == root ? mine : NULL, count, matrix, product, root, MPI_COMM_WORLD);
      EXPECT(rank != root || memcmp(mine, oracle, 16 * count) == 0, "reduce of matrices");

      static struct gappy g[kCount], out[kCount], want[kCount];
      memset(out, 0x55, sizeof out);
      memset(want, 0x55, sizeof want);
      memset(g, 0, sizeof g);
      for (int i = 0; i < count; ++i) g[i] = (struct gappy){next_random() % 9, next_random() % 99, next_random() % 9};
      PMPI_Allreduce(g, want, count, gaps, add, MPI_COMM_WORLD);
      MPI_Allreduce(g, out, count, gaps, add, MPI_COMM_WORLD);
      for (int i = 0; i < count; ++i) {
        EXPECT(out[i].key == want[i].key && out[i].value == want[i].value && out[i].tail == want[i].tail, "gaps");
        EXPECT(memcmp((char *)&out[i] + 2, "\x55\x55", 2) == 0, "the gap was written");
      }
      MPI_Allreduce(MPI_IN_PLACE, g, count, gaps, add, MPI_COMM_WORLD);
      EXPECT(g[0].value == want[0].value && g[count - 1].tail == want[count - 1].tail, "gaps in place");
      MPI_Allreduce(in, mine, count, MPI_INT, plain, MPI_COMM_WORLD);
      PMPI_Allreduce(in, oracle, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      EXPECT(memcmp(mine, oracle, 4 * count) == 0, "own sum");
    }
  MPI_Op_free(&product);
  MPI_Op_free(&add);
  MPI_Op_free(&plain);
  MPI_Type_free(&matrix);
  MPI_Type_free(&gaps);
}

static void check_comm(MPI_Comm comm) {
  int me, size, sum = -1, root_value;
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
  EXPECT(sum == size * (size - 1) / 2, "%d of %d ranks: %d", me, size, sum);
  for (int root = 0; root < size; ++root) {
    root_value = me == root ? 100 + root : -1;
    MPI_Bcast(&root_value, 1, MPI_INT, root, comm);
    EXPECT(root_value == 100 + root, "root %d: %d", root, root_value);
    int top = -1;
    MPI_Reduce(&me, &top, 1, MPI_INT, MPI_MAX, root, comm);
    EXPECT(me != root || top == size - 1, "root %d: %d", root, top);
  }
  MPI_Barrier(comm);
}

/* Communicators that come and go: their handles are used again. */
static int copies;
static int count_copy(MPI_Comm comm, int key, void *extra, void *in, void *out, int *flag) {
  (void)comm, (void)key, (void)extra, (void)in, (void)out;
  *flag = 0;
  ++copies;
  return MPI_SUCCESS;
}

static void part_communicators(void) {
  MPI_Comm noted; /* the program does not notice a communicator behind its own */
  int key;
  MPI_Comm_dup(MPI_COMM_WORLD, &noted);
  MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
  MPI_Comm_set_attr(noted, key, NULL);
  check_comm(noted);
  EXPECT(copies == 0, "attributes were copied %d times", copies);
  MPI_Comm_free(&noted);
  MPI_Comm_free_keyval(&key);

  check_comm(MPI_COMM_WORLD);
  check_comm(MPI_COMM_SELF);
  for (int i = 0; i < 40; ++i) {
    MPI_Comm dup, split;
    MPI_Comm_split(MPI_COMM_WORLD, (rank + i) % 2, i % 3 ? rank : -rank, &split);
    check_comm(split);
    MPI_Comm_dup(i % 2 ? split : MPI_COMM_WORLD, &dup);
    check_comm(dup);
    MPI_Comm_free(&split);
    check_comm(dup);
    if (i % 5 == 0) MPI_Comm_disconnect(&dup);
    else MPI_Comm_free(&dup);
  }
  if (ranks < 2) return;
  MPI_Comm half, inter; /* an intercommunicator is the MPI's */
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 5, &inter);
  int one = 1, others = 0, size;
  MPI_Comm_remote_size(inter, &size);
  MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, inter);
  EXPECT(others == size, "intercommunicator: %d", others);
  MPI_Comm merged;
  MPI_Intercomm_merge(inter, rank % 2, &merged);
  check_comm(merged);
  MPI_Comm_free(&merged);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
}

static void *thread_main(void *argument) {
  MPI_Comm comm = *(MPI_Comm *)argument;
  for (int i = 0; i < 200; ++i) {
    int in = rank + i, out = -1;
    MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, comm);
    if (out != ranks * (ranks - 1) / 2 + ranks * i) return "wrong sum";
    int value = rank == i % ranks ? i : -1;
    MPI_Bcast(&value, 1, MPI_INT, i % ranks, comm);
    if (value != i) return "wrong broadcast";
  }
  return NULL;
}
static void part_threads(void) {
  enum { kThreads = 3 };
  MPI_Comm comms[kThreads];
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, thread_main, &comms[i]);
  for (int i = 0; i < kThreads; ++i) {
    void *wrong;
    pthread_join(threads[i], &wrong);
    EXPECT(wrong == NULL, "thread %d: %s", i, (char *)wrong);
    MPI_Comm_free(&comms[i]);
  }
}

/* Calls in a random order, with random roots and sizes, replayable by seed. */
static void part_random(long calls) {
  static int in[20000], mine[20000], oracle[20000];
  MPI_Comm sub, comms[2] = {MPI_COMM_WORLD, MPI_COMM_NULL};
  MPI_Comm_split(MPI_COMM_WORLD, rank == 0 && ranks > 2, -rank, &sub);
  comms[1] = sub;
  for (long call = 0; call < calls; ++call) {
    unsigned kind = next_random() % 4, which = next_random() % 8 == 0, pick = next_random();
    int size, me;
    PMPI_Comm_size(comms[which], &size);
    PMPI_Comm_rank(comms[which], &me);
    int count = (int)(next_random() % (1u << next_random() % 15)), root = (int)(pick % (unsigned)size);
    for (int i = 0; i < count; ++i) in[i] = (int)(pick ^ (unsigned)(me * 77 + i));
    memset(mine, 0, 4 * (size_t)count);
    memset(oracle, 0, 4 * (size_t)count);
    if (kind == 0) MPI_Barrier(comms[which]);
    if (kind == 1) {
      if (me == root) memcpy(mine, in, 4 * (size_t)count), memcpy(oracle, in, 4 * (size_t)count);
      MPI_Bcast(mine, count, MPI_INT, root, comms[which]);
      PMPI_Bcast(oracle, count, MPI_INT, root, comms[which]);
    }
    if (kind == 2) {
      MPI_Reduce(in, mine, count, MPI_INT, MPI_BXOR, root, comms[which]);
      PMPI_Reduce(in, oracle, count, MPI_INT, MPI_BXOR, root, comms[which]);
      if (me != root) continue;
    }
    if (kind == 3) {
      MPI_Allreduce(in, mine, count, MPI_INT, MPI_MAX, comms[which]);
      PMPI_Allreduce(in, oracle, count, MPI_INT, MPI_MAX, comms[which]);
    }
    EXPECT(memcmp(mine, oracle, 4 * (size_t)count) == 0, "call %ld: kind %u, count %d, root %d", call, kind, count, root);
  }
  MPI_Comm_free(&sub);
}

/* Errors are the MPI's: classes as without Copse. */
static void part_errors(void) {
  int in = 1, out = 0, class;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
#define CLASS(wanted, call) MPI_Error_class(call, &class); EXPECT(class == wanted, "%s: class %d", #call, class)
  CLASS(MPI_ERR_COUNT, MPI_Bcast(&in, -1, MPI_INT, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_ROOT, MPI_Bcast(&in, 1, MPI_INT, ranks, MPI_COMM_WORLD));
  CLASS(MPI_ERR_TYPE, MPI_Bcast(&in, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD));
  CLASS(MPI_ERR_OP, MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD));
  CLASS(MPI_ERR_COMM, MPI_Allreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL));
  MPI_Datatype type;
  MPI_Type_vector(2, 1, 2, MPI_INT, &type);
  int four[4] = {0};
  CLASS(MPI_ERR_TYPE, MPI_Bcast(four, 1, type, 0, MPI_COMM_WORLD));
  MPI_Type_free(&type);
  check_comm(MPI_COMM_WORLD);
}

/* Buffers that the MPI hands out. */
static void part_memory(void) {
  enum { kCount = 100000 };
  for (int i = 0; i < 5; ++i) {
    int *in = NULL, *out = NULL;
    MPI_Alloc_mem(kCount * sizeof(int), MPI_INFO_NULL, &in);
    MPI_Alloc_mem(kCount * sizeof(int), MPI_INFO_NULL, &out);
    EXPECT(in != NULL && out != NULL && (uintptr_t)in % 16 == 0, "MPI_Alloc_mem");
    for (int k = 0; k < kCount; ++k) in[k] = k + rank;
    MPI_Allreduce(in, out, kCount, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    for (int k = 0; k < kCount; ++k) EXPECT(out[k] == ranks * k + ranks * (ranks - 1) / 2, "element %d", k);
    MPI_Free_mem(in);
    MPI_Free_mem(out);
  }
}

/* For COPSE_CHECK: rank 1 calls something else. */
static void part_mismatch(const char *what) {
  int a[4] = {0}, b[4];
  if (strcmp(what, "root") == 0) MPI_Bcast(a, 4, MPI_INT, rank == 1, MPI_COMM_WORLD);
  if (strcmp(what, "count") == 0) MPI_Bcast(a, rank == 1 ? 3 : 4, MPI_INT, 0, MPI_COMM_WORLD);
  if (strcmp(what, "operator") == 0)
    MPI_Allreduce(a, b, 4, MPI_INT, rank == 1 ? MPI_MIN : MPI_SUM, MPI_COMM_WORLD);
  if (strcmp(what, "collective") == 0) {
    if (rank == 1) MPI_Barrier(MPI_COMM_WORLD);
    else MPI_Allreduce(a, b, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  }
}

/* The last rank dies in the middle of a collective. */
static void part_killed(void) {
  int value = rank, sum;
  for (int i = 0; i < 100; ++i) MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == ranks - 1) raise(SIGKILL);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
}
static void *kill_soon(void *unused) {
  usleep(300000);
  raise(SIGKILL);
  return unused;
}
static void part_killed_amid(void) { /* somewhere in the fragments of a long message */
  enum { kCount = 1 << 20 };
  double *in = calloc(kCount, sizeof *in), *out = calloc(kCount, sizeof *out);
  pthread_t killer;
  if (rank == ranks - 1) pthread_create(&killer, NULL, kill_soon, NULL);
  for (;;) MPI_Allreduce(in, out, kCount, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

int main(int argc, char **argv) {
  const char *part = argc > 1 ? argv[1] : "types";
  int provided;
  if (strcmp(part, "threads") == 0) MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  else MPI_Init(&argc, &argv);
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  list_types();
  if (strcmp(part, "types") == 0) part_types();
  else if (strcmp(part, "derived") == 0) part_derived();
  else if (strcmp(part, "operators") == 0) part_operators();
  else if (strcmp(part, "communicators") == 0) part_communicators();
  else if (strcmp(part, "threads") == 0) part_threads();
  else if (strcmp(part, "random") == 0) part_random(argc > 3 ? atol(argv[3]) : 1000);
  else if (strcmp(part, "errors") == 0) part_errors();
  else if (strcmp(part, "memory") == 0) part_memory();
  else if (strcmp(part, "mismatch") == 0) part_mismatch(argv[2]);
  else if (strcmp(part, "killed") == 0) part_killed();
  else if (strcmp(part, "killed-amid") == 0) part_killed_amid();
  else return fprintf(stderr, "unknown part %s\n", part), 2;
  if (rank == 0) printf("%s: %ld checks\n", part, checks);
  MPI_Finalize();
  return 0;
}
