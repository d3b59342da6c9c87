// Whether the other nodes still answer: the contract with TCP.
//
// A message from a node that has failed, or that the network no longer reaches, never comes. An MPI may wait for it for ever. So a
// rank that waits for a message calls the other nodes by TCP, one after the other, again and again. Nobody has to take a call: the
// system there says that nobody listens, and that is an answer. A node is lost if it has answered before, and then gives no answer
// for as long as the limit says. A node that never answers is not judged, because a firewall may be in the way.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/reach/descriptor.hpp"

namespace copse::communicator {

// What a process tells the others, so that they can call its node.
struct NodeCard {
  static constexpr std::size_t kAddresses = 4;
  using Addresses = std::array<std::uint32_t, kAddresses>;  // of IPv4, in the order of the network; 0: none
  std::uint64_t host = 0;  // see host_of()
  Addresses addresses{};
  std::uint16_t port = 0;  // in the order of the network; 0: the node cannot be called
  std::array<std::uint16_t, 3> unused{};
};

class NodeWatch {
 public:
  using Clock = std::chrono::steady_clock;

  // A node is lost that has not answered for `limit`. If that is 0, no node is ever called. `mine` has all addresses of this node.
  NodeWatch(std::chrono::seconds limit, std::uint64_t host, std::vector<std::uint32_t> mine);
  ~NodeWatch();
  NodeWatch(const NodeWatch&) = delete;
  NodeWatch& operator=(const NodeWatch&) = delete;

  [[nodiscard]] const NodeCard& card() const { return card_; }
  // Takes the cards of all processes. `me` is the number of this one.
  void begin(std::span<const NodeCard> all, int me);

  // Takes part in the calls, for a rank that has waited since then. Once that is as long as the limit, returns a rank whose node is
  // lost, or -1. `processes` has the process of each rank; empty: rank N is process N. Costs a few system calls for each call that
  // is under way. Any thread may call it at any time after begin().
  [[nodiscard]] int lost(std::span<const int> processes, Clock::time_point since);

 private:
  struct Node {
    NodeCard::Addresses addresses{};
    std::uint16_t port = 0;  // 0: it cannot be called
    std::uint16_t answered = 0;  // a bit for each address at which it has answered once
    int silent = 0;  // so many calls, one after the other, had no answer
    Clock::time_point silent_since{}, called{};
  };
  struct Call {
    engine::KeptDescriptor end;
    int state = 0;  // EINPROGRESS, or how the call has ended: an error of the system, 0 if somebody has taken it
  };
  // A node is called at all its addresses.
  struct Calls {
    int node = -1;  // -1: there are no calls
    std::array<Call, NodeCard::kAddresses> to;  // the addresses
  };

  [[nodiscard]] std::chrono::seconds pause() const;
  [[nodiscard]] int node_of(int process) const { return node_of_[static_cast<std::size_t>(process)]; }
  [[nodiscard]] int rank_on(int node, std::span<const int> processes) const;
  [[nodiscard]] Node& node_at(int number) { return nodes_[static_cast<std::size_t>(number)]; }
  // sound: it has answered the last call. suspect: it has not, but is not lost yet. The others are quiet.
  enum class Kind { quiet, suspect, sound };
  [[nodiscard]] bool is_lost(const Node& node, Clock::time_point now) const;
  [[nodiscard]] Kind kind(const Node& node, Clock::time_point now) const;
  void hear(Calls& calls, Clock::time_point now);
  [[nodiscard]] int next_to_call(Clock::time_point now);
  void call_one_more(Clock::time_point now);
  void look(Clock::time_point now);

  const std::chrono::seconds limit_;
  const std::vector<std::uint32_t> mine_;
  NodeCard card_;
  engine::KeptDescriptor port_;  // keeps others from listening there
  std::vector<int> node_of_;  // of each process
  int my_node_ = 0;
  std::mutex mutex_;  // protects what follows
  std::vector<Node> nodes_;
  std::array<Calls, 8> calls_;  // that are under way, to different nodes
  int next_ = 0;  // the node that is called next, unless that is too early, or another one is suspect
  Clock::time_point looked_{};
};

// Lets processes watch one another's nodes. Collective. `me` is the number of this process, and `allgather` gathers `bytes` of each
// in the order of their numbers. Returns null if that fails.
[[nodiscard]] std::unique_ptr<NodeWatch> watch_nodes(
    std::chrono::seconds limit, std::uint64_t host, int me, int processes,
    const std::function<bool(const void* mine, void* all, std::size_t bytes)>& allgather);

}  // namespace copse::communicator
