// What the ranks of a node can reach of one another's memory. Each rank tries it, and all ranks agree on it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/census.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

struct Reach {
  std::vector<engine::Peer> peers;                      // by rank
  std::vector<std::shared_ptr<engine::Mapping>> heaps;  // the shared heaps in which `peers` locates buffers
  std::string heap_why_not, kernel_why_not;             // why it does not work from here; empty: it works
  bool threads = true;                                  // all ranks of this node are threads of this process
};
[[nodiscard]] Reach find_reach(const Census& census, const choose::Settings& settings);

}  // namespace copse::communicator
