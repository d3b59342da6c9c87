// The bootstrap is how the ranks of a communicator meet before they share memory. It is the one thing that a face must provide.
#pragma once

#include <cstddef>
#include <functional>

namespace copse::communicator {

class Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap &) = delete;
  Bootstrap &operator=(const Bootstrap &) = delete;
  virtual ~Bootstrap() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  // Gathers `bytes` bytes from every rank into all[rank * bytes] on every rank. This is collective. Returns false on failure.
  virtual bool allgather(const void *mine, void *all, std::size_t bytes) = 0;
  // Tells whether a call that this rank refuses ends the program. Otherwise the other ranks' call must find out that it was refused.
  [[nodiscard]] virtual bool errors_are_fatal() const { return true; }
  // Says that the ranks share memory now. From here on, a rank may be late by any time. allgather() waits for it as long as it
  // lives, and meanwhile calls `idle` for work that must go on. `all_live` tells whether no rank of this node has ended. A
  // bootstrap that does all this by itself may ignore both.
  virtual void settle(std::function<void()> idle, std::function<bool()> all_live) {
    static_cast<void>(idle);
    static_cast<void>(all_live);
  }
};

}  // namespace copse::communicator
