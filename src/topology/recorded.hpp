// Machines that Copse knows by name: those of the papers, and three of today's.
#pragma once

#include <span>
#include <string_view>

namespace copse::topology {

struct RecordedMachine {
  std::string_view name;       // what COPSE_TOPOLOGY accepts
  std::string_view title;      // a description for the user
  std::string_view source;     // the source of its facts
  std::string_view synthetic;  // hwloc's synthetic description of one node
  std::string_view distances;  // from region to region, row by row; 10 = local; empty if not known
};

[[nodiscard]] std::span<const RecordedMachine> recorded_machines();

// Returns null if there is no machine of that name. Case does not matter.
[[nodiscard]] const RecordedMachine* find_recorded(std::string_view name);

}  // namespace copse::topology
