// The shared memory of a program: on each node a memfd that all its processes there map.
//
// It begins with what the threads of the node say to one another while they start and end. Then comes a part for each of them, in
// two halves. In the first halves, arrays have the same address on every thread. In the second half of a part lies what its own
// thread has allocated. A pointer's address counts from the beginning of the thread's part, so it does not matter where a process
// maps the memory.
//
// On one node, one allocator, in the part of thread 0, serves the first halves of all parts. Where there are several nodes, thread
// 0 has half of these addresses, and the other threads divide the rest: nobody can allocate in the memory of another node.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>

#include "communicator/bootstrap.hpp"
#include "copse/upc.h"
#include "engine/reach/shared_memory.hpp"
#include "places.hpp"

namespace copse::upc {

// How a program ends.
struct Ending {
  static constexpr int kNot = -1;
  std::atomic<int> status{kNot};  // once a thread ends the whole program: its exit status
};

// What other threads leave for a thread. It lies in the first bytes of the thread's part, to which no pointer points.
struct Desk {
  // The address of a block that a thread of another node has freed, or 0. The block holds the address of the next such block.
  std::int64_t returned;
  std::int64_t streams;  // on the desk of thread 0: how many streams of the network teams have taken
};

class Segment {
 public:
  static constexpr std::size_t kAlignment = 64;

  // How a process of this node finds the memory that another has made.
  struct Offer {
    pid_t owner = 0;
    int fd = -1;
    engine::FileId file;
  };

  // Makes the memory of this node. If that fails, the result is null, and `why_not` is the reason. `half` is the size of half a
  // part in bytes.
  static std::unique_ptr<Segment> make(Places places, std::size_t half, std::string& why_not);
  [[nodiscard]] Offer offer() const;
  // Maps what another process has made.
  static std::unique_ptr<Segment> join(Places places, std::size_t half, const Offer& offer, std::string& why_not);
  // Maps the memory again in a forked process. Returns false, with errno set, if that fails.
  [[nodiscard]] bool map();
  // Returns how large half a part can be on this node.
  [[nodiscard]] static std::size_t most_half(const Places& places);

  // started_by() is the network of the MPI that has started the processes, or null if no MPI has. network() is the network that
  // reaches the parts of other nodes, or null if there are no other nodes.
  void started_by(communicator::Network* mpi) { mpi_ = mpi; }
  [[nodiscard]] communicator::Network* started_by() const { return mpi_; }
  [[nodiscard]] communicator::Network* network() const { return places_.on_several_nodes() ? mpi_ : nullptr; }
  [[nodiscard]] std::span<std::byte> of_this_process() const;  // the parts of its threads

  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] int threads() const { return places_.threads(); }
  [[nodiscard]] std::size_t half() const { return half_; }
  // Returns how many bytes a thread can have on each thread at most.
  [[nodiscard]] std::size_t most_on_all(int thread) const { return slice_of(divider_for(thread)).bytes; }
  [[nodiscard]] Ending& ending() const { return *reinterpret_cast<Ending*>(mapping_->base()); }
  // The result of a thread of this node, or kRunning until there is one.
  static constexpr std::int64_t kRunning = std::numeric_limits<std::int64_t>::min();
  [[nodiscard]] std::atomic<std::int64_t>& status_of(int thread) const {
    return reinterpret_cast<std::atomic<std::int64_t>*>(mapping_->base() + kStatuses)[places_.among_node(thread)];
  }
  // Where the threads of this node meet for the first and for the second time.
  [[nodiscard]] void* boards(int number) const {
    return mapping_->base() + boards_ + static_cast<std::size_t>(number) * board_bytes_;
  }
  ~Segment() {  // the program may have closed the descriptor, and opened a file under its number
    if (mapping_ && engine::file_id(memory_.get()) != region_.file) static_cast<void>(memory_.release());
  }
  [[nodiscard]] const communicator::Region& region() const { return region_; }

  // Tells whether this process can load and store what has affinity to the thread. part() and here() may be used only for such a
  // thread.
  [[nodiscard]] bool is_here(int thread) const { return places_.is_here(thread); }
  [[nodiscard]] std::byte* part(int thread) const {
    return mapping_->base() + parts_ + static_cast<std::size_t>(places_.among_node(thread)) * 2 * half_;
  }
  [[nodiscard]] std::byte* here(upc_shared p) const { return part(p.thread) + p.address; }

  // These allocate memory for a thread of this node. allocate_on_all() allocates the same address on all threads, and
  // allocate_on() allocates memory of that thread alone. They return null if there is not enough memory.
  [[nodiscard]] upc_shared allocate_on_all(int thread, std::size_t bytes) const;
  [[nodiscard]] upc_shared allocate_on(int thread, std::size_t bytes) const;
  // Tells whether allocate_on_all() or allocate_on() may have returned this pointer.
  [[nodiscard]] bool may_be_block(upc_shared p) const;
  // Returns the thread that has allocated a block, and must free it.
  [[nodiscard]] int owner_of(upc_shared p) const;
  // Frees a block of a thread of this node.
  void free(upc_shared p) const;

 private:
  static constexpr std::size_t kStatuses = 64;
  struct Slice {
    std::size_t begin, bytes;
  };
  Segment(Places places, std::size_t half);
  [[nodiscard]] std::size_t bytes() const { return parts_ + places_.here().size() * 2 * half_; }
  [[nodiscard]] Slice slice_of(int thread) const;  // of the addresses in the first halves
  // Returns the thread from whose slice a thread of this node takes memory.
  [[nodiscard]] int divider_for(int thread) const { return places_.on_several_nodes() ? thread : 0; }

  Places places_;
  std::size_t half_, board_bytes_, boards_, parts_;
  communicator::Network* mpi_ = nullptr;
  engine::Descriptor memory_;
  std::shared_ptr<engine::Mapping> mapping_;
  communicator::Region region_;
};

}  // namespace copse::upc
