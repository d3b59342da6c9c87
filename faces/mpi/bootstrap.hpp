// The ranks of an MPI communicator meet over the MPI's own allgather. Between two groups, that gives each group what the ranks of
// the other one say, and a broadcast in each direction gives it back.
#pragma once

#include <algorithm>
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
#include "groups.hpp"
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
  explicit MpiBootstrap(MPI_Comm comm, const TwoGroups& groups = {}) : comm_(comm), groups_(groups) {
    real().Comm_rank_(comm, &rank_in_group_);
    real().Comm_size_(comm, &ranks_);
    ranks_ += groups.others;
  }
  [[nodiscard]] int rank() const override { return groups_.begin_of_own() + rank_in_group_; }
  [[nodiscard]] int ranks() const override { return ranks_; }
  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    if (revoked(comm_)) return false;
    if (!all_live_) return gather(mine, static_cast<std::byte*>(all), bytes);
    // If the wait is given up, the MPI may still write what late ranks send. So it gets memory that stays. A rank that has none
    // ends the program, because the others are in the call already.
    const std::size_t in_all = bytes * static_cast<std::size_t>(ranks_);
    std::unique_ptr<std::byte[]> kept(new std::byte[bytes + in_all]);
    std::memcpy(kept.get(), mine, bytes);
    std::byte* const gathered = kept.get() + bytes;
    if (!gather(kept.get(), gathered, bytes)) {
      static_cast<void>(kept.release());
      return false;
    }
    std::memcpy(all, gathered, in_all);
    return true;
  }
  bool errors_are_fatal() const override { return mpi::errors_are_fatal(comm_); }
  bool may_wait_in_mpi() const override { return world_is_here() || progress()->any_thread_may_send(); }
  void give_way(double crowding) override { crowding_ = crowding; }
  void settle(std::function<void()>, std::function<bool()> all_live) override { all_live_ = std::move(all_live); }

 private:
  // The calls are nonblocking, so that this rank's other calls make progress.
  bool gather(const void* mine, std::byte* all, std::size_t bytes) {
    const int count = static_cast<int>(bytes);
    const Raw byte = raw_of(MPI_BYTE), comm = raw_of(comm_);
    std::byte* const others = all + bytes * static_cast<std::size_t>(groups_.begin_of_others());
    MPI_Request request = MPI_REQUEST_NULL;
    if (real().Iallgather(mine, count, byte, others, count, byte, comm, &request) != MPI_SUCCESS || !ends_well(request))
      return false;
    std::byte* const own = all + bytes * static_cast<std::size_t>(groups_.begin_of_own());
    const int leader = rank_in_group_ == 0 ? MPI_ROOT : MPI_PROC_NULL;
    for (const bool first_gives : {true, false}) {
      if (!groups_.any()) break;
      const int error = groups_.first == first_gives ? real().Ibcast(others, count * groups_.others, byte, leader, comm, &request)
                                                     : real().Ibcast(own, count * groups_.own, byte, 0, comm, &request);
      if (error != MPI_SUCCESS || !ends_well(request)) return false;
    }
    return true;
  }
  bool ends_well(MPI_Request request) {
    if (all_live_) return wait_among_the_living(request);
    const double crowding = std::exchange(crowding_, 1);
    return crowding > 1 ? wait_aside(request, crowding) : wait_for_mpi(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS;
  }
  // Waits where ranks outnumber processors. If all ranks looked for messages all the time, the rank that works would get only its
  // share of a processor, even if the others yielded. A look takes some 10 us. So with naps in proportion to the ranks of a
  // processor, all looks together take only a part of it.
  static bool wait_aside(MPI_Request request, double crowding) {
    constexpr double kNap = 40, kLongestNap = 2000;  // us
    engine::WaitPolicy aside{.spins = 0, .pauses = 0, .stays = 0, .yields = 2};
    aside.nap_us = static_cast<std::uint32_t>(std::min(kNap * crowding, kLongestNap));
    int flag = 0, result = MPI_SUCCESS;
    const auto over = [&] {
      result = real().Test(&request, &flag, MPI_STATUS_IGNORE);
      return flag != 0 || result != MPI_SUCCESS;
    };
    engine::wait_until(aside, over, [] { return true; }, go_on);
    return result == MPI_SUCCESS;
  }
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
  double crowding_ = 1;  // what give_way() says about the next allgather()
  MPI_Comm comm_;
  TwoGroups groups_;
  int rank_in_group_ = 0, ranks_ = 1;
};

}  // namespace copse::mpi
