// Finds which of the instruction sets that the kernels are compiled for this processor has.
#include "engine/kernels/targets.hpp"

#include "hwy/detect_targets.h"

namespace copse::kernels {
namespace {

std::int64_t find_usable_targets() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool sse4 = __builtin_cpu_supports("sse4.2");
  const bool avx2 = sse4 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
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
