// Copies for the cases in which std::memcpy is not the best. (It was compared with `rep movsb` and with AVX-512 loops with
// and without prefetching, for data in cache, in another core's cache, and with a cold destination. It was clearly behind
// only in the case below.)
//
// The order of includes matters to Highway.
// clang-format off
#include "engine/kernels/targets.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "engine/kernels/copy.cpp"
#include "hwy/foreach_target.h"

#include "engine/kernels/kernels.hpp"
#include "hwy/highway.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace copse::kernels::HWY_NAMESPACE {

// Copies by loads and stores, whatever the C library would do.
void copy_by_vectors_here(void* dst, const void* src, std::size_t bytes) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::uint8_t> d;
  const std::size_t step = hn::Lanes(d);
  auto* to = static_cast<std::uint8_t*>(dst);
  const auto* from = static_cast<const std::uint8_t*>(src);
  const auto four = [&](std::size_t at) {
    const auto a = hn::LoadU(d, from + at);
    const auto b = hn::LoadU(d, from + at + step);
    const auto c = hn::LoadU(d, from + at + 2 * step);
    const auto e = hn::LoadU(d, from + at + 3 * step);
    hn::StoreU(a, d, to + at);
    hn::StoreU(b, d, to + at + step);
    hn::StoreU(c, d, to + at + 2 * step);
    hn::StoreU(e, d, to + at + 3 * step);
  };
  four(0);  // the loop starts where stores do not cross a line
  for (std::size_t at = 4 * step - reinterpret_cast<std::uintptr_t>(to) % step; at + 4 * step < bytes; at += 4 * step) four(at);
  four(bytes - 4 * step);
}

}  // namespace copse::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace copse::kernels {

void copy_by_vectors(void* dst, const void* src, std::size_t bytes) noexcept {
  static const auto best = COPSE_BEST(copy_by_vectors_here);
  best(dst, src, bytes);
}

#if defined(__SSE2__)

// 16-byte stores are combined into full lines before they leave the core. Wider ones measured no faster, and these need no
// dispatch.
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

// Other processors notice long runs of full-line stores by themselves.
void copy_streaming(void* dst, const void* src, std::size_t bytes) noexcept { copy(dst, src, bytes); }

#endif

}  // namespace copse::kernels
#endif
