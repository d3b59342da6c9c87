// Finds places for the ranks of a situation.
#include "cli/scene.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>

#include "topology/layout.hpp"

namespace copse::cli {
namespace {

using topology::Level;
using topology::Machine;
using topology::Placement;

// The recorded machines that most resemble what users have. The first one has several regions, the second one has one.
constexpr const char* kUsual[] = {"epyc", "grace"};
constexpr int kMostRanks = 64;  // prices of more take seconds, for which nobody has asked

int cores_of(const Machine& machine) { return static_cast<int>(machine.cores().size()); }

// Returns the number of processors that the ranks use. Where they take turns, two share each one.
int seats_for(const choose::Situation& situation) {
  return situation.oversubscribed ? std::max(situation.nodes, (situation.ranks + 1) / 2) : situation.ranks;
}

// Gives each rank one of the seats. Ranks that share a seat are neighbours.
Placement shared_out(const Placement& seats, int ranks) {
  Placement places;
  for (int rank = 0; rank < ranks; ++rank)
    places.push_back(seats[static_cast<std::size_t>(rank) * seats.size() / static_cast<std::size_t>(ranks)]);
  return places;
}

// Fills each node's cores from the first one on, so that few ranks sit in one region.
Placement side_by_side(const Machine& machine, int nodes, int seats) {
  const Placement all = topology::place_block(machine, nodes, nodes * cores_of(machine));
  Placement places;
  for (int node = 0; node < nodes; ++node) {
    const auto first = all.begin() + std::ptrdiff_t{node} * cores_of(machine);
    places.insert(places.end(), first, first + seats / nodes + (node < seats % nodes ? 1 : 0));
  }
  return places;
}

// Tells whether some node's ranks sit in more than one region.
bool in_several_regions(const Placement& places) {
  std::map<std::int32_t, std::int32_t> regions;  // of each node, the one of its first rank
  return std::any_of(places.begin(), places.end(), [&](const topology::Place& place) {
    const std::int32_t region = place.at(Level::numa);
    return regions.try_emplace(place.at(Level::node), region).first->second != region;
  });
}

std::string seats_text(const choose::Situation& situation) {
  std::string text = std::to_string(situation.ranks) + " ranks";
  if (situation.nodes > 1) text += " on " + std::to_string(situation.nodes) + " nodes";
  text += situation.numa ? " in several regions" : " in one region";
  if (situation.nodes > 1) text += " of each";
  return text + (situation.oversubscribed ? ", taking turns" : "");
}

}  // namespace

Scene scene_on(const std::string& name, choose::Situation& situation) {
  Scene scene{price::parameters_of(name), {}, {}};
  const Machine& machine = scene.machine.machine;
  const bool crowded = situation.ranks > situation.nodes * cores_of(machine);
  const int seats = crowded ? situation.ranks : seats_for(situation);
  scene.places = shared_out(topology::place_block(machine, situation.nodes, seats), situation.ranks);
  situation.oversubscribed = situation.oversubscribed || crowded;
  situation.numa = in_several_regions(scene.places);
  scene.seats = seats_text(situation);
  return scene;
}

std::optional<Scene> usual_scene(const choose::Situation& situation) {
  if (situation.ranks > kMostRanks) return std::nullopt;
  const int seats = seats_for(situation), of_node = (seats + situation.nodes - 1) / situation.nodes;
  for (const char* const name : kUsual) {
    Scene scene{price::parameters_of(name), {}, seats_text(situation)};
    const Machine& machine = scene.machine.machine;
    if (of_node > cores_of(machine)) continue;
    const Placement found =
        situation.numa ? topology::place_block(machine, situation.nodes, seats) : side_by_side(machine, situation.nodes, seats);
    if (in_several_regions(found) != situation.numa) continue;
    scene.places = shared_out(found, situation.ranks);
    return scene;
  }
  return std::nullopt;
}

}  // namespace copse::cli
