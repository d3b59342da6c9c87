// Which sources this library was built from.
#pragma once

#include <string_view>

namespace copse::communicator {

// Returns a text that is different for different sources of the engine, and the same in all libraries and programs that were built
// from the same ones. Only ranks with equal texts have the same plans, rules and layout of shared memory. The build generates it.
[[nodiscard]] std::string_view sources_digest();

}  // namespace copse::communicator
