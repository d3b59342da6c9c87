// Signals: lines and progress words in memory that several ranks share.
//
// Considerations:
// - Each word has one writer. A line's word holds the last 48 bits of a ticket and the portions of it that are posted
//   (plan::word_of). A line is reached if it holds exactly that ticket: its owner posts the next one there only when nobody
//   waits for this one any more. So neither 0 nor an old word is taken for a new one, wherever tickets began, until the 48
//   bits wrap around. The executor zeroes old lines before that happens (Signals::forget_old_lines).
// - A progress word holds all 64 bits of a ticket and is compared by signed difference.
// - There is no read-modify-write. A post is a store-release; its partner is the load-acquire of `reached`.
// - A line is 128 bytes, so that two words never share what the adjacent-line prefetcher fetches together.
// - The classes are templates over the atomic type, so that a deterministic scheduler can run them (tests/engine).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "plan/plan.hpp"

namespace copse::engine {

template <template <class> class Atomic = std::atomic>
struct alignas(plan::kLineBytes) BasicLine {
  Atomic<std::uint64_t> word;
  std::byte payload[plan::kLinePayloadBytes];

  // Makes everything that this rank wrote before visible to a rank that sees the ticket reached (partner: reached).
  void post(std::uint64_t ticket, std::uint32_t portion = 0) {
    word.store(plan::word_of(ticket, portion), std::memory_order_release);
  }

  // Tells whether the owner has posted `portion` of `ticket`, or a later portion (partner: post).
  [[nodiscard]] bool reached(std::uint64_t ticket, std::uint32_t portion = 0) const {
    return word.load(std::memory_order_acquire) - plan::word_of(ticket, portion) < plan::kPortions - portion;
  }

  // Tells whether the ticket posted here is `age` or more tickets older than `now`. Only the owner calls this.
  [[nodiscard]] bool older_than(std::uint64_t age, std::uint64_t now) const {
    const std::uint64_t posted = word.load(std::memory_order_relaxed);
    return posted != 0 && ((now << plan::kPortionBits) - posted) >> plan::kPortionBits >= age;
  }

  // Posts a progress word: this rank reads nothing of `ticket`, or before it, any more (partner: passed).
  void pass(std::uint64_t ticket) { word.store(ticket + 1, std::memory_order_release); }
  [[nodiscard]] bool passed(std::uint64_t ticket) const {
    return static_cast<std::int64_t>(word.load(std::memory_order_acquire) - ticket) > 0;
  }
};

// Makes this core own the line before it is written. The other side has the line from the ring's last turn, and stores go out
// in order, so everything that a call stores would wait for it. (For baseline x86-64, gcc takes __builtin_prefetch(.., 1) for
// a prefetch to read, which does not help.)
inline void fetch_to_write(const void* line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

using Line = BasicLine<>;
static_assert(sizeof(Line) == plan::kLineBytes, "a line is what plan.hpp says it is");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words live in memory shared by processes");

}  // namespace copse::engine
