// Reads the variables, and keeps what the ranks have agreed on.
#include "settings.hpp"

#include <unistd.h>

#include <new>

#include "communicator/card.hpp"
#include "real.hpp"

namespace copse::mpi {

choose::Settings& detail::settings = *new choose::Settings;

std::string read_settings() {
  std::string error;
  const auto read = choose::read_settings(environ, error);
  if (!read) return error;
  detail::settings = *read;
  detail::settings.mpi = mpi_name();
  try {
    return communicator::file_mistake(*read);
  } catch (const std::bad_alloc& wrong) {
    return wrong.what();
  }
}

int first_served_call() {
  const choose::Settings& wanted = settings();
  if (wanted.join_at) return static_cast<int>(*wanted.join_at);
  const bool all = wanted.check || wanted.progress_thread || !wanted.forced.empty() || wanted.nodes > 1 ||
                   wanted.collective_processors.any() || wanted.learn == choose::Learn::eagerly;
  return all ? 1 : kWhenItPays;
}

void set_agreed(bool disable, bool trace, int joins_at) {
  detail::settings.disable = disable;
  if (joins_at != kWhenItPays) detail::settings.join_at = static_cast<std::uint32_t>(joins_at);
  detail::settings.trace = trace;
}

}  // namespace copse::mpi
