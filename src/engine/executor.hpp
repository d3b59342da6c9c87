// The executor: runs one rank's program in real memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/combine.hpp"
#include "engine/program.hpp"
#include "engine/signal/wait.hpp"
#include "engine/wire/wire.hpp"

namespace copse::engine {

// What is bound when a plan runs. Everything but the addresses is the same on all ranks.
struct Call {
  const void *input = nullptr;
  void *output = nullptr;
  std::size_t count = 0;           // elements
  std::size_t element_bytes = 1;
  std::size_t fragment_count = 0;  // elements of a fragment (the last may have fewer); 0: one fragment
  int slot_class = 0;
  const Combine *combine = nullptr;  // reductions only

  [[nodiscard]] std::uint64_t fragments() const {
    return fragment_count == 0 || count <= fragment_count ? 1 : (count + fragment_count - 1) / fragment_count;
  }
};

// peer_lost: a process has ended; peer_failed: a rank has given up, for a reason that it knows.
enum class Outcome : std::uint8_t { done, peer_lost, peer_failed, wire_failed, reach_failed };

class Executor {
 public:
  // `peers[r]` is rank r; `me` this rank. `wire` may be null when all ranks share the node. `lost` is asked now
  // and then while waiting long for a local rank, and says whether it has died.
  Executor(Segment segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire *wire,
           std::function<bool(int rank)> lost);

  [[nodiscard]] Program prepare(const plan::Plan &plan) const { return compile(plan, segment_, peers_); }

  // From now on buffers are reached through the shared heap alone (no kernel copies): what a program publishes is
  // moved there first if it lies elsewhere.
  void publish_from_heap_only() { heap_only_ = true; }

  // Runs the program from the next ticket on. After anything but `done` the executor must not be used again; the
  // other ranks of the node are told, so that nobody waits for this one for ever.
  Outcome run(const Program &program, const Call &call);

  // Whose fault it was that `run` came to peer_lost or peer_failed.
  [[nodiscard]] int lost_rank() const { return lost_rank_; }
  [[nodiscard]] const Geometry &geometry() const { return segment_.geometry(); }

 private:
  struct Fragment {  // what the current step works on
    std::size_t first, count;  // elements of the message
    std::uint64_t ticket;
  };
  struct Place {  // an operand, resolved: here, or at an address of a peer that only the kernel reaches
    std::byte *here = nullptr;
    std::uintptr_t there = 0;
    const Peer *peer = nullptr;
    std::size_t count = 0;
  };
  struct Addresses {
    std::uintptr_t input = 0, output = 0;
  };

  [[nodiscard]] Place place(const Ref &ref, const Call &call, const Fragment &fragment);
  Outcome step(const Op &op, const Call &call, const Fragment &fragment, bool loop);
  Outcome acquire(const Op &op, const Call &call, std::uint64_t ticket);
  Outcome run_steps(const Program &program, const Call &call);
  Outcome wait_word(const Line &line, std::uint64_t ticket, int rank, const WaitPolicy &policy,
                    std::uint32_t portion = 0);
  Outcome wait_word(const Line &line, std::uint64_t ticket, int rank) { return wait_word(line, ticket, rank, policy_); }
  [[nodiscard]] Outcome bad_news(int rank);
  [[nodiscard]] bool all_passed(std::uint64_t ticket);
  // Copies between here and a place that only the kernel reaches; remembers a failure in unreached_.
  bool fetch(const Peer &peer, std::byte *here, std::uintptr_t there, std::size_t bytes);
  bool store(const Peer &peer, const std::byte *here, std::uintptr_t there, std::size_t bytes);
  bool copy(const Place &dst, const Place &src, std::size_t element_bytes);
  Outcome run_in_heap(const Program &program, const Call &call);
  bool reduce(const Op &op, const Call &call, const Fragment &fragment);
  void size_scratch(const Program &program, const Call &call);

  Segment segment_;
  std::vector<Peer> peers_;
  std::vector<int> rank_of_local_;
  int me_;
  WaitPolicy policy_;
  Wire *wire_;
  std::function<bool(int)> lost_;
  int lost_rank_ = -1;
  const Peer *unreached_ = nullptr;  // whom the kernel did not reach

  std::uint64_t ticket_ = 0;        // the first ticket of the current call
  std::uint64_t fragments_ = 1;     // of the current call
  std::uint64_t passed_ = 0;        // the progress word that every rank of the node is known to have reached
  std::vector<Addresses> addresses_;  // published in the current call, by rank
  std::vector<std::byte> scratch_, bounce_;
  std::size_t scratch_stride_ = 0;
  bool heap_only_ = false;
};

}  // namespace copse::engine
