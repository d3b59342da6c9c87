// copse-native: what the C++ code knows about itself, for people and (--json) for the copse command.
// A subcommand is one file, and one row of kCommands in main.cpp.
#pragma once

#include <span>
#include <string_view>

namespace copse::cli {

using Arguments = std::span<const std::string_view>;

// Each gets what follows its name, prints to stdout, complains and reports progress to stderr, and returns the
// exit code: 0 fine, 1 a failure that was looked for was found, 2 wrong arguments.
int verify(Arguments arguments);
int info(Arguments arguments);
int env(Arguments arguments);
int algorithms(Arguments arguments);
int collectives(Arguments arguments);
int heap(Arguments arguments);
int explain(Arguments arguments);

}  // namespace copse::cli
