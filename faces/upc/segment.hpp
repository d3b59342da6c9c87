// The shared memory of a program: a memfd that all its processes map.
//
// It begins with what the program's threads say to one another while they start and end. Then comes a part for each thread, in two
// halves. In the first halves, arrays have the same address on every thread; one allocator, in the part of thread 0, serves
// them all. In the second half of a part lies what its own thread has allocated. A pointer's address counts from the beginning of
// the thread's part, so it does not matter where a process maps the memory.
#pragma once

#include <atomic>
#include <climits>
#include <cstddef>
#include <memory>
#include <string>

#include "communicator/bootstrap.hpp"
#include "copse/upc.h"
#include "engine/reach/shared_memory.hpp"

namespace copse::upc {

// How a program ends.
struct Ending {
  static constexpr int kNot = -1;
  std::atomic<int> status{kNot};  // once a thread ends the whole program: its exit status
};

class Segment {
 public:
  static constexpr std::size_t kAlignment = 64;

  // Makes the memory of a program. If that fails, the result is null, and `why_not` is the reason. `bytes`: of half a part; 0: as
  // much as the machine has.
  static std::unique_ptr<Segment> make(int threads, std::size_t bytes, std::string& why_not);
  // Maps the memory again in a forked process. Returns false, with errno set, if that fails.
  [[nodiscard]] bool map();

  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] std::size_t half() const { return half_; }
  [[nodiscard]] Ending& ending() const { return *reinterpret_cast<Ending*>(mapping_->base()); }
  // The result of a thread, or kRunning until there is one.
  static constexpr int kRunning = INT_MIN;
  [[nodiscard]] std::atomic<int>& status_of(int thread) const {
    return reinterpret_cast<std::atomic<int>*>(mapping_->base() + kStatuses)[thread];
  }
  // Where the threads meet for the first and for the second time.
  [[nodiscard]] void* boards(int number) const {
    return mapping_->base() + boards_ + static_cast<std::size_t>(number) * board_bytes_;
  }
  [[nodiscard]] const communicator::Region& region() const { return region_; }

  [[nodiscard]] std::byte* part(int thread) const {
    return mapping_->base() + parts_ + static_cast<std::size_t>(thread) * 2 * half_;
  }
  [[nodiscard]] std::byte* here(upc_shared p) const { return part(p.thread) + p.address; }

  // Allocates the same address on all threads, or memory of one thread. Returns null if there is not that much.
  [[nodiscard]] upc_shared allocate_on_all(std::size_t bytes) const;
  [[nodiscard]] upc_shared allocate_on(int thread, std::size_t bytes) const;
  // Tells whether one of the two may have returned this.
  [[nodiscard]] bool may_be_block(upc_shared p) const;
  void free(upc_shared p) const;

 private:
  static constexpr std::size_t kStatuses = 64;
  Segment(int threads, std::size_t half);
  [[nodiscard]] std::size_t bytes() const { return parts_ + static_cast<std::size_t>(threads_) * 2 * half_; }

  int threads_;
  std::size_t half_, board_bytes_, boards_, parts_;
  engine::Descriptor memory_;
  std::shared_ptr<engine::Mapping> mapping_;
  communicator::Region region_;
};

}  // namespace copse::upc
