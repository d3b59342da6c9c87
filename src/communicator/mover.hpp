// The thread that moves started calls on while their rank is not in any call: one for all of a process's communicators.
//
// It sleeps while nothing is under way. While something is, it looks, and naps: shortly after a look that brought a call on,
// and up to a millisecond after many in vain. So it costs a rank that computes on the same processor next to nothing.
// A forked child has no such thread, and a new one only if it asks for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace copse::communicator {

class Progress;

class Mover {
 public:
  // This process's.
  static Mover &here();

  // From now on, until leave(), it moves on what wants it (Progress::helped). False if there can be no thread.
  bool join(Progress &progress);
  // Returns when nobody looks at it any more. With the last one the thread ends.
  void leave(Progress &progress);
  // There is more to do than there was. Does not wait for calls that it moves.
  void wake();

 private:
  void run(std::uint64_t era);
  [[nodiscard]] bool sweep();
  [[nodiscard]] bool any() const;

  std::mutex mutex_;  // held while it moves calls, so that a fork finds none half moved
  std::condition_variable wanted_;
  std::vector<Progress *> joined_;
  std::thread thread_;
  std::uint64_t era_ = 0;  // of threads; one ends when another's has begun
  std::atomic<int> asleep_{0};
};

}  // namespace copse::communicator
