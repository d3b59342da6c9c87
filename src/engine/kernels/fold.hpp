// Folding: an array is combined to one value, or to the values that its beginnings give. UPC's reductions need this; MPI's combine
// the elements of different arrays (kernels.hpp).
//
// The types are those of C: the integers, float, double, long double. LAND and LOR are defined for all of them, and the bitwise
// operators for integers. The result of one element is that element. Kernels take any alignment.
#ifndef COPSE_ENGINE_KERNELS_FOLD_HPP
#define COPSE_ENGINE_KERNELS_FOLD_HPP

#include <cstddef>

#include "copse/types.h"

namespace copse::kernels {

struct FoldPair {
  // *result = array[0] op ... op array[count - 1], count >= 1. The elements are combined in an order that depends on the count
  // alone.
  void (*all)(void* result, const void* array, std::size_t count) = nullptr;
  // dst[i] = before op array[0] op ... op array[i], in this order, or without `before` if it is null. dst may be exactly array;
  // otherwise they do not overlap.
  void (*running)(void* dst, const void* array, std::size_t count, const void* before) = nullptr;
};

// Returns null pointers where the operator is not defined for the type.
FoldPair fold_kernels(copse_op op, copse_type type) noexcept;

}  // namespace copse::kernels

#endif
