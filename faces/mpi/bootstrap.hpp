// The ranks of an MPI communicator meet over the MPI's own allgather.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "communicator/bootstrap.hpp"
#include "communicator/card.hpp"
#include "engine/signal/wait.hpp"
#include "progress.hpp"
#include "settings.hpp"

namespace copse::mpi {

// On a revoked communicator Open MPI's blocking calls return an error, but its nonblocking calls never end.
inline bool revoked(MPI_Comm comm) {
  int answer = 0;
  if (real().Comm_is_revoked != nullptr) real().Comm_is_revoked(comm, &answer);
  return answer != 0;
}

// Tells whether the launcher says that all ranks of the world sit on this node, so that no message of Copse's ever leaves it.
inline bool world_is_here() {
  static const bool here = [] {
    if (settings().nodes > 1) return false;
    const communicator::Launched ranks = communicator::by_launcher();
    if (ranks.here > 0 && ranks.all > 0) return ranks.here == ranks.all;
    const char* const nodes = std::getenv("SLURM_STEP_NUM_NODES");  // a launcher that says nothing may be Slurm's
    return nodes != nullptr && std::string_view(nodes) == "1";
  }();
  return here;
}

class MpiBootstrap final : public communicator::Bootstrap {
 public:
  explicit MpiBootstrap(MPI_Comm comm) : comm_(comm) {
    real().Comm_rank_(comm, &rank_);
    real().Comm_size_(comm, &ranks_);
  }
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    if (revoked(comm_)) return false;
    const int count = static_cast<int>(bytes);
    const Raw byte = raw_of(MPI_BYTE), comm = raw_of(comm_);
    MPI_Request request = MPI_REQUEST_NULL;  // nonblocking, so that this rank's other calls make progress
    if (!all_live_) {
      if (real().Iallgather(mine, count, byte, all, count, byte, comm, &request) != MPI_SUCCESS) return false;
      return wait_for_mpi(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    // If the wait is given up, the MPI may still write what late ranks send. So it gets memory that stays. A rank that has none
    // ends the program, because the others are in the call already.
    const std::size_t in_all = bytes * static_cast<std::size_t>(ranks_);
    std::unique_ptr<std::byte[]> kept(new std::byte[bytes + in_all]);
    std::memcpy(kept.get(), mine, bytes);
    std::byte* const gathered = kept.get() + bytes;
    if (real().Iallgather(kept.get(), count, byte, gathered, count, byte, comm, &request) != MPI_SUCCESS) return false;
    if (!wait_among_the_living(request)) {
      static_cast<void>(kept.release());
      return false;
    }
    std::memcpy(all, gathered, in_all);
    return true;
  }
  bool errors_are_fatal() const override { return mpi::errors_are_fatal(comm_); }
  bool may_wait_in_mpi() const override { return world_is_here() || progress()->any_thread_may_send(); }
  void settle(std::function<void()>, std::function<bool()> all_live) override { all_live_ = std::move(all_live); }

 private:
  // Waits for the request, but stops if a rank has ended: the MPI may wait for that rank for ever.
  bool wait_among_the_living(MPI_Request request) const {
    using Clock = std::chrono::steady_clock;
    int flag = 0, result = MPI_SUCCESS;
    bool live = true;
    Clock::time_point next = Clock::now() + engine::kWatchEvery;
    progress()->until([&] {
      result = real().Test(&request, &flag, MPI_STATUS_IGNORE);
      if (flag != 0 || result != MPI_SUCCESS) return true;
      if (const auto now = Clock::now(); now >= next) {
        live = all_live_();
        next = now + engine::kWatchEvery;
      }
      return !live;
    });
    return flag != 0 && result == MPI_SUCCESS;
  }

  std::function<bool()> all_live_;
  MPI_Comm comm_;
  int rank_ = 0, ranks_ = 1;
};

}  // namespace copse::mpi
