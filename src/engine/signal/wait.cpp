// The slow path of waiting.
#include "engine/signal/wait.hpp"

#include <sched.h>
#include <time.h>

namespace copse::engine {
namespace {
constexpr int kPausesOfAStay = 16;
}

void wait_slowly(const WaitPolicy& policy, std::uint64_t round) {
  if (round < policy.stays) {
    for (int pause = 0; pause < kPausesOfAStay; ++pause) relax();
    return;
  }
  if (round < policy.stays + policy.yields) {
    sched_yield();
    return;
  }
  timespec nap{0, static_cast<long>(policy.nap_us) * 1000};
  nanosleep(&nap, nullptr);
}

}  // namespace copse::engine
