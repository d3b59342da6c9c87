// How subcommands print: one JSON value for programs, or columns for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/command.hpp"

namespace copse::cli {

// `text` as a JSON string.
[[nodiscard]] std::string quoted(std::string_view text);

// "[a,\n b]" of values that are JSON already, one a line.
[[nodiscard]] std::string json_list(const std::vector<std::string>& values);

// Rows in aligned columns on stdout; the first row is the heading. The last column is not padded.
void print_table(const std::vector<std::vector<std::string>>& rows);

// For subcommands whose one option is --json: true if it was given. Throws on anything else.
[[nodiscard]] bool only_json(Arguments arguments);

}  // namespace copse::cli
