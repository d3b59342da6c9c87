// Looks, naps and sleeps. Gives a forked child a mover of its own.
#include "communicator/mover.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <system_error>

namespace copse::communicator {
namespace {

constexpr std::chrono::microseconds kShortestNap{10}, kLongestNap{1000};

Mover* mover = nullptr;

// Blocks all signals in threads that are created meanwhile. Signals are for the program, and none of its handlers may run in a
// thread that it does not know.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

}  // namespace

Mover& Mover::here() {
  static const bool made = [] {
    mover = new Mover;  // never destroyed: its thread may outlive this library's other statics
    pthread_atfork([] { mover->mutex_.lock(); }, [] { mover->mutex_.unlock(); },
                   [] { mover = new Mover; });  // the parent's has waiters that the child lacks, and would wait for them
    return true;
  }();
  static_cast<void>(made);
  return *mover;
}

bool Mover::join(Client& client) {
  const std::lock_guard lock(mutex_);
  if (std::find(joined_.begin(), joined_.end(), &client) != joined_.end()) return true;
  if (!thread_.joinable()) {
    const SignalsBlocked guard;
    try {
      thread_ = std::thread([this, era = era_] { run(era); });
    } catch (const std::system_error&) {  // the system has no more threads, so only calls move calls on
      return false;
    }
  }
  joined_.push_back(&client);
  return true;
}

void Mover::leave(Client& client) {
  std::thread last;
  {
    const std::lock_guard lock(mutex_);
    std::erase(joined_, &client);
    if (!joined_.empty() || !thread_.joinable()) return;
    last = std::move(thread_);
    ++era_;
    wanted_.notify_all();
  }
  last.join();
}

// The thread looks before it sleeps, and it counts as asleep before it looks. So as long as it does not count as asleep, it
// need not be woken.
void Mover::end_rest(Rest least) {
  while (rest_.load() >= least) {
    if (const std::unique_lock lock(mutex_, std::try_to_lock); lock) return wanted_.notify_all();
    std::this_thread::yield();
  }
}

// Tells whether anything is under way in a client that wants the thread in this way.
bool Mover::any(bool (Client::*wants)() const) const {
  return std::any_of(joined_.begin(), joined_.end(), [wants](const Client* one) { return (one->*wants)() && one->any(); });
}

bool Mover::sweep() {
  bool moved = false;
  for (Client* const client : joined_)
    if (client->helped() || client->watched()) moved = client->sweep(true) || moved;
  return moved;
}

void Mover::run(std::uint64_t era) {
  constexpr int kVainLooks = 100;  // so that a client whose calls come often need not rouse the thread for each of them
  prctl(PR_SET_TIMERSLACK, 1UL);  // otherwise the shortest nap takes 60 us
  std::unique_lock lock(mutex_);
  auto nap = kShortestNap;
  int vain = kVainLooks;
  while (era == era_) {
    rest_.store(Rest::sleeps);
    bool woken = true;
    const bool helps = any(&Client::helped);
    vain = any(&Client::watched) ? 0 : std::min(vain + 1, kVainLooks);
    if (helps || vain < kVainLooks) {
      rest_.store(Rest::naps);
      woken = wanted_.wait_for(lock, helps ? nap : kLongestNap) == std::cv_status::no_timeout;
    } else {
      wanted_.wait(lock);
      if (std::any_of(joined_.begin(), joined_.end(), [](const Client* one) { return one->watched(); })) vain = 0;
    }
    if (era != era_) return;  // a newer thread's rest stands there now
    rest_.store(Rest::none);
    nap = sweep() || woken ? kShortestNap : std::min(2 * nap, kLongestNap);
  }
}

}  // namespace copse::communicator
