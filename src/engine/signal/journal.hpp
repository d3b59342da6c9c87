// What the ranks of a node tell one another of their calls, so that a rank that would not make one can go on behind it
// (docs/decisions/refusals.md): a journal of the calls that each has begun, and a word about those that it has refused.
#pragma once

#include <atomic>
#include <cstdint>

namespace copse::engine {

// A call that a rank has begun: the low bits of its first ticket and of its number among the calls of all ranks. Both are
// compared with others that are near. 0: none.
inline constexpr int kNumberBits = 24, kTicketBits = 40;
inline constexpr std::uint64_t kNumberMask = (std::uint64_t{1} << kNumberBits) - 1;
inline constexpr std::uint64_t begun_word(std::uint64_t number, std::uint64_t ticket) {
  return ticket << kNumberBits | (number & kNumberMask);
}
// Does the word tell of a call of that number, or of a later one?
inline constexpr bool is_from(std::uint64_t word, std::uint64_t number) {
  return word != 0 && ((word - number) & kNumberMask) <= kNumberMask / 2;
}
// The word's ticket, which is at `near` or not far from there.
inline constexpr std::uint64_t ticket_of(std::uint64_t word, std::uint64_t near) {
  const std::uint64_t ahead = ((word >> kNumberBits) - near) << kNumberBits;
  return near + static_cast<std::uint64_t>(static_cast<std::int64_t>(ahead) >> kNumberBits);
}

// Calls from `first` to `last` of which this rank has run none, and the ticket that it would have given the first. It tells
// of them until all others have left them. One writer: the rank; `last` is written last. 0: there are none.
struct Refusal {
  std::atomic<std::uint64_t> last, first, ticket;

  [[nodiscard]] bool is_of(std::uint64_t number) const {
    const std::uint64_t end = last.load(std::memory_order_acquire);
    const std::uint64_t begin = first.load(std::memory_order_relaxed);
    return end != 0 && begin <= end && ((number - begin) & kNumberMask) <= end - begin;
  }
};

}  // namespace copse::engine
