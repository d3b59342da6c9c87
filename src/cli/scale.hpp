// copse-native verify --scale: what it takes to build and walk all ranks' plans, from two ranks to very many.
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

// Ranks in blocks, on as many nodes as have a core for each. A row goes on as long as its plans do not take too many
// steps. The exit code.
int run(const Scale& scale);

}  // namespace copse::cli
