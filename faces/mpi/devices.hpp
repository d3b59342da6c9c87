// Memory of devices, which programs hand to an MPI that knows how to reach it. Copse does not: a processor cannot read it.
//
// Such an MPI has the device's driver in the process from MPI_Init on. Where no rank of a communicator has one when it is
// made, nothing is ever asked. Where one has, no rank can tell by its own buffers what the others' are, so the ranks agree
// before each call that waits, and pass on if any of them gives memory of a device; calls that are started or persistent,
// which cannot wait for an agreement, are all passed on.
#pragma once

#include <type_traits>

namespace copse::mpi {

// Is a driver in this process? Drivers that came since are looked for.
bool driver_loaded();
// As the driver says. It may be asked about any address.
bool on_device(const void *address);

struct Buffers {
  bool any = false, any_on_device = false;
};
// What a call's arguments are: of these, buffers alone are pointers to void.
template <class... Arguments>
Buffers buffers_among(const Arguments &...arguments) {
  Buffers found;
  const auto look = [&found](const auto &argument) {
    using Argument = std::decay_t<decltype(argument)>;
    if constexpr (std::is_same_v<Argument, void *> || std::is_same_v<Argument, const void *>) {
      found.any = true;
      found.any_on_device = found.any_on_device || on_device(argument);
    }
  };
  (look(arguments), ...);
  return found;
}

}  // namespace copse::mpi
