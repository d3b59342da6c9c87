// The kernels of the INTEGER, LOGICAL and BYTE types.
//
// The order of includes matters to Highway.
// clang-format off
#include "engine/kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/reduce_integers.cpp"
#include "hwy/foreach_target.h"

#include "engine/kernels/reduce-inl.hpp"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace copse::kernels::HWY_NAMESPACE {
const Table* integer_table_here() { return table<true>(); }
}  // namespace copse::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace copse::kernels {
const Table& integer_table() noexcept { return *COPSE_BEST(integer_table_here)(); }
}  // namespace copse::kernels
#endif
