// What every parser of user input must promise for any bytes. For the quick test and the fuzzers.
#pragma once

#include <string>
#include <string_view>

namespace copse::test {

// Reads NAME=`value` for every variable, and `value` itself as an entry. Returns any broken promise.
std::string read_as_settings(const std::string& value);

// Reads `text` as a machine. Returns any broken promise.
std::string read_as_machine(const std::string& text);

// Reads a topology file of these bytes, unless it crashes hwloc. Returns any broken promise, and whether it is a machine.
std::string read_as_topology_file(std::string_view bytes, bool& accepted);

}  // namespace copse::test
