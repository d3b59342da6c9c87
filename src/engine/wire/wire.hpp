// The wire: how ranks on different nodes exchange messages. There is one implementation for each carrier of messages; the MPI
// faces use MPI point-to-point.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/combine.hpp"
#include "plan/plan.hpp"

namespace copse::engine {

// A collective of the wire's own among the leaders of the nodes. A message has `count` elements. In a broadcast they are only
// bytes.
struct LeadersCall {
  plan::Delegation what{};
  const void* from = nullptr;  // may be `to`
  void* to = nullptr;
  std::size_t count = 0, element_bytes = 1;
  const Combine* combine = nullptr;  // its operator is delegable
  int root = -1;
};

enum class Wired : std::uint8_t {
  done,
  pending,
  failed,
  truncated,  // only of receive(): the message was longer than its place, and was cut off there
};

// No function here waits. Messages with the same (sender, receiver, tag) keep their order.
class Wire {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Wire() = default;
  // Starts sending. `data` must stay as it is until drain. Returns false if the wire failed.
  virtual bool send(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) = 0;
  // Starts receiving exactly `bytes`. `data` belongs to the wire until receive(). Returns false if the wire failed.
  virtual bool expect(void* data, std::size_t bytes, int peer, int tag) = 0;
  // send_any() and expect_any() are send() and expect() for messages whose length only the sender knows for certain. Such a message
  // has its length with it, and `room` is what the place can hold. While one of them is expected, no other message with the same
  // (sender, receiver, tag) may be.
  virtual bool send_any(const void* data, std::size_t bytes, int peer, int tag, std::uint64_t ticket) {
    return send(data, bytes, peer, tag, ticket);
  }
  virtual bool expect_any(void* data, std::size_t room, int peer, int tag) { return expect(data, room, peer, tag); }
  // Tells whether the message has come that was expected first from the peer with this tag. Each message is received once.
  virtual Wired receive(int peer, int tag) = 0;
  // Tells whether everything sent with the tag up to the ticket may be overwritten.
  virtual Wired drain(int tag, std::uint64_t ticket) = 0;
  // Makes delegate() ready for `leaders`: one rank of each node, in ascending order. Collective over the communicator's ranks.
  // Returns whether that worked on this rank; the wire may have no collectives of its own.
  [[nodiscard]] virtual bool gather_leaders(std::span<const int> leaders) {
    static_cast<void>(leaders);
    return false;
  }
  // Starts a collective among the leaders, of which this rank is one. All leaders start the same collectives in the same order.
  // `to` belongs to the wire until collect() says that the collective is done, and `from` must stay as it is until then. Returns
  // false if the wire failed.
  virtual bool delegate(const LeadersCall& what, int tag, std::uint64_t ticket) {
    static_cast<void>(what), static_cast<void>(tag), static_cast<void>(ticket);
    return false;
  }
  virtual Wired collect(int tag, std::uint64_t ticket) {
    static_cast<void>(tag), static_cast<void>(ticket);
    return Wired::failed;
  }
  // Says whether a node of these ranks has failed, or is cut off, so that what this rank has awaited since then may never come.
  // Returns a rank of that node, and -1 while there is hope. Costs a few system calls.
  [[nodiscard]] virtual int lost(Clock::time_point since) {
    static_cast<void>(since);
    return -1;
  }
  // Stops expecting messages, so that their memory belongs to the caller again. The wire is not used after that.
  virtual void abandon() = 0;
  // Says that messages may come to this wire that this rank never expects. So no other wire may ever get them.
  virtual void spoil() {}

  // Returns a wire among these ranks for the calls of another stream, whose `number` counts from 0. Messages of different streams
  // do not meet. The result must not outlive this wire. There are lanes_most() lanes, the same number on all ranks.
  [[nodiscard]] virtual std::unique_ptr<Wire> lane(int number) = 0;
  [[nodiscard]] virtual std::size_t lanes_most() const = 0;
};

}  // namespace copse::engine
