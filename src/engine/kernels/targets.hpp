// Which instruction sets the kernels are compiled for; include before any Highway header.
//
// x86: plain scalar code, SSE4, AVX2 and AVX-512. SSSE3 alone and AVX3_DL would add compile time and no speed: no
// server of the last fifteen years stops at SSSE3, and nothing here uses what AVX3_DL adds. Arm: NEON only, since the
// vectors of today's server cores (Neoverse V2, N2) are 128 bits wide in SVE too, and fixed sizes let small counts be
// unrolled.
#ifndef COPSE_ENGINE_KERNELS_TARGETS_HPP
#define COPSE_ENGINE_KERNELS_TARGETS_HPP

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128)

#endif
