// One element at a time: what each operator means, for every type. The vector code computes the same bits.
//
// MIN and MAX of floating types are `a < b ? a : b` and `a > b ? a : b`. If either is a NaN, or the two are zeros of
// different sign, the result is b. MINLOC and MAXLOC prefer the lower index among equal values. Integers wrap. Complex
// products use the textbook formula, without C Annex G's recovery of infinities (as Fortran multiplies).
#ifndef COPSE_ENGINE_KERNELS_SCALAR_HPP
#define COPSE_ENGINE_KERNELS_SCALAR_HPP

#include <type_traits>

#include "engine/kernels/elements.hpp"
#include "engine/kernels/half.hpp"

namespace copse::kernels {

// Integers are added and multiplied as unsigned integers of at least 32 bits, where overflow is defined.
template <class T>
using Wrapping = std::conditional_t<(sizeof(T) < sizeof(uint32_t)), uint32_t, std::make_unsigned_t<T>>;

template <copse_op Op, class E>
[[gnu::always_inline]] inline E apply(E a, E b) {
  if constexpr (is_half<E>) {
    return narrow<E>(apply<Op>(widen(a), widen(b)));
  } else if constexpr (is_complex<E>) {
    using R = decltype(E::real);
    if constexpr (is_half<R>) {
      const Complex<float> wide =
          apply<Op>(Complex<float>{widen(a.real), widen(a.imaginary)}, Complex<float>{widen(b.real), widen(b.imaginary)});
      return {narrow<R>(wide.real), narrow<R>(wide.imaginary)};
    } else if constexpr (Op == COPSE_SUM) {
      return {a.real + b.real, a.imaginary + b.imaginary};
    } else {
      static_assert(Op == COPSE_PROD);
      return {a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
    }
  } else if constexpr (Op == COPSE_MIN) {
    return a < b ? a : b;
  } else if constexpr (Op == COPSE_MAX) {
    return a > b ? a : b;
  } else if constexpr (std::is_floating_point_v<E>) {
    static_assert(Op == COPSE_SUM || Op == COPSE_PROD);
    if constexpr (Op == COPSE_SUM) return a + b;
    return a * b;
  } else {
    using W = Wrapping<E>;
    if constexpr (Op == COPSE_SUM) return static_cast<E>(static_cast<W>(a) + static_cast<W>(b));
    if constexpr (Op == COPSE_PROD) return static_cast<E>(static_cast<W>(a) * static_cast<W>(b));
    if constexpr (Op == COPSE_LAND) return static_cast<E>(a != 0 && b != 0);
    if constexpr (Op == COPSE_LOR) return static_cast<E>(a != 0 || b != 0);
    if constexpr (Op == COPSE_LXOR) return static_cast<E>((a != 0) != (b != 0));
    if constexpr (Op == COPSE_BAND) return static_cast<E>(a & b);
    if constexpr (Op == COPSE_BOR) return static_cast<E>(a | b);
    if constexpr (Op == COPSE_BXOR) return static_cast<E>(a ^ b);
  }
}

// One of the two pairs is chosen, not computed, so that padding travels with its pair.
template <copse_op Op, class E>
[[gnu::always_inline]] inline bool prefers_first(const E& a, const E& b) {
  static_assert(Op == COPSE_MINLOC || Op == COPSE_MAXLOC);
  if (Op == COPSE_MINLOC ? a.value < b.value : a.value > b.value) return true;
  return a.value == b.value && a.index < b.index;
}

}  // namespace copse::kernels

#endif
