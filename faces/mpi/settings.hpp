// The COPSE_ variables of this process, as the ranks have agreed on them. They are never destroyed (session.hpp).
#pragma once

#include <string>

#include "choose/settings.hpp"

namespace copse::mpi {

namespace detail {
extern choose::Settings &settings;
}
[[nodiscard]] inline const choose::Settings &settings() { return detail::settings; }

// Reads the variables. Returns a description of what is wrong with them, or an empty string.
std::string read_settings();
// Sets what all ranks have agreed on.
void set_agreed(bool disable, bool trace);

}  // namespace copse::mpi
