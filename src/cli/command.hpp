// copse-native: what the C++ code knows about itself, for people and (with --json) for the copse command. A subcommand
// is a file and a row of kCommands in main.cpp.
#pragma once

#include <span>
#include <string_view>

namespace copse::cli {

using Arguments = std::span<const std::string_view>;

// Each takes the arguments after its name, prints to stdout, and writes complaints and progress to stderr. It returns
// the exit code: 0 for success, 1 if it looked for a failure and found one, 2 for wrong arguments.
int serve(Arguments arguments);
int verify(Arguments arguments);
int info(Arguments arguments);
int env(Arguments arguments);
int algorithms(Arguments arguments);
int collectives(Arguments arguments);
int heap(Arguments arguments);
int explain(Arguments arguments);
int price_calls(Arguments arguments);
int calibrate(Arguments arguments);

}  // namespace copse::cli
