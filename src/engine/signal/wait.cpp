// The slow path of waiting.
#include "engine/signal/wait.hpp"

#include <sched.h>
#include <time.h>

namespace copse::engine {

void wait_slowly(const WaitPolicy &policy, std::uint64_t round) {
  if (round < policy.yields) {
    sched_yield();
    return;
  }
  timespec nap{0, static_cast<long>(policy.nap_us) * 1000};
  nanosleep(&nap, nullptr);
}

}  // namespace copse::engine
