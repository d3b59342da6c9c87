// What the readers of machines and tuning tables must promise for any bytes. For the quick test and the fuzzers.
#pragma once

#include <string>

namespace copse::test {

// Reads `text` as a machine's file, and prices a call on the machine if it is one. Returns any broken promise.
std::string read_as_priced_machine(const std::string& text, bool& accepted);

// Reads `text` as a tuning table, and chooses by it if it is one. Returns any broken promise.
std::string read_as_table(const std::string& text, bool& accepted);

}  // namespace copse::test
