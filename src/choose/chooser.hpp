// Which algorithm for this call: the user's word first, then the defaults.
#pragma once

#include <cstddef>
#include <optional>

#include "algorithms/registry.hpp"
#include "choose/settings.hpp"

namespace copse::choose {

// What it costs to fill a slot, to read one, and to have the kernel copy, in any unit; of the machine that the thresholds
// come from as far as the chooser asks, unless measured: there the kernel is worth its round.
struct Costs {
  float write = 1, read = 1, kernel = 0.7F;
};

// What a decision may depend on: only what all ranks of the communicator know alike.
struct Situation {
  int ranks = 1;
  int nodes = 1;
  bool addressable = false;     // get and put work: every buffer can be reached by every rank of its node
  bool direct = false;          // and by loads and stores, for the most part (threads; shared heap)
  bool anywhere = false;        // addressable wherever it lies, not only once it is copied to the shared heap
  bool oversubscribed = false;
  Costs costs;
  bool numa = false;            // ranks sit in more than one NUMA region of some node
};

struct Decision {
  const algorithms::Algorithm *algorithm = nullptr;
  plan::Carrier carrier = plan::Carrier::slot;
  int radix = 2;
  std::size_t fragment_bytes = 0;  // 0: one fragment
  std::size_t ride_bytes = 0;      // values of up to so many bytes ride, where the algorithm lets them
  bool halves = false;             // two fragments from kHalvesFrom on (NUMACol 3, dynamic)
};
inline constexpr std::size_t kHalvesFrom = 8192;

// What not every algorithm can do.
struct Needs {
  bool strict = false;  // Algorithm::strict: an operator that does not commute, pairs of different sizes
  bool wide = false;    // elements so large that a slot does not hold one of them for each rank
};

// For a message, or blocks, of `bytes`. `pack`: so many blocks would have to fit in a line.
[[nodiscard]] Decision choose(const Settings &settings, const Situation &situation, algorithms::Collective collective,
                              std::size_t bytes, Needs needs, std::size_t pack = 1);

// How a gather or scatter with sizes that not all know is run without exchanging them first, if it is.
[[nodiscard]] std::optional<Decision> one_way(const Settings &settings, const Situation &situation,
                                              algorithms::Collective collective);

}  // namespace copse::choose
