// How the ranks of a communicator meet before they share memory: the one thing a face must bring.
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
  // Gathers `bytes` from every rank into all[rank * bytes] on every rank. Collective. False on failure.
  virtual bool allgather(const void *mine, void *all, std::size_t bytes) = 0;
  // The ranks share memory now. From here on a rank may be late by any time: allgather waits for it as long as it lives,
  // and calls `idle` meanwhile, for what else must go on. `all_live` tells whether no rank of this node has ended. A
  // bootstrap that sees to these things by itself need not listen.
  virtual void settle(std::function<void()> idle, std::function<bool()> all_live) {
    static_cast<void>(idle);
    static_cast<void>(all_live);
  }
};

}  // namespace copse::communicator
