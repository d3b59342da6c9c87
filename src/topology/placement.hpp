// Where each rank of a communicator sits: pure data, made by discovery, by a recorded machine, or by a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace copse::topology {

// The levels of a machine. A board is a group of NUMA regions that are nearer to each other than to the rest of the
// node (IG has two of four). Levels nest, but not always in this order: a Superdome's NUMA region (a cell)
// holds packages, an EPYC's package holds NUMA regions, a Xeon's L3 may span several regions.
enum class Level : std::uint8_t { node, board, package, numa, l3, l2, core };
inline constexpr std::size_t kLevels = 7;
inline constexpr std::array<Level, kLevels> kAllLevels = {Level::node, Level::board, Level::package, Level::numa,
                                                          Level::l3,   Level::l2,    Level::core};

constexpr std::string_view level_name(Level level) {
  constexpr std::array<std::string_view, kLevels> names = {"node", "board", "package", "numa", "l3", "l2", "core"};
  return names[static_cast<std::size_t>(level)];
}

// In a place that is local to one machine: the rank is not confined to one object of that level.
inline constexpr std::int32_t kNotConfined = -1;

// The place of one rank, one id per level. In a Placement ids are unique over the whole cluster, so that two ranks
// share a level exactly when their ids at that level are equal. Where the machine does not have a level:
// a missing cache is shared by nobody (it groups ranks as the next inner level does), a missing board or package is
// the whole node. A rank that is not confined to one object of a level (one bound to a NUMA region sits on no one
// core) has an id there that no other rank has.
struct Place {
  std::array<std::int32_t, kLevels> id{};

  [[nodiscard]] std::int32_t at(Level level) const { return id[static_cast<std::size_t>(level)]; }
  std::int32_t& at(Level level) { return id[static_cast<std::size_t>(level)]; }
  friend bool operator==(const Place&, const Place&) = default;
};

// The places of all ranks of a communicator, indexed by rank.
using Placement = std::vector<Place>;

}  // namespace copse::topology
