// Writes JSON strings and aligned columns.
#include "cli/output.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace copse::cli {

std::string json_list(const std::vector<std::string>& values) {
  std::string out = "[";
  for (const std::string& value : values) out += (out.size() > 1 ? ",\n " : "") + value;
  return out + "]";
}

void print_table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    std::printf("%s\n", line.c_str());
  }
}

bool helped(Arguments arguments, const char* text) {
  if (std::find(arguments.begin(), arguments.end(), "--help") == arguments.end()) return false;
  std::printf("%s", text);
  return true;
}

bool only_json(Arguments arguments) {
  for (const auto argument : arguments)
    if (argument != "--json") throw std::invalid_argument("unknown option '" + std::string(argument) + "'; there is --json");
  return !arguments.empty();
}

}  // namespace copse::cli
