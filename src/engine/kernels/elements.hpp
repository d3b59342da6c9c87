// The C++ type behind each name in copse/types.h, and which operators its class defines (MPI-4.1 6.9.2).
#ifndef COPSE_ENGINE_KERNELS_ELEMENTS_HPP
#define COPSE_ENGINE_KERNELS_ELEMENTS_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "copse/types.h"

namespace copse::kernels {

static_assert(std::endian::native == std::endian::little, "the pair kernels assume little-endian lanes");

struct float16 {
  uint16_t bits;
};
struct bfloat16 {
  uint16_t bits;
};

template <class R>
struct Complex {
  R real;
  R imaginary;
};

template <class V, class I>
struct Pair {
  V value;
  I index;
};

using long_double = long double;
using complex_float16 = Complex<float16>;
using complex_float = Complex<float>;
using complex_double = Complex<double>;
using complex_long_double = Complex<long double>;
using logical8 = uint8_t;
using logical16 = uint16_t;
using logical32 = uint32_t;
using logical64 = uint64_t;
using byte = uint8_t;
using float_int = Pair<float, int>;
using double_int = Pair<double, int>;
using long_double_int = Pair<long double, int>;
using long_int = Pair<long, int>;
using int_int = Pair<int, int>;
using short_int = Pair<short, int>;
using float_float = Pair<float, float>;
using double_double = Pair<double, double>;

template <class E>
inline constexpr bool is_half = std::is_same_v<E, float16> || std::is_same_v<E, bfloat16>;
template <class E>
inline constexpr bool is_complex = false;
template <class R>
inline constexpr bool is_complex<Complex<R>> = true;
template <class E>
inline constexpr bool is_pair = false;
template <class V, class I>
inline constexpr bool is_pair<Pair<V, I>> = true;

enum class TypeClass { INTEGER, FLOATING, COMPLEX, LOGICAL, BYTE, PAIR };

// Element<COPSE_FLOAT>::type is float, Element<COPSE_FLOAT>::type_class is FLOATING.
template <copse_type T>
struct Element;
#define COPSE_ELEMENT_(name, c_type, class_name)                   \
  template <>                                                      \
  struct Element<COPSE_##name> {                                   \
    using type = c_type;                                           \
    static constexpr TypeClass type_class = TypeClass::class_name; \
  };
COPSE_TYPES(COPSE_ELEMENT_)
#undef COPSE_ELEMENT_

constexpr bool defines(TypeClass type_class, copse_op op) {
  const bool arithmetic = op == COPSE_SUM || op == COPSE_PROD;
  const bool extreme = op == COPSE_MIN || op == COPSE_MAX;
  const bool logical = op == COPSE_LAND || op == COPSE_LOR || op == COPSE_LXOR;
  const bool bitwise = op == COPSE_BAND || op == COPSE_BOR || op == COPSE_BXOR;
  switch (type_class) {
    case TypeClass::INTEGER: return arithmetic || extreme || logical || bitwise;
    case TypeClass::FLOATING: return arithmetic || extreme;
    case TypeClass::COMPLEX: return arithmetic;
    case TypeClass::LOGICAL: return logical;
    case TypeClass::BYTE: return bitwise;
    case TypeClass::PAIR: return op == COPSE_MINLOC || op == COPSE_MAXLOC;
  }
  return false;
}

}  // namespace copse::kernels

#endif
