// The COPSE_ variables of this process, as its ranks have agreed on them. Never destroyed (session.hpp).
#pragma once

#include <string>

#include "choose/settings.hpp"

namespace copse::mpi {

namespace detail {
extern choose::Settings &settings;
}
[[nodiscard]] inline const choose::Settings &settings() { return detail::settings; }

// Reads the variables. Returns what is wrong with them, in words, or an empty string.
std::string read_settings();
// What all ranks have agreed on.
void set_agreed(bool disable, bool trace);

}  // namespace copse::mpi
