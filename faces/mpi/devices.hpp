// Device memory. Programs hand it to an MPI that can reach it. Copse cannot, because a processor cannot read it.
//
// Such an MPI has the device's driver in the process from MPI_Init on. If no rank of a communicator has a driver
// when the communicator is made, Copse never asks about any buffer. If one has, a rank cannot know what the others'
// buffers are. So the ranks agree before each blocking call, and pass the call on if any of them gives device memory.
// Nonblocking and persistent calls cannot wait for an agreement, so they are all passed on.
#pragma once

#include <type_traits>

namespace copse::mpi {

// Returns whether this process has loaded a driver. Each call looks for the drivers that were loaded since the call before it.
bool driver_loaded();
// Returns what the driver says. Any address is allowed.
bool on_device(const void* address);

struct Buffers {
  bool any = false, any_on_device = false;
};
// Finds the buffers among a call's arguments. Only buffers are pointers to void.
template <class... Arguments>
Buffers buffers_among(const Arguments&... arguments) {
  Buffers found;
  const auto look = [&found](const auto& argument) {
    using Argument = std::decay_t<decltype(argument)>;
    if constexpr (std::is_same_v<Argument, void*> || std::is_same_v<Argument, const void*>) {
      found.any = true;
      found.any_on_device = found.any_on_device || on_device(argument);
    }
  };
  (look(arguments), ...);
  return found;
}

}  // namespace copse::mpi
