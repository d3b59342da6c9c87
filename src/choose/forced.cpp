// Reads the names of algorithms, carriers and radices.
#include "choose/forced.hpp"

#include <algorithm>
#include <vector>

#include "text/words.hpp"

namespace copse::choose {

using algorithms::Collective;

std::optional<Forced> forced_in(Collective collective, std::string_view given, std::string& why) {
  const auto words = text::split(given, ':');
  Forced forced;
  forced.collective = collective;
  forced.algorithm = algorithms::find(collective, words[0]);
  if (forced.algorithm == nullptr) {
    std::vector<std::string> known;
    for (const auto& row : algorithms::all())
      if (row.collective == collective) known.emplace_back(row.name);
    why = text::unknown(std::string(algorithms::name_of(collective)) + " algorithm", words[0], known);
    return std::nullopt;
  }
  for (std::size_t i = 1; i < words.size(); ++i) {
    if (const auto radix = text::number_in(words[i])) {
      if (*radix < 2 || *radix > 64) {
        why = "expected a radix from 2 to 64";
        return std::nullopt;
      }
      forced.radix = static_cast<int>(*radix);
      continue;
    }
    std::vector<std::string> carriers;
    for (int c = 0; c < plan::kCarriers; ++c) {
      const auto carrier = static_cast<plan::Carrier>(c);
      if (!forced.algorithm->carries(carrier)) continue;
      carriers.emplace_back(plan::name_of(carrier));
      if (carriers.back() == words[i]) forced.carrier = carrier;
    }
    if (std::find(carriers.begin(), carriers.end(), words[i]) == carriers.end()) {
      why = text::unknown("carrier of " + std::string(forced.algorithm->name), words[i], carriers);
      return std::nullopt;
    }
  }
  return forced;
}

}  // namespace copse::choose
