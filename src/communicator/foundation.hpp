// Step 2 of founding a group: the first rank of each node looks at the machine, makes memory, and writes into it where the node's
// ranks are. All ranks learn from it how many processors there are, and how deep the rings are.
#pragma once

#include <cstddef>
#include <string>

#include "choose/settings.hpp"
#include "communicator/bootstrap.hpp"
#include "communicator/census.hpp"
#include "communicator/common_memory.hpp"
#include "engine/segment.hpp"
#include "topology/placement.hpp"

namespace copse::communicator {

class Foundation {
 public:
  // The first rank of a node looks and makes here what it offers later.
  Foundation(Census& census, const choose::Settings& settings);
  [[nodiscard]] const CommonMemory& memory() const { return memory_; }

  // Completes the census with what the first ranks have found, and opens the memory. This is collective. Returns why the ranks
  // cannot go on. The text is empty if they can.
  [[nodiscard]] std::string meet(Bootstrap& bootstrap);
  [[nodiscard]] engine::Geometry geometry() const { return geometry_for(census_.crowded); }
  // Returns the place of a rank of this node, if this rank has the memory.
  [[nodiscard]] topology::Place place_of(int local) const;

 private:
  [[nodiscard]] engine::Geometry geometry_for(bool crowded) const;
  // The places lie behind the rings. A first rank of several does not know whether another node is crowded, so there they lie
  // behind the deepest rings.
  [[nodiscard]] std::size_t places_at() const;
  [[nodiscard]] std::size_t bytes() const { return places_at() + census_.here.size() * sizeof(topology::Place); }

  Census& census_;
  const choose::Settings& settings_;
  CommonMemory memory_;
  std::string trouble_;  // why this rank could not look at the machine
};

}  // namespace copse::communicator
