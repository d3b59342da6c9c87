// Copies and reductions.
#include "engine/movement.hpp"

#include <algorithm>
#include <array>
#include <chrono>

#include "engine/kernels/kernels.hpp"

namespace copse::engine {
namespace {

constexpr std::size_t kStripBytes = 4096;    // strip of a reduction that goes past the caches; stays in L1
constexpr std::size_t kBounceBytes = 32768;  // what the kernel brings at a time for a reduction; stays in L1/L2

// Touches pages of another process's heap before stores to them. Pages become mapped here at their first touch. A store maps
// one page at a time; a load maps all pages around it (the kernel's fault-around).
void meet_pages(const Located& place, std::size_t bytes) {
  constexpr std::uintptr_t kAround = 65536;
  if (place.peer == nullptr || place.peer->same_process || bytes == 0) return;
  const std::byte* const end = place.here + bytes;
  for (const std::byte* at = place.here; at < end; at += kAround - reinterpret_cast<std::uintptr_t>(at) % kAround)
    static_cast<void>(*static_cast<const volatile std::byte*>(at));
}

// Reduces into `far`, and into `near` unless that is null. Results are made where they stay in the first cache, and are sent
// on from there.
void reduce_past_caches(const Combine& combine, std::byte* far, std::byte* near, const std::byte* a, const std::byte* b,
                        std::size_t count, std::size_t element_bytes) {
  alignas(64) std::array<std::byte, kStripBytes> strip;
  const std::size_t most = kStripBytes / element_bytes;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t elements = std::min(most, count - first), at = first * element_bytes;
    std::byte* const result = near != nullptr ? near + at : strip.data();
    combine.apply(result, a + at, b + at, elements, element_bytes);
    kernels::copy_streaming(far + at, result, elements * element_bytes);
  }
}

}  // namespace

bool Movement::knows(const Located& place) {
  if (!place.known) unreached_ = place.peer;
  return place.known;
}

bool Movement::fetch(const Located& src, std::size_t offset, std::byte* here, std::size_t bytes) {
  if (kernel_read(*src.peer, here, src.there + offset, bytes)) return true;
  unreached_ = src.peer;
  return false;
}

bool Movement::store(const Located& dst, std::size_t offset, const std::byte* here, std::size_t bytes) {
  if (kernel_write(*dst.peer, here, dst.there + offset, bytes)) return true;
  unreached_ = dst.peer;
  return false;
}

bool Movement::copy(const Located& dst, const Located& src, std::size_t element_bytes, std::size_t past_from) {
  if (!knows(dst) || !knows(src)) return false;
  const std::size_t bytes = std::min(dst.count, src.count) * element_bytes;
  if (bytes == 0) return true;
  if (dst.here != nullptr && src.here != nullptr) {
    meet_pages(dst, bytes);
    if (dst.here != src.here) kernels::copy_or_stream(dst.here, src.here, bytes, past_from);
    return true;
  }
  if (dst.here != nullptr) return fetch(src, 0, dst.here, bytes);
  if (src.here != nullptr) return store(dst, 0, src.here, bytes);
  return false;  // no plan moves data between two other ranks
}

bool Movement::copy_to_slot(const Located& dst, const Located& src, std::size_t element_bytes) {
  const std::size_t bytes = std::min(dst.count, src.count) * element_bytes;
  if (!slot_stores_.asks(bytes)) return copy(dst, src, element_bytes, slot_stores_.past_from());
  const auto begin = std::chrono::steady_clock::now();
  const bool copied = copy(dst, src, element_bytes, SIZE_MAX);
  slot_stores_.took(bytes, std::chrono::steady_clock::now() - begin);
  return copied;
}

bool Movement::reduce(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a, const Located& b) {
  if (!knows(dst) || !knows(dst2) || !knows(a) || !knows(b)) return false;
  if (a.count == 0) return true;
  const bool two = op.dst2.space != plan::Space::none;
  if (!dst.here || !a.here || !b.here || (two && !dst2.here)) return reduce_by_pieces(op, call, dst, dst2, a, b);
  reduce_here(op, call, dst, dst2, a, b);
  return true;
}

void Movement::reduce_here(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a,
                           const Located& b) const {
  const std::size_t size = call.element_bytes, bytes = a.count * size;
  const Combine& combine = *call.combine;
  const bool two = op.dst2.space != plan::Space::none;
  meet_pages(dst, bytes);
  if (two) meet_pages(dst2, bytes);
  if (op.leaves && bytes >= slot_stores_.past_from() && size <= kStripBytes) {
    reduce_past_caches(combine, dst.here, two ? dst2.here : nullptr, a.here, b.here, a.count, size);
  } else if (two && combine.kernel_two != nullptr) {
    combine.kernel_two(dst.here, dst2.here, a.here, b.here, a.count);
  } else {
    combine.apply(dst.here, a.here, b.here, a.count, size);
    if (two) kernels::copy(dst2.here, dst.here, bytes);
  }
}

// Reduces operands that loads and stores do not reach. They are brought here in pieces that fit in the cache.
bool Movement::reduce_by_pieces(const Op& op, const Call& call, const Located& dst, const Located& dst2, const Located& a,
                                const Located& b) {
  const std::size_t size = call.element_bytes, piece = std::max<std::size_t>(1, kBounceBytes / size);
  const BorrowedScratch memory(pool_, 3 * piece * size);
  for (std::size_t at = 0; at < a.count; at += piece) {
    const std::size_t count = std::min(piece, a.count - at), bytes = count * size, offset = at * size;
    std::array<std::byte*, 3> bounce{};
    for (std::size_t i = 0; i < bounce.size(); ++i) bounce[i] = memory.at() + i * piece * size;
    const auto bring = [&](const Located& source, std::byte*& near) {
      if (source.here == nullptr) return fetch(source, offset, near, bytes);
      near = source.here + offset;
      return true;
    };
    const auto deliver = [&](const Located& target, const std::byte* from) {
      if (target.here == nullptr) return store(target, offset, from, bytes);
      if (target.here + offset != from) kernels::copy(target.here + offset, from, bytes);
      return true;
    };
    if (!bring(a, bounce[0]) || !bring(b, bounce[1])) return false;
    std::byte* const result = dst.here != nullptr ? dst.here + offset : bounce[2];
    call.combine->apply(result, bounce[0], bounce[1], count, size);
    if (!deliver(dst, result) || (op.dst2.space != plan::Space::none && !deliver(dst2, result))) return false;
  }
  return true;
}

}  // namespace copse::engine
