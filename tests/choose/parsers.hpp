// What everything that parses the user's word must hold to, whatever the bytes: for the quick test and the fuzzers.
#pragma once

#include <string>

namespace copse::test {

// Reads NAME=`value` for every variable, and `value` itself as one; what is not as promised.
std::string read_as_settings(const std::string &value);

// Reads `text` as a machine.
std::string read_as_machine(const std::string &text);

}  // namespace copse::test
