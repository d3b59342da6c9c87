// Weighs what the calls on a communicator have cost against what Copse's start on it would.
#include "communicator/early.hpp"

namespace copse::communicator {
namespace {

// The first start of a process reads the machine and measures copies. With 2 processors it took 8 ms on 2 ranks, 9 to 15 on 8, 45
// to 80 on 32 and 125 to 230 on 64 (docs/start.md). The next starts took a small part of that.
constexpr double kFirstStart = 8e-3, kMoreWhereCrowded = 3e-3, kLaterPart = 0.1;
// The start may add a tenth to what the first calls have cost. A communicator with many calls lives long, so there it may
// cost as much as they did.
constexpr long long kFew = 10;

}  // namespace

Early::Words Early::words(double start) const {
  // The longest call does not count, because the machine may have been busy with something else then.
  const double spent = timed_ < 2 ? 0 : (seconds_ - longest_) / static_cast<double>(timed_ - 1) * static_cast<double>(calls_);
  return {static_cast<long long>(spent * 1e9), -static_cast<long long>(start * 1e9)};
}

bool Early::pays(const Words& least) {
  const long long spent = least[0], start = -least[1];
  while (look_at_ <= calls_) look_at_ *= 2;
  return spent / (calls_ > kMany ? 1 : kFew) >= start;
}

double StartCost::expected(double crowding, bool among) const {
  const std::lock_guard lock(mutex_);
  if (among && mean_among_ > 0) return mean_among_;
  return mean_ > 0 ? mean_ : kFirstStart + kMoreWhereCrowded * (crowding - 1);
}

void StartCost::add(double seconds, bool among) {
  const std::lock_guard lock(mutex_);
  if (among) {
    mean_among_ = mean_among_ > 0 ? (mean_among_ + seconds) / 2 : seconds;
    return;
  }
  mean_ = mean_ > 0 ? (mean_ + seconds) / 2 : seconds * kLaterPart;
}

}  // namespace copse::communicator
