/* Reductions: every predefined type with every predefined operator, and operators of the user's that may not commute. */
#include "collectives.h"

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

/* out = the first `ranks_of` of `all` ranks' operands, combined in rank order by the MPI on this rank. */
static void fold(const unsigned char *all, int ranks_of, unsigned char *out, int count, const struct type *t, MPI_Op op) {
  const size_t bytes = t->extent * (size_t)count;
  const char kind = t->member[0].kind;
  const int lanes = count * t->members, half = kind == 'h' || kind == 'b';
  float *wide = malloc(sizeof(float) * 2 * (size_t)lanes), *sum = wide + lanes;
  for (int r = ranks_of - 1; r >= 0; --r) {
    const unsigned char *in = all + bytes * (size_t)r;
    for (int i = 0; half && i < lanes; ++i) wide[i] = from_half(((const uint16_t *)in)[i], kind);
    void *to = half ? (void *)sum : out;
    if (r == ranks_of - 1) memcpy(to, half ? (const void *)wide : in, half ? sizeof(float) * (size_t)lanes : bytes);
    else if (half) PMPI_Reduce_local(wide, sum, count, t->members == 2 ? MPI_C_FLOAT_COMPLEX : MPI_FLOAT, op);
    else PMPI_Reduce_local(in, out, count, t->handle, op);
  }
  for (int i = 0; half && i < lanes; ++i) ((uint16_t *)out)[i] = to_half(sum[i], kind);
  free(wide);
}

enum { kCount = 67 };
static _Alignas(16) unsigned char in[kCount * 64], mine[kCount * 64], oracle[kCount * 64];
static unsigned char *all; /* every rank's operands */

/* Scans and reductions to scattered blocks; `oracle` holds the sum of `in` over all ranks. */
static void partial_types(const struct type *t, const struct operator *o) {
  int counts[kRanksMax] = {0}, before = 0;
  static _Alignas(16) unsigned char part[kCount * 64];
  fold(all, rank + 1, part, kCount, t, o->handle);
  MPI_Scan(in, mine, kCount, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, part, t, kCount), "scan %s of %s", o->name, t->name);
  memcpy(mine, in, sizeof in);
  MPI_Scan(MPI_IN_PLACE, mine, kCount, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, part, t, kCount), "scan in place, %s of %s", o->name, t->name);
  if (rank > 0) fold(all, rank, part, kCount, t, o->handle);
  MPI_Exscan(in, mine, kCount, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(rank == 0 || same(mine, part, t, kCount), "exscan %s of %s", o->name, t->name);
  memcpy(mine, in, sizeof in);
  MPI_Exscan(MPI_IN_PLACE, mine, kCount, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(rank == 0 || same(mine, part, t, kCount), "exscan in place, %s of %s", o->name, t->name);

  const int block = kCount / ranks;
  const unsigned char *own = oracle + t->extent * (size_t)(rank * block);
  MPI_Reduce_scatter_block(in, mine, block, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, own, t, block), "reduce_scatter_block %s of %s", o->name, t->name);
  memcpy(mine, in, sizeof in);
  MPI_Reduce_scatter_block(MPI_IN_PLACE, mine, block, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, own, t, block), "reduce_scatter_block in place, %s of %s", o->name, t->name);
  for (int r = 0, left = kCount; r < ranks; ++r) { /* ragged, and none for rank 1 */
    counts[r] = r == ranks - 1 ? left : r == 1 ? 0 : block - r % 2;
    left -= counts[r];
    if (r < rank) before += counts[r];
  }
  own = oracle + t->extent * (size_t)before;
  MPI_Reduce_scatter(in, mine, counts, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, own, t, counts[rank]), "reduce_scatter %s of %s", o->name, t->name);
  memcpy(mine, in, sizeof in);
  MPI_Reduce_scatter(MPI_IN_PLACE, mine, counts, t->handle, o->handle, MPI_COMM_WORLD);
  EXPECT(same(mine, own, t, counts[rank]), "reduce_scatter in place, %s of %s", o->name, t->name);
}

/* Every predefined type with every predefined operator. */
void part_types(void) {
  struct operator ops[12];
  int op_count = list_operators(ops), defined = 0;
  list_types();
  all = malloc(sizeof in * (size_t)ranks);
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < op_count; ++o) {
      if (!is_defined(&types[t], ops[o].name)) continue;
      if (bare && (types[t].member[0].kind == 'h' || types[t].member[0].kind == 'b')) continue; /* MPICH 5 asserts */
      int root = (t + o) % ranks;
      const size_t bytes = types[t].extent * (size_t)kCount;
      for (int r = 0; r < ranks; ++r) fill(all + bytes * (size_t)r, &types[t], kCount);
      memcpy(in, all + bytes * (size_t)rank, bytes);
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
      partial_types(&types[t], &ops[o]);
    }
  EXPECT(defined > (bare ? 200 : 250), "only %d pairs are defined", defined);
  free(all);
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

enum reduction { kAllreduce, kReduce, kReduceScatter, kReduceScatterBlock, kScan, kExscan, kReductions };
static const char *const reduction_names[kReductions] = {"allreduce", "reduce", "reduce_scatter", "reduce_scatter_block",
                                                         "scan", "exscan"};

/* One reduction of `count` elements of `size` bytes by `combine`, checked against a fold in rank order on this rank.
 * Blocks of reduce_scatter are ragged; of reduce_scatter_block the largest equal ones. Gaps hold kUntouched. */
enum { kUntouched = 0x55 };
struct algebra {
  const char *name;
  MPI_Datatype type;
  MPI_Op op;
  size_t size;
  void (*combine)(void *, void *, int *, MPI_Datatype *);
  int bytes[4], members; /* that hold data: offset, length, offset, length */
};

static int equal(const struct algebra *a, const unsigned char *x, const unsigned char *y, int count) {
  for (int i = 0; i < count; ++i, x += a->size, y += a->size)
    for (int m = 0; m < a->members; ++m)
      if (memcmp(x + a->bytes[2 * m], y + a->bytes[2 * m], (size_t)a->bytes[2 * m + 1]) != 0) return 0;
  return 1;
}

static void test_reduction(enum reduction kind, const struct algebra *a, MPI_Comm comm, int root, int count, int in_place,
                           int large, long call) {
  int me, size, counts[kRanksMax], at = 0;
  MPI_Count large_counts[kRanksMax];
  PMPI_Comm_rank(comm, &me);
  PMPI_Comm_size(comm, &size);
  const size_t bytes = a->size * (size_t)count;
  unsigned char *operands = malloc(bytes * (size_t)size + 1), *want = malloc(bytes + 1), *gets = malloc(bytes + 1), *gives = malloc(bytes + 1);
  for (int r = 0; r < size; ++r) /* every rank knows what all of them give */
    for (size_t i = 0; i < bytes; i += 2) {
      const unsigned short v = (unsigned short)((call * 31 + r * 7 + (long)i * 13) % 11);
      memcpy(operands + bytes * (size_t)r + i, &v, 2);
    }
  for (int r = 0, left = count; r < size; ++r) {
    counts[r] = kind == kReduceScatterBlock ? count / size : r == size - 1 ? left : (int)((call + r * 3) % 4) * left / 5;
    large_counts[r] = counts[r];
    left -= counts[r];
    if (r < me) at += counts[r];
  }
  if (kind == kReduceScatterBlock) count = counts[0] * size;
  const int to = kind == kScan ? me + 1 : kind == kExscan ? me : size;
  const int own = kind == kReduceScatter || kind == kReduceScatterBlock ? counts[me] : count;
  const int has_result = (kind != kReduce || me == root) && to > 0;
  if (kind != kReduceScatter && kind != kReduceScatterBlock) at = 0;
  if (to > 0) memcpy(want, operands + bytes * (size_t)(to - 1), bytes);
  for (int r = to - 2; r >= 0; --r) a->combine(operands + bytes * (size_t)r, want, &count, NULL);

  memcpy(gives, operands + bytes * (size_t)me, bytes);
  memset(gets, kUntouched, bytes);
  const int replaced = in_place && (kind != kReduce || me == root);
  if (replaced) memcpy(gets, gives, bytes);
  void *from = replaced ? MPI_IN_PLACE : gives, *result = kind == kReduce && me != root ? NULL : gets;
  int code = MPI_ERR_OTHER;
  (void)large_counts; /* where the MPI has no large-count forms */
  switch (kind) {
    case kAllreduce: code = LARGE(MPI_Allreduce, large, from, result, count, a->type, a->op, comm); break;
    case kReduce: code = LARGE(MPI_Reduce, large, from, result, count, a->type, a->op, root, comm); break;
    case kScan: code = LARGE(MPI_Scan, large, from, result, count, a->type, a->op, comm); break;
    case kExscan: code = LARGE(MPI_Exscan, large, from, result, count, a->type, a->op, comm); break;
    case kReduceScatterBlock:
      code = LARGE(MPI_Reduce_scatter_block, large, from, result, counts[0], a->type, a->op, comm);
      break;
    case kReduceScatter:
#if HAS_LARGE
      if (large) {
        code = MPI_Reduce_scatter_c(from, result, large_counts, a->type, a->op, comm);
        break;
      }
#endif
      code = MPI_Reduce_scatter(from, result, counts, a->type, a->op, comm);
      break;
    case kReductions: break;
  }
#define ABOUT "%s%s of %d %s, root %d of %d, call %ld", reduction_names[kind], in_place ? " in place" : "", count, a->name, \
              root, size, call
  EXPECT(code == MPI_SUCCESS, ABOUT);
  EXPECT(!has_result || equal(a, gets, want + a->size * (size_t)at, own), ABOUT);
  for (int i = 0; has_result && !replaced && !bare && a->members > 1 && i < own; ++i)
    EXPECT(memcmp(gets + a->size * (size_t)i + 2, "\x55\x55", 2) == 0, ABOUT);
  EXPECT(memcmp(gives, operands + bytes * (size_t)me, bytes) == 0, ABOUT);
#undef ABOUT
  free(operands), free(want), free(gets), free(gives);
}

/* Operators of the user's: one that does not commute, one on a type with gaps, one on plain integers. */
enum { kAlgebras = 3 };
static void make_algebras(struct algebra *to) {
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
  struct algebra all[kAlgebras] = {
    {"matrices", matrix, product, 16, matrix_product, {0, 16}, 1},
    {"structs with gaps", gaps, add, sizeof(struct gappy), add_gappy, {0, 2, 4, 6}, 2},
    {"ints", MPI_INT, plain, 4, add_ints, {0, 4}, 1}};
  memcpy(to, all, sizeof all);
}
static void free_algebras(struct algebra *all) {
  for (int i = 0; i < kAlgebras; ++i) MPI_Op_free(&all[i].op);
  MPI_Type_free(&all[0].type);
  MPI_Type_free(&all[1].type);
}

void part_operators(void) {
  struct algebra algebras[kAlgebras];
  static const int counts[] = {0, 1, 2, 7, 300, 5000};
  long call = 0;
  make_algebras(algebras);
  for (int kind = 0; kind < kReductions; ++kind)
    for (int root = 0; root < (kind == kReduce ? ranks : 1); ++root)
      for (size_t n = 0; n < sizeof counts / sizeof *counts; ++n)
        for (int in_place = 0; in_place < 2; ++in_place)
          for (int a = 0; a < kAlgebras; ++a)
            for (int large = 0; large <= HAS_LARGE; ++large) {
              test_reduction(kind, &algebras[a], MPI_COMM_WORLD, root, counts[n], in_place, large, ++call);
              if (call % 5 == 0) test_reduction(kind, &algebras[a], MPI_COMM_SELF, 0, counts[n], in_place, large, call);
            }
  free_algebras(algebras);
}

void random_reduction(MPI_Comm comm, long call) {
  static struct algebra algebras[kAlgebras];
  if (algebras[0].name == NULL) make_algebras(algebras);
  int size;
  PMPI_Comm_size(comm, &size);
  unsigned pick = next_random(), root = next_random(), length = next_random();
  test_reduction(pick % kReductions, &algebras[pick / 8 % kAlgebras], comm, (int)(root % (unsigned)size),
                 (int)(length % (1u << root / 64 % 14)), pick / 32 % 3 == 0, pick / 128 % 2, call);
}
