// copse-native verify --scale: measures what building and walking the plans of all ranks takes, from two ranks to very
// many.
#pragma once

#include <optional>
#include <vector>

#include "algorithms/registry.hpp"
#include "topology/machine.hpp"

namespace copse::cli {

struct Scale {
  std::vector<const algorithms::Algorithm*> rows;
  std::vector<int> ranks;  // ascending
  const topology::Machine* machine = nullptr;
  int root = 0, radix = 2;
  std::optional<plan::Carrier> carrier;  // none: all
  bool json = false;
};

// Places the ranks in blocks, on as many nodes as give each rank a core. A row stops when its plans would take too many
// steps. Returns the exit code.
int run(const Scale& scale);

}  // namespace copse::cli
