// The mover is a thread that moves started calls on while their rank is not in any call. A process has one for all its
// communicators.
//
// It sleeps while nothing is under way. While something is, it looks, and then naps. A nap is short after a look that brought a
// call on, and takes up to a millisecond after many looks in vain. So the mover costs a rank that computes on the same
// processor next to nothing. A client that is only watched asks for less: the thread looks every millisecond, until nothing has
// been under way for a while. A forked child has no such thread until it asks for one.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace copse::communicator {

class Mover {
 public:
  // Whose calls the thread moves on.
  class Client {
   public:
    Client() = default;
    Client(const Client&) = delete;
    Client& operator=(const Client&) = delete;

    [[nodiscard]] virtual bool any() const = 0;      // tells whether something is under way
    [[nodiscard]] virtual bool helped() const = 0;   // the thread is to help all the time
    [[nodiscard]] virtual bool watched() const = 0;  // the thread is to look every millisecond
    virtual bool sweep(bool helper) = 0;             // moves on what it can, and returns whether something has moved

   protected:
    ~Client() = default;
  };

  // Returns the mover of this process.
  static Mover& here();

  // From now on, until leave(), the thread moves on what is under way in `client`, whenever the client is helped or
  // watched. Returns false if there can be no thread.
  bool join(Client& client);
  // Ends what join() began, and returns when the thread does not look at `client` any more. When the last one leaves, the
  // thread ends.
  void leave(Client& client);
  // Both tell the thread that there is more to do. wake() ends a sleep and a nap, rouse() only a sleep. Neither waits for calls
  // that the thread moves.
  void wake() { end_rest(Rest::naps); }
  void rouse() { end_rest(Rest::sleeps); }

 private:
  enum class Rest : std::uint8_t { none, naps, sleeps };

  void run(std::uint64_t era);
  void end_rest(Rest least);
  [[nodiscard]] bool sweep();
  [[nodiscard]] bool any(bool (Client::*wants)() const) const;

  std::mutex mutex_;  // held while the thread moves calls, so that a fork finds none half moved
  std::condition_variable wanted_;
  std::vector<Client*> joined_;
  std::thread thread_;
  std::uint64_t era_ = 0;  // era of the current thread; a thread of an older era ends
  std::atomic<Rest> rest_{Rest::none};
};

}  // namespace copse::communicator
