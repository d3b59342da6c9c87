// The wire: how ranks on different nodes exchange messages. One implementation per carrier of messages; the
// MPI faces put MPI point-to-point behind it.
#pragma once

#include <cstddef>
#include <cstdint>

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
};

}  // namespace copse::engine
