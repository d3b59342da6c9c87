// The wire: how ranks on different nodes exchange messages. One implementation per carrier of messages; the
// MPI faces put MPI point-to-point behind it.
#pragma once

#include <cstddef>

namespace copse::engine {

class Wire {
 public:
  virtual ~Wire() = default;
  // Starts sending; `data` must stay as it is until drain. Messages of one (sender, receiver, tag) keep order.
  virtual bool send(const void *data, std::size_t bytes, int peer, int tag) = 0;
  // Receives exactly `bytes`; false when the wire failed.
  virtual bool receive(void *data, std::size_t bytes, int peer, int tag) = 0;
  // Waits until everything sent with the tag may be overwritten.
  virtual bool drain(int tag) = 0;
};

}  // namespace copse::engine
