// Where each rank of a communicator sits: pure data, made by discovery, by a recorded machine, or by a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace copse::topology {

// The levels of a machine, outermost first. A rank's place is one id per level.
enum class Level : std::uint8_t { node, package, numa, l3, l2, core };
inline constexpr std::size_t kLevels = 6;

// The place of one rank. `id[level]` is unique over the whole cluster, not only inside its parent, so that
// two ranks share a level exactly when their ids at that level are equal. A level that the machine does not
// have, or to which the rank is not confined (a rank bound to a NUMA region sits on no one core), repeats
// the id scheme of the innermost level that is known, made unique per rank where nothing is shared.
struct Place {
  std::array<std::int32_t, kLevels> id{};

  [[nodiscard]] std::int32_t at(Level level) const { return id[static_cast<std::size_t>(level)]; }
  friend bool operator==(const Place &, const Place &) = default;
};

// The places of all ranks of a communicator, indexed by rank.
using Placement = std::vector<Place>;

}  // namespace copse::topology
