// Signals: lines and progress words in memory that several ranks share.
//
// Considerations:
// - One writer per word. A line's word holds the last 48 bits of a ticket and the portions of it that are posted
//   (plan::word_of). A line is reached if it holds that very ticket: its owner posts the next one there only when nobody
//   waits for this one any more. So neither 0 nor an old word is taken for a new one, wherever tickets began, until the
//   48 bits come round; the executor makes old lines zero before that (Signals::forget_old_lines).
// - A progress word holds all 64 bits of a ticket and is compared by signed difference.
// - No read-modify-write. A post is a store-release; its partner is the load-acquire of `reached`.
// - A line is 128 bytes, so that two words never share what the adjacent-line prefetcher fetches together.
// - Templates over the atomic type, so that a deterministic scheduler can run them (tests/engine).
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

  // Everything this rank wrote before is visible to whoever sees the ticket reached (partner: reached).
  void post(std::uint64_t ticket, std::uint32_t portion = 0) {
    word.store(plan::word_of(ticket, portion), std::memory_order_release);
  }

  // Has the owner posted `portion` of `ticket`, or a later portion? Partner: post.
  [[nodiscard]] bool reached(std::uint64_t ticket, std::uint32_t portion = 0) const {
    return word.load(std::memory_order_acquire) - plan::word_of(ticket, portion) < plan::kPortions - portion;
  }

  // Was a ticket posted here, `age` tickets or more before `now`? For the owner.
  [[nodiscard]] bool older_than(std::uint64_t age, std::uint64_t now) const {
    const std::uint64_t posted = word.load(std::memory_order_relaxed);
    return posted != 0 && ((now << plan::kPortionBits) - posted) >> plan::kPortionBits >= age;
  }

  // Of a progress word: this rank reads nothing of `ticket`, or before it, any more (partner: passed).
  void pass(std::uint64_t ticket) { word.store(ticket + 1, std::memory_order_release); }
  [[nodiscard]] bool passed(std::uint64_t ticket) const {
    return static_cast<std::int64_t>(word.load(std::memory_order_acquire) - ticket) > 0;
  }
};

// Makes the line this core's own before it is written: the other side has it from the ring's last turn, and stores go out
// in their order, so that whatever a call stores would wait for it. (For baseline x86-64 gcc takes __builtin_prefetch(.., 1)
// for a prefetch to read, which is no help.)
inline void fetch_to_write(const void *line) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char *>(line)));
#else
  __builtin_prefetch(line, 1);
#endif
}

using Line = BasicLine<>;
static_assert(sizeof(Line) == plan::kLineBytes, "a line is what plan.hpp says it is");
static_assert(std::atomic<std::uint64_t>::is_always_lock_free, "words live in memory shared by processes");

}  // namespace copse::engine
