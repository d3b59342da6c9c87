// The two 16-bit floating types, widened to float exactly and narrowed by rounding to nearest, ties to even.
//
// Nothing here depends on whether the processor flushes denormal floats to zero (as programs built with -ffast-math make it
// do). A NaN stays a NaN. It is made quiet and keeps as much of its payload as fits. The hardware's own conversions do the
// same, so that scalar and vector paths agree bit for bit.
#ifndef COPSE_ENGINE_KERNELS_HALF_HPP
#define COPSE_ENGINE_KERNELS_HALF_HPP

#include <bit>
#include <cstdint>

#include "engine/kernels/elements.hpp"

namespace copse::kernels {

[[gnu::always_inline]] inline float widen(bfloat16 x) { return std::bit_cast<float>(static_cast<uint32_t>(x.bits) << 16); }

[[gnu::always_inline]] inline float widen(float16 x) {
  const uint32_t sign = static_cast<uint32_t>(x.bits & 0x8000u) << 16;
  const uint32_t magnitude = x.bits & 0x7FFFu;
  uint32_t wide;
  if (magnitude >= 0x7C00u) {  // infinity or NaN
    wide = 0x7F800000u | (magnitude & 0x3FFu) << 13 | (magnitude > 0x7C00u ? 0x400000u : 0u);
  } else if (magnitude >= 0x0400u) {
    wide = (magnitude << 13) + (112u << 23);  // the exponents' biases differ by 112
  } else {
    wide = std::bit_cast<uint32_t>(static_cast<float>(magnitude) * 0x1p-24f);
  }
  return std::bit_cast<float>(sign | wide);
}

template <class H>
H narrow(float x);

template <>
[[gnu::always_inline]] inline bfloat16 narrow<bfloat16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7FFFFFFFu) > 0x7F800000u) return {static_cast<uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16)};
}

template <>
[[gnu::always_inline]] inline float16 narrow<float16>(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = bits >> 16 & 0x8000u;
  const uint32_t magnitude = bits & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | (magnitude >> 13 & 0x3FFu);
  } else if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // 2^-14, the smallest normal
    half = (magnitude - (112u << 23) + 0xFFFu + (magnitude >> 13 & 1u)) >> 13;
  } else {  // one ulp of 0.5 is 2^-24, the denormals' spacing: the addition rounds
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - 0x3F000000u;
  }
  return {static_cast<uint16_t>(sign | half)};
}

}  // namespace copse::kernels

#endif
