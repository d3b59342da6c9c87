/* Datatypes and operators that Copse can reduce. Each name makes a constant with COPSE_ before it: COPSE_INT32,
 * COPSE_DOUBLE, COPSE_SUM. An element has the size of its C type: 2 bytes for FLOAT16 and BFLOAT16, 1 for BYTE.
 *
 * Both lists are X-macros, so that names, sizes, parsing, kernels and tests come from one place.
 * COPSE_TYPES(X): X(NAME, c_type, class). The classes decide which operators are defined (MPI-4.1 6.9.2):
 *   INTEGER   SUM PROD MIN MAX LAND LOR LXOR BAND BOR BXOR
 *   FLOATING  SUM PROD MIN MAX
 *   COMPLEX   SUM PROD
 *   LOGICAL   LAND LOR LXOR
 *   BYTE      BAND BOR BXOR
 *   PAIR      MINLOC MAXLOC
 */
#ifndef COPSE_TYPES_H
#define COPSE_TYPES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Elements of PAIR types have the layout of the C struct { value; int index; }, with its padding. (The index of
 * Fortran's pairs has the type of the value.) FLOAT16 is IEEE binary16. BFLOAT16 is the upper half of binary32. */
#define COPSE_TYPES(X)                                 \
  X(INT8, int8_t, INTEGER)                             \
  X(INT16, int16_t, INTEGER)                           \
  X(INT32, int32_t, INTEGER)                           \
  X(INT64, int64_t, INTEGER)                           \
  X(UINT8, uint8_t, INTEGER)                           \
  X(UINT16, uint16_t, INTEGER)                         \
  X(UINT32, uint32_t, INTEGER)                         \
  X(UINT64, uint64_t, INTEGER)                         \
  X(FLOAT16, float16, FLOATING)                        \
  X(BFLOAT16, bfloat16, FLOATING)                      \
  X(FLOAT, float, FLOATING)                            \
  X(DOUBLE, double, FLOATING)                          \
  X(LONG_DOUBLE, long_double, FLOATING)                \
  X(COMPLEX_FLOAT16, complex_float16, COMPLEX)         \
  X(COMPLEX_FLOAT, complex_float, COMPLEX)             \
  X(COMPLEX_DOUBLE, complex_double, COMPLEX)           \
  X(COMPLEX_LONG_DOUBLE, complex_long_double, COMPLEX) \
  X(LOGICAL8, logical8, LOGICAL)                       \
  X(LOGICAL16, logical16, LOGICAL)                     \
  X(LOGICAL32, logical32, LOGICAL)                     \
  X(LOGICAL64, logical64, LOGICAL)                     \
  X(BYTE, byte, BYTE)                                  \
  X(FLOAT_INT, float_int, PAIR)                        \
  X(DOUBLE_INT, double_int, PAIR)                      \
  X(LONG_DOUBLE_INT, long_double_int, PAIR)            \
  X(LONG_INT, long_int, PAIR)                          \
  X(INT_INT, int_int, PAIR)                            \
  X(SHORT_INT, short_int, PAIR)                        \
  X(FLOAT_FLOAT, float_float, PAIR)                    \
  X(DOUBLE_DOUBLE, double_double, PAIR)

#define COPSE_OPS(X) X(SUM) X(PROD) X(MIN) X(MAX) X(LAND) X(LOR) X(LXOR) X(BAND) X(BOR) X(BXOR) X(MINLOC) X(MAXLOC)

#define COPSE_TYPE_ENUM_(name, c_type, type_class) COPSE_##name,
/* C allows any number in an enum. In C++ the enum needs an underlying type for that; without one, the library could
 * not check for a wrong number. */
#ifdef __cplusplus
#define COPSE_ANY_INT_ : int
#else
#define COPSE_ANY_INT_
#endif

typedef enum copse_type COPSE_ANY_INT_ { COPSE_TYPES(COPSE_TYPE_ENUM_) COPSE_TYPE_COUNT } copse_type;
#undef COPSE_TYPE_ENUM_

#define COPSE_OP_ENUM_(name) COPSE_##name,
typedef enum copse_op COPSE_ANY_INT_ { COPSE_OPS(COPSE_OP_ENUM_) COPSE_OP_COUNT } copse_op;
#undef COPSE_OP_ENUM_

#ifdef __cplusplus
}
#endif

#endif
