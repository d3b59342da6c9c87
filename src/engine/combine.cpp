// User operators in the three-operand form.
#include "engine/combine.hpp"

#include <cstring>
#include <memory>

namespace copse::engine {

void Combine::apply(void *dst, const void *a, const void *b, std::size_t count, std::size_t element_bytes) const {
  if (kernel != nullptr) {
    kernel(dst, a, b, count);
    return;
  }
  const std::size_t bytes = count * element_bytes;
  if (dst == b) {
    user(context, a, dst, count);
  } else if (dst != a) {
    std::memcpy(dst, b, bytes);
    user(context, a, dst, count);
  } else {
    // max_align_t: the user's function may rely on the alignment of its type.
    const auto copy = std::make_unique<std::max_align_t[]>(bytes / sizeof(std::max_align_t) + 1);
    std::memcpy(copy.get(), b, bytes);
    user(context, a, copy.get(), count);
    std::memcpy(dst, copy.get(), bytes);
  }
}

}  // namespace copse::engine
