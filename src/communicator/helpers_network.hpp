// How helpers of several nodes reach one another: over streams of messages, which they choose together with the callers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "engine/wire/wire.hpp"

namespace copse::communicator {

// Only the thread that calls help() uses the wires.
class HelpersNetwork {
 public:
  HelpersNetwork() = default;
  HelpersNetwork(const HelpersNetwork&) = delete;
  HelpersNetwork& operator=(const HelpersNetwork&) = delete;
  virtual ~HelpersNetwork() = default;
  // Returns this helper's number among all helpers, from 0 on.
  [[nodiscard]] virtual int number() const = 0;
  // Helpers give out different streams. offer() returns some that this helper has given to nobody. It offers them to nobody else
  // until it has them back by withdraw(). is_free() tells whether no wire of this helper uses the stream. take() says that one
  // will. Several threads may call these.
  [[nodiscard]] virtual std::vector<std::int32_t> offer(std::size_t most) = 0;
  virtual void withdraw(const std::vector<std::int32_t>& streams) = 0;
  [[nodiscard]] virtual bool is_free(std::int32_t stream) = 0;
  virtual void take(std::int32_t stream) = 0;
  // Returns a wire among the ranks of a communicator, which are helpers with these numbers, or callers if a number is -1. Messages
  // of different streams do not meet. The stream has been taken. It is free again here when the wire is destroyed.
  [[nodiscard]] virtual std::unique_ptr<engine::Wire> wire(std::vector<std::int32_t> numbers, int stream) = 0;
};

// Returns the numbers of all ranks of a communicator, as HelpersNetwork::wire() takes them, and a stream, or -1 if there is none.
// This is collective. Callers have no network.
struct HelpersStream {
  std::vector<std::int32_t> numbers;
  std::int32_t stream = -1;
};
[[nodiscard]] HelpersStream agree_on_stream(Bootstrap& bootstrap, HelpersNetwork* network);

}  // namespace copse::communicator
