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
// regions, and whether they take turns. If the situation has turns although there are processors enough, two ranks share each one.
[[nodiscard]] Scene scene_on(const std::string& machine, choose::Situation& situation);

// Returns one of the recorded machines of today with the ranks on it, so that they sit in as many regions as the situation says: in
// one, or in several. Returns nothing for many ranks, or if they fit on none of these machines.
[[nodiscard]] std::optional<Scene> usual_scene(const choose::Situation& situation);

}  // namespace copse::cli
