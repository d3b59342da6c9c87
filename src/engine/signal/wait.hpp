// Waiting as a policy: poll, stay a while, then yield, then sleep.
//
// A rank that waits while others want its processor must get out of the way; a rank that is alone on its processor must not. So
// the policy knows whether ranks outnumber processors, and a wait may know that the awaited rank runs on its own processor.
// Sleep is a short nap with a time limit, never a wait for a wake-up call. So a poster does no more than a store, and a nap
// that ends for nothing costs a waiter little. The slow path also notices bad news: a peer that died or has given up.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/signal/cancel.hpp"

namespace copse::engine {

struct WaitPolicy {
  std::uint32_t spins = 1000;    // polls one right after the other
  std::uint32_t pauses = 1;      // pause instructions between two polls
  std::uint32_t stays = 4000;    // polls a quarter of a microsecond or more apart, before the first yield
  std::uint32_t yields = 20000;  // yields before naps begin
  std::uint32_t nap_us = 100;    // length of a nap
  bool cancellable = false;      // a cancelled thread leaves the wait between two naps, by unwinding

  // A yield costs a time slice if other programs want the processor. Staying pays for waits of up to a millisecond.
  static WaitPolicy dedicated() { return {}; }
  // Any pause would take time from those who have work (bench: copse-hardware crowded).
  static WaitPolicy oversubscribed() { return {0, 0, 0, 200000, 50, false}; }
  // This is for a rank that has run far ahead: every poll of a word costs its owner a miss at the next store.
  [[nodiscard]] WaitPolicy patient() const { return {spins / 16, pauses * 16, stays, yields, nap_us, cancellable}; }
};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // "yield" takes no time on most of these processors, and a wait counts its pauses
#endif
}

// One step of the slow path after `spins` failed polls: pauses, yields, or naps. `round` counts the calls.
void wait_slowly(const WaitPolicy& policy, std::uint64_t round);

inline constexpr std::chrono::milliseconds kWatchEvery{50};

inline constexpr std::uint64_t kIdleEvery = 8;  // rounds of the slow path

// The first phase of a wait: polls one right after the other. It is inlined where it matters, because the code between the
// poll that sees the word and the code that waits for it is on the path of every call.
template <class Ready>
[[gnu::always_inline]] inline bool spin_until(const WaitPolicy& policy, const Ready& ready) {
  const std::uint32_t spins = policy.spins, pauses = policy.pauses;
  for (std::uint32_t i = 0; i < spins; ++i) {
    if (ready()) return true;
    for (std::uint32_t p = 0; p < pauses; ++p) relax();
  }
  return false;
}

// The slow path, which has the phases after spinning. It polls `ready` until it holds. It calls `watch` about every
// kWatchEvery by the clock, since other processes decide how long a yield takes. If `watch` returns false, the wait ends with
// the result false. It calls `idle` every few rounds and before every nap, for work that must go on meanwhile. No
// cancellation takes effect in `watch`, in `idle` or in a nap. `beside` says whether the wait is for somebody who needs this
// very processor. While that is so, the wait yields the processor.
template <class Ready, class Watch, class Idle, class Beside>
bool wait_beyond_spinning(const WaitPolicy& policy, Ready&& ready, Watch&& watch, Idle&& idle, Beside&& beside) {
  std::chrono::steady_clock::time_point next{};
  std::optional<CancelDeferred> deferred;
  for (std::uint64_t round = 0;; ++round) {
    if (ready()) return true;
    const bool naps = round >= policy.stays + policy.yields, idles = naps || round % kIdleEvery == kIdleEvery - 1;
    if (idles && !deferred) deferred.emplace();
    if (naps && policy.cancellable) deferred->cancel_here();
    if ((round & 31) == 31) {
      const auto now = std::chrono::steady_clock::now();
      if (now >= next) {
        if (!watch()) return false;
        next = now + kWatchEvery;
      }
    }
    if (idles) idle();
    wait_slowly(policy, round < policy.stays && beside() ? policy.stays : round);
  }
}
// Runs all phases.
template <class Ready, class Watch, class Idle>
bool wait_until(const WaitPolicy& policy, Ready&& ready, Watch&& watch, Idle&& idle) {
  return spin_until(policy, ready) || wait_beyond_spinning(policy, ready, watch, idle, [] { return false; });
}
template <class Ready, class Watch>
bool wait_until(const WaitPolicy& policy, Ready&& ready, Watch&& watch) {
  return wait_until(policy, ready, watch, [] {});
}

}  // namespace copse::engine
