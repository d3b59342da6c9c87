// The instruction sets that the kernels are compiled for. Include this before any Highway header.
//
// x86: plain scalar code, SSE4, AVX2 and AVX-512. SSSE3 alone and AVX3_DL would add compile time and no speed: no server of
// the last fifteen years stops at SSSE3, and nothing here uses what AVX3_DL adds. Arm: NEON only. The vectors of today's
// server cores (Neoverse V2, N2) are 128 bits wide in SVE, too, and fixed sizes let small counts be unrolled.
#ifndef COPSE_ENGINE_KERNELS_TARGETS_HPP
#define COPSE_ENGINE_KERNELS_TARGETS_HPP

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#include <cstdint>

namespace copse::kernels {

// The Highway targets that this processor can run, besides the one that every processor can run. Tests may leave some out.
// Highway's own answer is in libhwy.so, whose constructors time clocks for 4 ms in every process that loads it. So Copse uses
// Highway's headers only.
extern std::int64_t usable_targets;

// Selects the best usable version of a function in a file that foreach_target.h has compiled for each target.
#if defined(__x86_64__)
#define COPSE_BEST(function)                                             \
  (usable_targets & HWY_TARGETS & HWY_AVX3   ? HWY_CHOOSE_AVX3(function) \
   : usable_targets & HWY_TARGETS & HWY_AVX2 ? HWY_CHOOSE_AVX2(function) \
   : usable_targets & HWY_TARGETS & HWY_SSE4 ? HWY_CHOOSE_SSE4(function) \
                                             : HWY_CHOOSE_FALLBACK(function))
#else
#define COPSE_BEST(function) (&HWY_STATIC_DISPATCH(function))
#endif

}  // namespace copse::kernels

#endif
