// A scene for a price: a machine, and ranks that sit on it as a situation says.
#pragma once

#include <optional>
#include <string>

#include "choose/situation.hpp"
#include "price/parameters.hpp"
#include "topology/placement.hpp"

namespace copse::cli {

struct Scene {
  price::Parameters machine;
  topology::Placement places;
  std::string seats;  // where the ranks sit, in words
};

// Puts the ranks on a machine that the user has named, as copse price does. The machine then says whether the ranks sit in several
// regions, and whether they take turns. If the situation says that ranks take turns although there are enough processors, two
// ranks share each processor.
[[nodiscard]] Scene scene_on(const std::string& machine, choose::Situation& situation);

// Returns one of today's recorded machines with the ranks on it. The ranks sit in one region or in several, as the situation says.
// Returns nothing for many ranks, or if they fit on none of these machines.
[[nodiscard]] std::optional<Scene> usual_scene(const choose::Situation& situation);

}  // namespace copse::cli
