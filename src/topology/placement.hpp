// Where each rank of a communicator sits. This is pure data, from discovery, from a recorded machine, or from a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace copse::topology {

// The levels of a machine. A board is a group of NUMA regions that are nearer to each other than to the rest of the
// node (IG has two boards of four regions). Levels nest, but not always in this order: a NUMA region (a cell) of a
// Superdome holds packages, a package of an EPYC holds NUMA regions, and an L3 of a Xeon may span several regions.
enum class Level : std::uint8_t { node, board, package, numa, l3, l2, core };
inline constexpr std::size_t kLevels = 7;
inline constexpr std::array<Level, kLevels> kAllLevels = {Level::node, Level::board, Level::package, Level::numa,
                                                          Level::l3,   Level::l2,    Level::core};

constexpr std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, kLevels> names = {"node", "board", "package", "numa", "l3", "l2", "core"};
  return names[static_cast<std::size_t>(level)];
}

// The id in a place local to one machine if the rank is not confined to one object of the level.
inline constexpr std::int32_t kNotConfined = -1;

// The place of one rank, with one id per level. In a Placement, ids are unique over the whole cluster, so two ranks
// share a level exactly if their ids at that level are equal. A machine may lack a level. A missing cache is shared by
// nobody: it groups ranks as the next inner level does. A missing board or package is the whole node. If a rank is not
// confined to one object of a level, its id there is one that no other rank has. (A rank bound to a NUMA region, for
// instance, has no single core.)
struct Place {
  std::array<std::int32_t, kLevels> id{};
  // 1 if all processors of the rank are next to a network card, but not all processors of the node are. 0 otherwise, or if this is
  // not known. This is an integer, because the places of other ranks come as bytes, and a bool must be 0 or 1.
  std::uint8_t by_network = 0;

  [[nodiscard]] std::int32_t at(Level level) const { return id[static_cast<std::size_t>(level)]; }
  std::int32_t& at(Level level) { return id[static_cast<std::size_t>(level)]; }
  friend bool operator==(const Place&, const Place&) = default;
};

// The places of all ranks of a communicator, indexed by rank.
using Placement = std::vector<Place>;

// Returns which of these ranks speaks best for all of them on the network: the first that is next to a card, or else the first.
[[nodiscard]] inline int speaker_of(std::span<const int> ranks, const Placement& places) {
  for (const int rank : ranks)
    if (places[static_cast<std::size_t>(rank)].by_network) return rank;
  return ranks.front();
}

}  // namespace copse::topology
