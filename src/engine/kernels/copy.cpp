// Copies of more than a few lines.
#include "engine/kernels/kernels.hpp"

namespace copse::kernels {

void copy_large(void* dst, const void* src, std::size_t bytes) noexcept {
  if (dst != src) std::memcpy(dst, src, bytes);
}

void copy_streaming(void* dst, const void* src, std::size_t bytes) noexcept { copy(dst, src, bytes); }

}  // namespace copse::kernels
