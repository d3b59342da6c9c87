// Machines that are known by name: those of the papers, and three of today's.
#pragma once

#include <span>
#include <string_view>

namespace copse::topology {

struct RecordedMachine {
  std::string_view name;       // what COPSE_TOPOLOGY accepts
  std::string_view title;      // for people
  std::string_view source;     // where its facts come from
  std::string_view synthetic;  // hwloc's synthetic description of one node
  std::string_view distances;  // region to region, row by row, 10 = local; empty if not known
};

[[nodiscard]] std::span<const RecordedMachine> recorded_machines();

// Null if there is none of that name (case does not matter).
[[nodiscard]] const RecordedMachine* find_recorded(std::string_view name);

}  // namespace copse::topology
