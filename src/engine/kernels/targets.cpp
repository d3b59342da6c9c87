// Finds which of the instruction sets that the kernels are compiled for this processor has.
#include "engine/kernels/targets.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "hwy/detect_targets.h"

namespace copse::kernels {
namespace {

#if defined(__x86_64__)
// Highway's AVX2 converts half floats by these instructions. clang 14 has no name for them.
bool has_f16c() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
#endif

std::int64_t find_usable_targets() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma") && has_f16c();
  const bool avx3 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                    __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  return (sse4 ? HWY_SSE4 : 0) | (avx2 ? HWY_AVX2 : 0) | (avx3 ? HWY_AVX3 : 0);
#else
  return 0;
#endif
}

}  // namespace

std::int64_t usable_targets = find_usable_targets();

}  // namespace copse::kernels
