// The bootstrap is how the ranks of a communicator meet before they share memory. It is the one thing that a face must provide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

// Memory of the ranks' buffers, if all of them lie in one memfd that each process maps. The descriptor stays open.
struct Region {
  void* base = nullptr;  // where this process has mapped it, from offset 0 on
  std::size_t bytes = 0;
  int fd = -1;
  engine::FileId file;
};

// Why ranks go without Copse when allgather() has failed.
inline constexpr const char* kNotGathered = "the ranks could not be gathered";

class Bootstrap {
 public:
  Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;
  virtual ~Bootstrap() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int ranks() const = 0;
  // Gathers `bytes` bytes from every rank into all[rank * bytes] on every rank. This is collective. Returns false on failure.
  virtual bool allgather(const void* mine, void* all, std::size_t bytes) = 0;
  // Tells whether a call that this rank refuses ends the program. Otherwise the other ranks' call must find out that it was
  // refused.
  [[nodiscard]] virtual bool errors_are_fatal() const { return true; }
  // Tells whether this rank may wait in the MPI's own collective. It may not do so if other calls need this rank to pass messages
  // on in the meantime.
  [[nodiscard]] virtual bool may_wait_in_mpi() const { return true; }
  // Returns the memory in which other ranks may reach this rank's buffers directly, or null if there is no such memory. It takes
  // the place of the shared heap.
  [[nodiscard]] virtual const Region* region() const { return nullptr; }
  // Returns a number that is the same for the ranks of this node, if the face knows better than host_of() (card.hpp).
  [[nodiscard]] virtual std::optional<std::uint64_t> host() const { return std::nullopt; }
  // Says that one rank of the node works while the others wait for it in the next allgather(), and how many ranks of the node there
  // are for each processor. They should leave it theirs.
  virtual void give_way(double crowding) { static_cast<void>(crowding); }
  // Says that the ranks share memory now. From here on, a rank may come late by any length of time. allgather() waits for a late
  // rank as long as that rank lives, and meanwhile calls `idle` for work that must go on. `all_live` tells whether no rank of this
  // node has ended. A bootstrap that does all this by itself may ignore both.
  virtual void settle(std::function<void()> idle, std::function<bool()> all_live) {
    static_cast<void>(idle);
    static_cast<void>(all_live);
  }
};

}  // namespace copse::communicator
