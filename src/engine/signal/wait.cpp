// The slow path of waiting.
#include "engine/signal/wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>

namespace copse::engine {
namespace {
constexpr int kPausesOfAStay = 16;
constexpr std::uint64_t kNapsOfALength = 1024;  // naps until they become twice as long
constexpr std::uint64_t kLongestNapUs = 1000;
}  // namespace

void wait_slowly(const WaitPolicy& policy, std::uint64_t round) {
  if (round < policy.stays) {
    for (int pause = 0; pause < kPausesOfAStay; ++pause) relax();
    return;
  }
  if (round < policy.stays + policy.yields) {
    sched_yield();
    return;
  }
  const std::uint64_t naps = round - policy.stays - policy.yields;
  const std::uint64_t us = std::uint64_t{policy.nap_us} << std::min<std::uint64_t>(naps / kNapsOfALength, 10);
  timespec nap{0, static_cast<long>(std::min(us, std::max<std::uint64_t>(kLongestNapUs, policy.nap_us))) * 1000};
  nanosleep(&nap, nullptr);
}

}  // namespace copse::engine
