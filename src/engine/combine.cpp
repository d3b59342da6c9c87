// User operators in the three-operand form.
#include "engine/combine.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>

namespace copse::engine {
namespace {

constexpr std::size_t kStripBytes = 8192;  // of each operand, so that both stay in the first cache

// Tells whether the user's function may read elements there. The function may rely on the alignment of its type, which is not
// known here. That alignment is at most malloc's (an MPI's own buffers have no more), and at most what elements of this size
// keep when they lie one after the other. The payload of a line is aligned less, and the program's buffers may be, too.
bool is_aligned(const void* address, std::size_t element_bytes) {
  const std::size_t either = element_bytes | alignof(std::max_align_t);
  return reinterpret_cast<std::uintptr_t>(address) % (either & -either) == 0;
}

}  // namespace

void Combine::apply(void* dst, const void* a, const void* b, std::size_t count, std::size_t element_bytes) const {
  if (kernel != nullptr) {
    kernel(dst, a, b, count);
    return;
  }
  const bool a_aligned = is_aligned(a, element_bytes);
  if (dst != a && a_aligned && is_aligned(dst, element_bytes)) {
    if (dst != b) kernels::copy(dst, b, count * element_bytes);
    user(context, a, dst, count);
    return;
  }
  const std::size_t most = std::min(count, std::max<std::size_t>(1, kStripBytes / element_bytes));
  const std::size_t units = most * element_bytes / sizeof(std::max_align_t) + 1;
  const auto strips = std::make_unique_for_overwrite<std::max_align_t[]>(2 * units);
  void *const near_a = strips.get(), *const near_b = strips.get() + units;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t elements = std::min(most, count - first), bytes = elements * element_bytes;
    const std::size_t at = first * element_bytes;
    const void* const in = static_cast<const std::byte*>(a) + at;
    if (!a_aligned) kernels::copy(near_a, in, bytes);
    kernels::copy(near_b, static_cast<const std::byte*>(b) + at, bytes);
    user(context, a_aligned ? in : near_a, near_b, elements);
    kernels::copy(static_cast<std::byte*>(dst) + at, near_b, bytes);
  }
}

Operation operation_of(std::uint16_t code) {
  return {static_cast<copse_op>((code - 1) / COPSE_TYPE_COUNT), static_cast<copse_type>((code - 1) % COPSE_TYPE_COUNT)};
}

Combine predefined(copse_op op, copse_type type) {
  const kernels::ReducePair pair = kernels::reduce_kernels(op, type);
  return {.kernel = pair.one,
          .kernel_two = pair.two,
          .exact = kernels::is_exact(type),
          .delegable = type <= COPSE_UINT64 || type == COPSE_FLOAT || type == COPSE_DOUBLE,
          .code = static_cast<std::uint16_t>(1 + static_cast<int>(op) * COPSE_TYPE_COUNT + static_cast<int>(type))};
}

Combine predefined(std::uint16_t code) {
  const Operation operation = operation_of(code);
  return predefined(operation.op, operation.type);
}

}  // namespace copse::engine
