// The kernels of the FLOATING, COMPLEX and PAIR types.
//
// The order of includes matters to Highway.
// clang-format off
#include "engine/kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/reduce_floats.cpp"
#include "hwy/foreach_target.h"

#include "engine/kernels/reduce-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace copse::kernels::HWY_NAMESPACE {
const Table* floating_table_here() { return table<false>(); }
}  // namespace copse::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace copse::kernels {
const Table& floating_table() noexcept { return *COPSE_BEST(floating_table_here)(); }
}  // namespace copse::kernels
#endif
