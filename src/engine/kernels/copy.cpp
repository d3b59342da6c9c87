// The copy that leaves the caches alone. (The ordinary one, in the header, is the C library's: measured here against
// `rep movsb`, AVX-512 loops with and without prefetching, it was never clearly behind for data in cache, or in another
// core's cache, or with a cold destination.)
#include "engine/kernels/kernels.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace copse::kernels {

#if defined(__SSE2__)

// 16-byte stores are combined into full lines before they leave the core: wider ones measured no faster, and these need
// no dispatch.
void copy_streaming(void* dst, const void* src, std::size_t bytes) noexcept {
  constexpr std::size_t kLine = 64;
  auto* to = static_cast<unsigned char*>(dst);
  const auto* from = static_cast<const unsigned char*>(src);
  const std::size_t head = (kLine - reinterpret_cast<uintptr_t>(to) % kLine) % kLine;
  if (bytes < head + kLine) {
    copy(to, from, bytes);
    return;
  }
  copy(to, from, head);
  std::size_t i = head;
  for (; i + kLine <= bytes; i += kLine) {
    const auto* in = reinterpret_cast<const __m128i*>(from + i);
    auto* out = reinterpret_cast<__m128i*>(to + i);
    const __m128i a = _mm_loadu_si128(in);
    const __m128i b = _mm_loadu_si128(in + 1);
    const __m128i c = _mm_loadu_si128(in + 2);
    const __m128i d = _mm_loadu_si128(in + 3);
    _mm_stream_si128(out, a);
    _mm_stream_si128(out + 1, b);
    _mm_stream_si128(out + 2, c);
    _mm_stream_si128(out + 3, d);
  }
  copy(to + i, from + i, bytes - i);
  _mm_sfence();
}

#else

// Elsewhere processors notice long runs of full-line stores by themselves.
void copy_streaming(void* dst, const void* src, std::size_t bytes) noexcept { copy(dst, src, bytes); }

#endif

}  // namespace copse::kernels
