// The names by which users know the collectives.
#include "algorithms/collectives.hpp"

#include <utility>

namespace copse::algorithms {

namespace {

std::string mpi_name_of(Collective collective) {
  const std::string_view calls = traits_of(collective).mpi_calls;
  std::string name(calls.substr(0, calls.find(' ')));
  for (char &letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

}  // namespace

std::optional<Collective> collective_named(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (name == name_of(collective) || name == mpi_name_of(collective)) return collective;
  }
  return std::nullopt;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    names.emplace_back(name_of(collective));
    if (std::string mpis = mpi_name_of(collective); mpis != names.back()) names.push_back(std::move(mpis));
  }
  return names;
}

}  // namespace copse::algorithms
