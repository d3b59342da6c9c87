// What the ranks of a node tell one another about their calls, so that a rank that refuses a call can go on after it
// (docs/decisions/refusals.md). Each rank has a journal of the calls that it has begun, and a record of those that it has
// refused.
#pragma once

#include <atomic>
#include <cstdint>

namespace copse::engine {

// The word for a call that a rank has begun: the low halves of its first ticket and of its number among the calls of all
// ranks.
inline constexpr int kHalf = 32;
inline constexpr std::uint64_t begun_word(std::uint64_t number, std::uint64_t ticket) {
  return ticket << kHalf | (number << kHalf) >> kHalf;
}
inline constexpr bool is_of(std::uint64_t word, std::uint64_t number) {
  return static_cast<std::uint32_t>(word) == static_cast<std::uint32_t>(number);
}
// Returns how far the word's ticket is ahead of `ticket`, which is near it.
inline constexpr std::int64_t ahead_of(std::uint64_t word, std::uint64_t ticket) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(word >> kHalf) - static_cast<std::uint32_t>(ticket));
}

// The calls from `first` to `last`, of which this rank has run none, and the ticket that it would have given the first of
// them. The rank keeps this until all others have left those calls. The rank is the only writer, and it writes `last` last. 0
// means that there are none.
struct Refusal {
  std::atomic<std::uint64_t> last, first, ticket;

  [[nodiscard]] bool is_of(std::uint64_t number) const {
    const std::uint64_t end = last.load(std::memory_order_acquire);
    const std::uint64_t begin = first.load(std::memory_order_relaxed);
    return end != 0 && begin <= number && number <= end;  // calls without numbers, as tests make them, have number 0
  }
};

}  // namespace copse::engine
