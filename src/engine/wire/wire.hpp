// The wire: how ranks on different nodes exchange messages. One implementation per carrier of messages; the
// MPI faces put MPI point-to-point behind it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace copse::engine {

enum class Wired : std::uint8_t { done, pending, failed };

// Nothing here waits: who gets `pending` asks again, with the same arguments, before it asks for anything else.
class Wire {
 public:
  virtual ~Wire() = default;
  // Starts sending; `data` must stay as it is until drain. Messages of one (sender, receiver, tag) keep order. False when
  // the wire failed.
  virtual bool send(const void *data, std::size_t bytes, int peer, int tag) = 0;
  // Receives exactly `bytes`.
  virtual Wired receive(void *data, std::size_t bytes, int peer, int tag) = 0;
  // May everything sent with the tag be overwritten?
  virtual Wired drain(int tag) = 0;

  // The same wire for the calls of another stream, number `lane` from 0, whose messages meet none of this one's. It must
  // not outlive this one. There are lanes_most() of them, on all ranks alike.
  [[nodiscard]] virtual std::unique_ptr<Wire> lane(int number) = 0;
  [[nodiscard]] virtual std::size_t lanes_most() const = 0;
};

}  // namespace copse::engine
