// The names by which users know the collectives.
#include "algorithms/collectives.hpp"

#include <utility>

namespace copse::algorithms {

namespace {

// Returns MPI's name of the collective in lower case. The name is empty if MPI has no such collective.
std::string mpi_name_of(Collective collective) {
  const std::string_view calls = traits_of(collective).mpi_calls;
  std::string name(calls.substr(0, calls.find(' ')));
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  return name;
}

}  // namespace

std::string not_a_permutation(std::span<const int> entries) {
  const std::size_t ranks = entries.size();
  std::vector<std::size_t> entry_of(ranks, ranks);  // for each rank, the index of its entry; `ranks`: none so far
  for (std::size_t i = 0; i < ranks; ++i) {
    const auto entry = [&] { return "permutation[" + std::to_string(i) + "] is " + std::to_string(entries[i]); };
    if (entries[i] < 0 || static_cast<std::size_t>(entries[i]) >= ranks)
      return entry() + "; expected a rank, 0 to " + std::to_string(ranks - 1);
    std::size_t& earlier = entry_of[static_cast<std::size_t>(entries[i])];
    if (earlier < ranks) return entry() + ", as permutation[" + std::to_string(earlier) + "] is; expected every rank once";
    earlier = i;
  }
  return {};
}

std::optional<Collective> collective_named(std::string_view name) {
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    if (!name.empty() && (name == name_of(collective) || name == mpi_name_of(collective))) return collective;
  }
  return std::nullopt;
}

std::vector<std::string> collective_names() {
  std::vector<std::string> names;
  for (int i = 0; i < kCollectives; ++i) {
    const auto collective = static_cast<Collective>(i);
    names.emplace_back(name_of(collective));
    if (std::string mpis = mpi_name_of(collective); !mpis.empty() && mpis != names.back()) names.push_back(std::move(mpis));
  }
  return names;
}

}  // namespace copse::algorithms
