// Copying and reducing: the only work that a collective does on its data. Handles every type and operator of copse/types.h.
//
// Kernels are resolved once, to plain function pointers for this processor's instruction set, and then called with no further
// decision. They take any alignment, never allocate and never fail. Each element's result depends only on its two operands,
// not on the count, the alignment or the instruction set (except for a NaN's payload). So it does not matter which rank
// computes which part. scalar.hpp says what the operators mean for NaN, overflow and ties.
#ifndef COPSE_ENGINE_KERNELS_KERNELS_HPP
#define COPSE_ENGINE_KERNELS_KERNELS_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "copse/types.h"

namespace copse::kernels {

// dst[i] = a[i] op b[i] for i < count (elements). dst may be exactly a or exactly b; otherwise they do not overlap.
using Reduce = void (*)(void* dst, const void* a, const void* b, std::size_t count);

// dst0[i] = dst1[i] = a[i] op b[i]: one pass for a result that two ranks need (HMPI 2.4). Either may be exactly a or b.
using ReduceTwo = void (*)(void* dst0, void* dst1, const void* a, const void* b, std::size_t count);

// Returns nullptr where MPI-4.1 6.9.2 does not define the operator for the type, or if either argument is out of range.
Reduce reduce_kernel(copse_op op, copse_type type) noexcept;
ReduceTwo reduce_two_kernel(copse_op op, copse_type type) noexcept;
struct ReducePair {
  Reduce one;
  ReduceTwo two;
};
ReducePair reduce_kernels(copse_op op, copse_type type) noexcept;  // both at once

// Returns the bytes from one element to the next, padding included, or 0 if the type is out of range.
std::size_t type_size(copse_type type) noexcept;

// Tells whether elements of this type are combined to the same bits in any order, by every operator.
bool is_exact(copse_type type) noexcept;

// Names as in copse/types.h ("DOUBLE", "SUM"); "?" out of range.
const char* type_name(copse_type type) noexcept;
const char* op_name(copse_op op) noexcept;

// MPI-4.1 6.9.2: all predefined operators commute, in MPI's sense (the signs of zeros and NaNs do depend on the order).
constexpr bool is_commutative(copse_op) noexcept { return true; }

// If dst begins up to 31 bytes further into its page than src does, AMD's Zen 3 takes fifteen times as long for `rep movsb`,
// of which glibc's memcpy is made from a few KiB on (glibc bug 30994 describes Zen 4). Memory from malloc begins 16 bytes
// behind the start of a page.
inline bool is_slow_pair(const void* dst, const void* src) noexcept {
  constexpr std::uintptr_t kPage = 4096, kNear = 32;
  const std::uintptr_t ahead = (reinterpret_cast<std::uintptr_t>(dst) - reinterpret_cast<std::uintptr_t>(src)) % kPage;
  return ahead != 0 && ahead < kNear;
}
constexpr std::size_t kByVectorsFrom = 1024;  // below this, memcpy uses vectors itself
void copy_by_vectors(void* dst, const void* src, std::size_t bytes) noexcept;  // for more than kByVectorsFrom bytes

// The best plain copy for data that is used again soon. Up to 64 bytes are copied without a call. dst may be exactly src;
// otherwise they do not overlap.
inline void copy(void* dst, const void* src, std::size_t bytes) noexcept {
  auto* to = static_cast<unsigned char*>(dst);
  const auto* from = static_cast<const unsigned char*>(src);
  // Two words of one size, one from the front and one from the back, cover every length from that size to its double.
  const auto ends = [=]<class Word>(Word first, Word last) {
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
  };
  struct Word16 {
    uint64_t half[2];
  };
  struct Word32 {
    uint64_t quarter[4];
  };
  if (bytes > 64) {
    if (bytes > kByVectorsFrom && is_slow_pair(dst, src)) copy_by_vectors(dst, src, bytes);
    else if (dst != src) std::memcpy(dst, src, bytes);
  } else if (bytes >= 32) {
    ends(Word32{}, Word32{});
  } else if (bytes >= 16) {
    ends(Word16{}, Word16{});
  } else if (bytes >= 8) {
    ends(uint64_t{}, uint64_t{});
  } else if (bytes >= 4) {
    ends(uint32_t{}, uint32_t{});
  } else if (bytes >= 2) {
    ends(uint16_t{}, uint16_t{});
  } else if (bytes == 1) {
    *to = *from;
  }
}

// Copies past the caches (non-temporal stores). This is for results that are larger than the cache and are not read again
// soon. It costs up to ten times copy() where both buffers would have stayed in cache, and saves a quarter where dst is cold.
// The stores are ordered before any store that follows, so a signal may be raised as after copy().
void copy_streaming(void* dst, const void* src, std::size_t bytes) noexcept;

// Uses copy(), or copy_streaming() from `stream_from` bytes on.
inline void copy_or_stream(void* dst, const void* src, std::size_t bytes, std::size_t stream_from) noexcept {
  (bytes >= stream_from ? copy_streaming : copy)(dst, src, bytes);
}

}  // namespace copse::kernels

#endif
