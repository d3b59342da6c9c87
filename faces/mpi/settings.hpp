// The COPSE_ variables of this process, as the ranks have agreed on them. They are never destroyed (session.hpp).
#pragma once

#include <limits>
#include <string>

#include "choose/settings.hpp"

namespace copse::mpi {

namespace detail {
extern choose::Settings& settings;
}
[[nodiscard]] inline const choose::Settings& settings() { return detail::settings; }

// Reads the variables. Returns a description of what is wrong with them, or an empty string.
std::string read_settings();
// first_served_call() returns the call on a communicator from which this rank wants Copse to serve it. The result is kWhenItPays
// if that is left to what the calls cost. A user who forces an algorithm, checks calls or asks for a thread wants all calls to be
// Copse's, and so does a test.
inline constexpr int kWhenItPays = std::numeric_limits<int>::max();
[[nodiscard]] int first_served_call();
// Sets what all ranks have agreed on. `joins_at` is the least that any rank wants.
void set_agreed(bool disable, bool trace, int joins_at);

}  // namespace copse::mpi
