// Reads the variables, and keeps what the ranks have agreed on.
#include "settings.hpp"

#include <unistd.h>

#include "communicator/card.hpp"
#include "topology/machine.hpp"

namespace copse::mpi {

choose::Settings &detail::settings = *new choose::Settings;

std::string read_settings() {
  std::string error;
  const auto read = choose::read_settings(environ, error);
  if (!read) return error;
  detail::settings = *read;
  detail::settings.mpi = true;
  try {
    if (!read->topology.empty()) static_cast<void>(topology::Machine::from(read->topology));
    return communicator::table_mistake(*read);
  } catch (const std::exception &wrong) {
    return wrong.what();
  }
}

void set_agreed(bool disable, bool trace) {
  detail::settings.disable = disable;
  detail::settings.trace = trace;
}

}  // namespace copse::mpi
