// Faults planted in copies of the sources (plant.cmake). Each is dormant until a test names it.
#pragma once

#include <string_view>

namespace copse::schedules {

inline std::string_view the_planted;
inline bool planted(std::string_view name) { return the_planted == name; }

}  // namespace copse::schedules
