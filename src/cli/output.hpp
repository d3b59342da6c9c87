// The output of subcommands: one JSON value for programs, or columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "text/json.hpp"

namespace copse::cli {

// Returns `text` as a JSON string.
[[nodiscard]] inline std::string quoted(std::string_view text) { return text::json_quoted(text); }

// Returns a JSON list, "[a,\n b]", of values that are already JSON, one a line.
[[nodiscard]] std::string json_list(const std::vector<std::string>& values);

// Prints rows in aligned columns on stdout. The first row is the heading. The last column is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows);

// Prints the text if --help is among the arguments. Returns whether it was.
[[nodiscard]] bool helped(Arguments arguments, const char* text);

// For subcommands whose only option is --json. Returns whether it was given; throws on any other argument.
[[nodiscard]] bool only_json(Arguments arguments);

}  // namespace copse::cli
