/* Reductions: every predefined type with every predefined operator. Trials use those, and user operators that may
 * not commute. */
#include "trials.h"

/* A type with one or two members. i: integer of `bytes`; f: floating; h, b: the two 16-bit floats; o: logical. */
struct member {
  char kind;
  int bytes, offset;
};
struct type {
  const char* name;
  MPI_Datatype handle;
  size_t extent;
  int members;
  struct member member[2];
};
struct operator {
  const char* name;
  MPI_Op handle;
};

static void put(unsigned char* at, const struct member* m, unsigned value) { /* value 0..3 */
  static const uint16_t half[] = {0, 0x3c00, 0x4000, 0x4200}, brain[] = {0, 0x3f80, 0x4000, 0x4040};
  at += m->offset;
  if (m->kind == 'h') memcpy(at, &half[value], 2);
  if (m->kind == 'b') memcpy(at, &brain[value], 2);
  if (m->kind == 'o') {
    uint64_t v = value & 1;
    memcpy(at, &v, m->bytes);
  }
  if (m->kind == 'i') {
    uint64_t v = value;
    memcpy(at, &v, m->bytes);
  }
  if (m->kind == 'f') {
    float f = value;
    double d = value;
    long double l = value;
    memcpy(at, m->bytes == 4 ? (void*)&f : m->bytes == 8 ? (void*)&d : (void*)&l, m->bytes == 16 ? 10 : m->bytes);
  }
}
static void fill(unsigned char* to, const struct type* t, int count) {
  const unsigned values = ranks > 5 ? 2 : 4; /* so that a product over all ranks is exact in 8 bits */
  memset(to, 0, t->extent * count);
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < t->members; ++m) put(to + i * t->extent, &t->member[m], next_random() % values);
}
static int is_zero(const unsigned char* at, const struct member* m) { /* the order of ranks decides its sign */
  if (m->kind == 'f' && m->bytes == 4) {
    float v;
    memcpy(&v, at, 4);
    return v == 0;
  }
  if (m->kind == 'f' && m->bytes == 8) {
    double v;
    memcpy(&v, at, 8);
    return v == 0;
  }
  if (m->kind == 'f') {
    long double v;
    memcpy(&v, at, sizeof v);
    return v == 0;
  }
  return (m->kind == 'h' || m->kind == 'b') && at[0] == 0 && (at[1] & 0x7f) == 0;
}
static int same(const unsigned char* a, const unsigned char* b, const struct type* t, int count) {
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < t->members; ++m) {
      size_t at = i * t->extent + t->member[m].offset;
      if (is_zero(a + at, &t->member[m]) && is_zero(b + at, &t->member[m])) continue;
      if (memcmp(a + at, b + at, t->member[m].bytes == 16 ? 10 : t->member[m].bytes) != 0) return 0; /* x87: 10 */
    }
  return 1;
}

#define ONE(T, kind, bytes)             \
  {                                     \
    #T, T, bytes, 1, {{kind, bytes, 0}} \
  }
#define TWO(T, kind, bytes)                    \
  {                                            \
    #T, T, 2 * (bytes), 2, {                   \
      {kind, bytes, 0}, { kind, bytes, bytes } \
    }                                          \
  }
#define PAIR(T, kind, C)      \
  {                           \
    #T, T, sizeof(struct {    \
      C v;                    \
      int i;                  \
    }),                       \
        2, {                  \
      {kind, sizeof(C), 0}, { \
        'i', 4,               \
            offsetof(         \
                struct {      \
                  C v;        \
                  int i;      \
                },            \
                i)            \
      }                       \
    }                         \
  }
static struct type types[80];
static int type_count;

static void list_types(void) {
  struct type all[] = {
      ONE(MPI_SIGNED_CHAR, 'i', 1),
      ONE(MPI_UNSIGNED_CHAR, 'i', 1),
      ONE(MPI_SHORT, 'i', 2),
      ONE(MPI_UNSIGNED_SHORT, 'i', 2),
      ONE(MPI_INT, 'i', 4),
      ONE(MPI_UNSIGNED, 'i', 4),
      ONE(MPI_LONG, 'i', 8),
      ONE(MPI_UNSIGNED_LONG, 'i', 8),
      ONE(MPI_LONG_LONG, 'i', 8),
      ONE(MPI_UNSIGNED_LONG_LONG, 'i', 8),
      ONE(MPI_INT8_T, 'i', 1),
      ONE(MPI_INT16_T, 'i', 2),
      ONE(MPI_INT32_T, 'i', 4),
      ONE(MPI_INT64_T, 'i', 8),
      ONE(MPI_UINT8_T, 'i', 1),
      ONE(MPI_UINT16_T, 'i', 2),
      ONE(MPI_UINT32_T, 'i', 4),
      ONE(MPI_UINT64_T, 'i', 8),
      ONE(MPI_AINT, 'i', 8),
      ONE(MPI_OFFSET, 'i', 8),
      ONE(MPI_COUNT, 'i', 8),
      ONE(MPI_INTEGER, 'i', 4),
      ONE(MPI_INTEGER1, 'i', 1),
      ONE(MPI_INTEGER2, 'i', 2),
      ONE(MPI_INTEGER4, 'i', 4),
      ONE(MPI_INTEGER8, 'i', 8),
      ONE(MPI_BYTE, 'i', 1),
      ONE(MPI_FLOAT, 'f', 4),
      ONE(MPI_DOUBLE, 'f', 8),
      ONE(MPI_LONG_DOUBLE, 'f', 16),
      ONE(MPI_REAL, 'f', 4),
      ONE(MPI_DOUBLE_PRECISION, 'f', 8),
      ONE(MPI_REAL4, 'f', 4),
      ONE(MPI_REAL8, 'f', 8),
      ONE(MPI_C_BOOL, 'o', 1),
      ONE(MPI_CXX_BOOL, 'o', 1),
      ONE(MPI_LOGICAL, 'o', 4),
      TWO(MPI_C_FLOAT_COMPLEX, 'f', 4),
      TWO(MPI_C_DOUBLE_COMPLEX, 'f', 8),
      TWO(MPI_C_LONG_DOUBLE_COMPLEX, 'f', 16),
      TWO(MPI_COMPLEX, 'f', 4),
      TWO(MPI_DOUBLE_COMPLEX, 'f', 8),
      TWO(MPI_COMPLEX8, 'f', 4),
      TWO(MPI_COMPLEX16, 'f', 8),
      TWO(MPI_CXX_FLOAT_COMPLEX, 'f', 4),
      TWO(MPI_CXX_DOUBLE_COMPLEX, 'f', 8),
      TWO(MPI_CXX_LONG_DOUBLE_COMPLEX, 'f', 16),
      PAIR(MPI_FLOAT_INT, 'f', float),
      PAIR(MPI_DOUBLE_INT, 'f', double),
      PAIR(MPI_LONG_INT, 'i', long),
      PAIR(MPI_2INT, 'i', int),
      PAIR(MPI_SHORT_INT, 'i', short),
      PAIR(MPI_LONG_DOUBLE_INT, 'f', long double),
      TWO(MPI_2REAL, 'f', 4),
      TWO(MPI_2DOUBLE_PRECISION, 'f', 8),
      TWO(MPI_2INTEGER, 'i', 4),
#if defined(MPI_LOGICAL1) || MPI_VERSION >= 5
      ONE(MPI_LOGICAL1, 'o', 1),
      ONE(MPI_LOGICAL2, 'o', 2),
      ONE(MPI_LOGICAL4, 'o', 4),
      ONE(MPI_LOGICAL8, 'o', 8),
#endif
#ifdef MPI_REAL2
      ONE(MPI_REAL2, 'h', 2),
      TWO(MPI_COMPLEX4, 'h', 2),
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
static int list_operators(struct operator* to) {
  struct operator all[] = {{"SUM", MPI_SUM},   {"PROD", MPI_PROD}, {"MIN", MPI_MIN},       {"MAX", MPI_MAX},
                           {"LAND", MPI_LAND}, {"LOR", MPI_LOR},   {"LXOR", MPI_LXOR},     {"BAND", MPI_BAND},
                           {"BOR", MPI_BOR},   {"BXOR", MPI_BXOR}, {"MINLOC", MPI_MINLOC}, {"MAXLOC", MPI_MAXLOC}};
  memcpy(to, all, sizeof all);
  return sizeof all / sizeof *all;
}

/* MPI-4.1 6.9.2. Not every MPI survives a request for more: MPICH 4.0 asserts for LAND of FLOAT. */
static int is_defined(const struct type* t, const char* op) {
  int logical = strcmp(op, "LAND") == 0 || strcmp(op, "LOR") == 0 || strcmp(op, "LXOR") == 0, bitwise = op[0] == 'B';
  int location = strlen(op) == 6, order = !location && op[0] == 'M', arithmetic = !logical && !bitwise && op[0] != 'M';
  if (t->members == 2 && (t->member[1].kind == 'i' || strncmp(t->name, "MPI_2", 5) == 0)) return location;
  if (t->members == 2) return arithmetic;
  if (t->handle == MPI_BYTE) return bitwise;
  if (t->member[0].kind == 'o') return logical;
  if (t->member[0].kind != 'i') return arithmetic || order;
  if (strncmp(t->name, "MPI_INTEGER", 11) == 0 || t->handle == MPI_AINT || t->handle == MPI_OFFSET || t->handle == MPI_COUNT)
    return arithmetic || order || bitwise;
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

/* Computes the MPI's own result. For 16-bit floats it uses whole floats, because MPICH 5 asserts for PROD of
 * BFLOAT16. */
static void ask(const unsigned char* in, unsigned char* out, int count, const struct type* t, MPI_Op op) {
  char kind = t->member[0].kind;
  if (kind != 'h' && kind != 'b') {
    EXPECT(PMPI_Allreduce(in, out, count, t->handle, op, MPI_COMM_WORLD) == MPI_SUCCESS, "%s", t->name);
    return;
  }
  int lanes = count * t->members;
  float *wide = malloc(sizeof(float) * 2 * (size_t)lanes), *sum = wide + lanes;
  for (int i = 0; i < lanes; ++i) wide[i] = from_half(((const uint16_t*)in)[i], kind);
  PMPI_Allreduce(wide, sum, count, t->members == 2 ? MPI_C_FLOAT_COMPLEX : MPI_FLOAT, op, MPI_COMM_WORLD);
  for (int i = 0; i < lanes; ++i) ((uint16_t*)out)[i] = to_half(sum[i], kind);
  free(wide);
}

/* Sets out to the operands of the first `ranks_of` ranks of `all`, combined in rank order by the MPI on this rank. */
static void fold(const unsigned char* all, int ranks_of, unsigned char* out, int count, const struct type* t, MPI_Op op) {
  const size_t bytes = t->extent * (size_t)count;
  const char kind = t->member[0].kind;
  const int lanes = count * t->members, half = kind == 'h' || kind == 'b';
  float *wide = malloc(sizeof(float) * 2 * (size_t)lanes), *sum = wide + lanes;
  for (int r = ranks_of - 1; r >= 0; --r) {
    const unsigned char* in = all + bytes * (size_t)r;
    for (int i = 0; half && i < lanes; ++i) wide[i] = from_half(((const uint16_t*)in)[i], kind);
    void* to = half ? (void*)sum : out;
    if (r == ranks_of - 1) memcpy(to, half ? (const void*)wide : in, half ? sizeof(float) * (size_t)lanes : bytes);
    else if (half) PMPI_Reduce_local(wide, sum, count, t->members == 2 ? MPI_C_FLOAT_COMPLEX : MPI_FLOAT, op);
    else PMPI_Reduce_local(in, out, count, t->handle, op);
  }
  for (int i = 0; half && i < lanes; ++i) ((uint16_t*)out)[i] = to_half(sum[i], kind);
  free(wide);
}

enum { kCount = 67 };
static _Alignas(16) unsigned char in[kCount * 64], mine[kCount * 64], oracle[kCount * 64];
static unsigned char* all; /* every rank's operands */

/* Checks scans and reductions to scattered blocks. `oracle` holds the sum of `in` over all ranks. */
static void partial_types(const struct type* t, const struct operator* o) {
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
  const unsigned char* own = oracle + t->extent * (size_t)(rank * block);
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

/* What the MPI can reduce on this rank alone, and Copse has no kernel for: numbers of 16 bytes, and characters, which are no
 * integers. A program of the standard ABI cannot ask for 16 bytes: Intel MPI 2021.18 takes these handles for
 * MPI_DATATYPE_NULL there, and its MPI_ERRORS_RETURN is not MPICH's, so the program would end. */
static void types_without_a_kernel(void) {
  const struct {
    const char* name;
    MPI_Datatype handle;
    int bytes, real;
  } all[] = {
      {"MPI_CHAR", MPI_CHAR, 1, 0},
#if defined(MPI_INTEGER16) && !defined(MPI_ABI_VERSION)
      {"MPI_INTEGER16", MPI_INTEGER16, 16, 0},
#endif
#if defined(MPI_REAL16) && !defined(MPI_ABI_VERSION) && !defined(OMPI_MAJOR_VERSION) /* there, it may be padded */
      {"MPI_REAL16", MPI_REAL16, 16, 1},
#endif
  };
  MPI_Errhandler handlers[2];
  const MPI_Comm comms[2] = {MPI_COMM_WORLD, MPI_COMM_SELF};
  for (int i = 0; i < 2; ++i) MPI_Comm_get_errhandler(comms[i], &handlers[i]), MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
  for (size_t t = 0; t < sizeof all / sizeof all[0]; ++t) {
    unsigned char in[16] = {0}, want[16] = {0}, got[16] = {0};
    if (all[t].handle == MPI_DATATYPE_NULL) continue;
    const __int128 whole = rank + 1;
    const __float128 real = rank + 1.5;
    memcpy(in, all[t].real ? (const void*)&real : (const void*)&whole, (size_t)all[t].bytes);
    int alone = MPI_SUCCESS;
    for (int r = 0; r < ranks && alone == MPI_SUCCESS; ++r) {
      const __int128 whole_of_r = r + 1;
      const __float128 real_of_r = r + 1.5;
      const void* const of_r = all[t].real ? (const void*)&real_of_r : (const void*)&whole_of_r;
      if (r == 0) memcpy(want, of_r, (size_t)all[t].bytes);
      else alone = MPI_Reduce_local(of_r, want, 1, all[t].handle, MPI_SUM);
    }
    const int together = MPI_Allreduce(in, got, 1, all[t].handle, MPI_SUM, MPI_COMM_WORLD);
    EXPECT((together == MPI_SUCCESS) == (alone == MPI_SUCCESS), "a sum of %s ends with %d, a local one with %d", all[t].name,
           together, alone);
    EXPECT(together != MPI_SUCCESS || memcmp(got, want, (size_t)all[t].bytes) == 0, "a wrong sum of %s", all[t].name);
  }
  for (int i = 0; i < 2; ++i) {
    MPI_Comm_set_errhandler(comms[i], handlers[i]);
    if (handlers[i] != MPI_ERRORS_ARE_FATAL && handlers[i] != MPI_ERRORS_RETURN) MPI_Errhandler_free(&handlers[i]);
  }
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
      MPI_Reduce(rank == root ? MPI_IN_PLACE : mine, rank == root ? mine : NULL, kCount, types[t].handle, ops[o].handle, root,
                 MPI_COMM_WORLD);
      EXPECT(rank != root || same(mine, oracle, &types[t], kCount), "reduce %s of %s", ops[o].name, types[t].name);
      memset(mine, 0, sizeof mine);
      if (rank == root) memcpy(mine, oracle, sizeof oracle);
      MPI_Bcast(mine, kCount, types[t].handle, root, MPI_COMM_WORLD);
      EXPECT(same(mine, oracle, &types[t], kCount), "bcast of %s", types[t].name);
      partial_types(&types[t], &ops[o]);
    }
  EXPECT(defined > (bare ? 200 : 250), "only %d pairs are defined", defined);
  free(all);
  if (ranks > 1) types_without_a_kernel();
}

static void matrix_product(void* in, void* inout, int* count, MPI_Datatype* type) { /* does not commute */
  (void)type;
  EXPECT(((uintptr_t)in | (uintptr_t)inout) % 16 == 0, "matrices at %p and %p: malloc's lie better", in, inout);
  unsigned *a = in, *b = inout;
  for (int i = 0; i < *count; ++i, a += 4, b += 4) {
    unsigned r[4] = {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
    memcpy(b, r, sizeof r);
  }
}
struct gappy {
  short key; /* gap */
  int value;
  short tail; /* gap at the end */
};
static void add_gappy(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  struct gappy *a = in, *b = inout;
  for (int i = 0; i < *count; ++i) b[i].key += a[i].key, b[i].value += a[i].value, b[i].tail += a[i].tail;
}
static void add_ints(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) ((int*)inout)[i] += ((int*)in)[i];
}

/* Trials of reductions ------------------------------------------------------------------------------------------- */

enum { kUntouched = 0x55, kUsers = 3, kAlgebras = 1000 };
struct algebra {
  const char *name, *operator;
  MPI_Datatype type;
  MPI_Op op;
  size_t size;
  void (*combine)(void*, void*, int*, MPI_Datatype*); /* a user's function, else null */
  int commutes;
  int bytes[4], members;     /* that hold data: offset, length, offset, length */
  const struct type* values; /* of a predefined type */
};
static struct algebra algebras[kAlgebras];
static int algebra_count;

/* Lists first the user's operators: one that does not commute, one on a type with gaps, one on plain integers. Then
 * lists all that MPI defines, except those of 16-bit floats. */
static void list_algebras(void) {
  MPI_Datatype matrix, gaps;
  MPI_Op product, add, plain;
  struct operator ops[12];
  const int op_count = list_operators(ops);
  if (algebra_count > 0) return;
  MPI_Type_contiguous(4, MPI_UNSIGNED, &matrix);
  MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 4, 8}, (MPI_Datatype[]){MPI_SHORT, MPI_INT, MPI_SHORT}, &gaps);
  MPI_Type_commit(&matrix);
  MPI_Type_commit(&gaps);
  MPI_Op_create(matrix_product, 0, &product);
  MPI_Op_create(add_gappy, 1, &add);
  MPI_Op_create(add_ints, 1, &plain);
  const struct algebra users[kUsers] = {
      {"matrices", "product", matrix, product, 16, matrix_product, 0, {0, 16}, 1, NULL},
      {"structs with gaps", "sum", gaps, add, sizeof(struct gappy), add_gappy, 1, {0, 2, 4, 6}, 2, NULL},
      {"ints", "sum of the user's", MPI_INT, plain, 4, add_ints, 1, {0, 4}, 1, NULL}};
  memcpy(algebras, users, sizeof users);
  algebra_count = kUsers;
  if (type_count == 0) list_types();
  for (int t = 0; t < type_count; ++t)
    for (int o = 0; o < op_count && algebra_count < kAlgebras; ++o)
      if (is_defined(&types[t], ops[o].name) && types[t].member[0].kind != 'h' && types[t].member[0].kind != 'b')
        algebras[algebra_count++] = (struct algebra){
            types[t].name, ops[o].name, types[t].handle, ops[o].handle, types[t].extent, NULL, 1, {0}, 1, &types[t]};
}

const char* describe_reduction(const struct trial* t) {
  static char text[100];
  snprintf(text, sizeof text, "%s of %s", t->algebra->operator, t->algebra->name);
  return text;
}

static int equal(const struct algebra* a, const unsigned char* x, const unsigned char* y, int count) {
  if (a->values != NULL) return same(x, y, a->values, count);
  for (int i = 0; i < count; ++i, x += a->size, y += a->size)
    for (int m = 0; m < a->members; ++m)
      if (memcmp(x + a->bytes[2 * m], y + a->bytes[2 * m], (size_t)a->bytes[2 * m + 1]) != 0) return 0;
  return 1;
}

/* Writes the operand of the rank of that number, which every rank knows. */
static void write_operand(const struct trial* t, int number, unsigned char* to, int count) {
  const struct algebra* a = t->algebra;
  const unsigned range = ranks > 5 ? 2 : 4;
  memset(to, 0, a->size * (size_t)count);
  if (a->values == NULL) {
    for (size_t i = 0; i < a->size * (size_t)count; i += 2) {
      const unsigned short v = (unsigned short)((t->values * 31 + number * 7 + (long)i * 13) % 11);
      memcpy(to + i, &v, 2);
    }
    return;
  }
  for (int i = 0; i < count; ++i)
    for (int m = 0; m < a->values->members; ++m)
      put(to + (size_t)i * a->size, &a->values->member[m],
          mixed((uint64_t)t->values, (uint64_t)number, (uint64_t)(2 * i + m)) % range);
}

static int scattered(enum call call) { return call == kReduceScatter || call == kReduceScatterBlock; }
static int replaced(const struct trial* t) { return t->in_place && (t->call != kReduce || t->room->me == t->root); }
static int gets_result(const struct trial* t) {
  const struct room* room = t->room;
  if (t->call == kReduce) return room->me == t->root && room->base == t->root_base;
  return t->call != kExscan || room->me > 0;
}

/* send.items[0] is the number of elements given. receive.counts[r] is what rank r gets of a scattered result. */
void make_reduction(struct trial* t) {
  const struct room* room = t->room;
  int count = t->length;
  list_algebras();
  /* The user's operators are as likely as all others together. */
  t->algebra =
      &algebras[t->seed % 2 ? mixed(t->seed, 10, 0) % kUsers : kUsers + mixed(t->seed, 11, 0) % (unsigned)(algebra_count - kUsers)];
  /* Intel MPI's own call between groups of different sizes returns different pairs. */
  if (room->kind == kInter && t->algebra->type == MPI_LONG_DOUBLE_INT) t->algebra = &algebras[0];
  if (t->call == kReduceScatterBlock) count -= count % (room->kind == kInter ? room->size * room->peers : room->size);
  for (int r = 0, left = count; r < room->size; ++r) {
    int* const gets = &t->receive.counts[r];
    *gets = t->call == kReduceScatterBlock ? count / room->size
            : r == room->size - 1          ? left
                                           : (int)((t->seed + (unsigned)r * 3) % 4) * left / 5;
    t->receive.large_counts[r] = *gets;
    left -= *gets;
  }
  t->send.items[0] = count;
  t->send.bytes = t->receive.bytes = t->algebra->size * (size_t)count;
  unsigned char** const buffers[] = {&t->send.memory, &t->receive.memory, &t->sent, &t->want};
  for (int i = 0; i < 4; ++i) *buffers[i] = malloc(t->send.bytes + 1);
}

void fill_reduction(struct trial* t) {
  const struct room* room = t->room;
  const struct algebra* a = t->algebra;
  int count = t->send.items[0];
  const int operands = t->call == kScan ? room->me + 1 : t->call == kExscan ? room->me : room->peers;
  unsigned char* operand = malloc(t->send.bytes + 1);
  for (int r = operands - 1; r >= 0; --r) {
    write_operand(t, room->peer_base + r, r == operands - 1 ? t->want : operand, count);
    if (r == operands - 1) continue;
    if (a->combine != NULL) a->combine(operand, t->want, &count, NULL);
    else PMPI_Reduce_local(operand, t->want, count, a->type, a->op);
  }
  free(operand);
  write_operand(t, room->base + room->me, t->send.memory, count);
  memcpy(t->sent, t->send.memory, t->send.bytes);
  memset(t->receive.memory, kUntouched, t->receive.bytes);
  if (replaced(t)) memcpy(t->receive.memory, t->sent, t->send.bytes);
}

int issue_reduction(struct trial* t) {
  const struct room* room = t->room;
  const struct algebra* a = t->algebra;
  const MPI_Comm comm = room->comm;
  const int large = t->large, count = t->send.items[0], in_root_group = room->kind == kInter && room->base == t->root_base;
  const int root = !in_root_group ? t->root : t->lone ? MPI_PROC_NULL : MPI_ROOT;
  void *const from = replaced(t) ? MPI_IN_PLACE : t->send.memory, *const to = t->call == kReduce && !gets_result(t)
                                                                                  ? NULL
                                                                                  : t->receive.memory;
  const int each = t->receive.counts[0];
  MPI_Op op = a->op;
  MPI_Datatype type = a->type;
  int code = MPI_ERR_OTHER;
  const int fresh = a->combine != NULL && !t->theirs;
  if (fresh) MPI_Op_create(a->combine, a->commutes, &op), MPI_Type_dup(a->type, &type);
  switch (t->call) {
    case kAllreduce: code = LARGE(Allreduce, allreduce, large, from, to, count, type, op, comm); break;
    case kReduce: code = LARGE(Reduce, reduce, large, from, to, count, type, op, root, comm); break;
    case kScan: code = LARGE(Scan, scan, large, from, to, count, type, op, comm); break;
    case kExscan: code = LARGE(Exscan, exscan, large, from, to, count, type, op, comm); break;
    case kReduceScatterBlock:
      code = LARGE(Reduce_scatter_block, reduce_scatter_block, large, from, to, each, type, op, comm);
      break;
    case kReduceScatter:
#if HAS_LARGE
      if (large) {
        code = CALL(Reduce_scatter, reduce_scatter, _c, from, to, t->receive.large_counts, type, op, comm);
        break;
      }
#endif
      code = CALL(Reduce_scatter, reduce_scatter, , from, to, t->receive.counts, type, op, comm);
      break;
    default: break;
  }
  if (fresh) MPI_Op_free(&op), MPI_Type_free(&type); /* early, if the call goes on */
  return code;
}

int reduction_is_right(const struct trial* t) {
  const struct algebra* a = t->algebra;
  int at = 0, own = t->send.items[0];
  if (!gets_result(t)) return 1;
  if (scattered(t->call)) {
    for (int r = 0; r < t->room->me; ++r) at += t->receive.counts[r];
    own = t->receive.counts[t->room->me];
  }
  const unsigned char* got = t->receive.memory;
  const int has_gaps = !replaced(t) && !t->theirs && a->members > 1;
  for (int i = 0; has_gaps && i < own; ++i)
    if (memcmp(got + a->size * (size_t)i + 2, "\x55\x55", 2) != 0) return 0;
  uint64_t hash = (uint64_t)own;
  for (size_t i = 0; a->members == 1 && a->values == NULL && i < a->size * (size_t)own; i += 4) {
    uint32_t word;
    memcpy(&word, got + i, 4);
    hash = (hash ^ word) * 0x100000001b3u;
  }
  add_to_digest(hash, t->values);
  return equal(a, got, t->want + a->size * (size_t)at, own);
}
