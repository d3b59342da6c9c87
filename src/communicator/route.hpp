// What runs the calls of a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "choose/decision.hpp"
#include "communicator/learner.hpp"
#include "communicator/trace.hpp"
#include "engine/call.hpp"
#include "engine/program.hpp"

namespace copse::communicator {

// What runs messages of all sizes for which the decision is the same.
struct Route {
  choose::Decision decision;
  std::vector<const engine::Program*> by_root;
  Tally* tally = nullptr;
  // If the communicator learns, these count what has run by this route since the ranks agreed last.
  Kind kind = 0;
  std::uint64_t calls = 0, bytes = 0;
};

// What runs calls of a collective whose sizes not all ranks know.
struct Untold {
  Route route;
  engine::Call call;  // the last call; the next call differs in arguments and number
};

// What was decided for the last call of a collective. Most calls are like the last one.
struct Recent {
  std::size_t count = 0, element_bytes = 0;
  int root = -1;
  unsigned demands = 0;  // the value of demands_of() for its operator
  Route* route = nullptr;
  const engine::Program* program = nullptr;
  engine::Call call;                  // everything is filled in, except buffers, operator and number
  bool outside = false;               // the call is made by the MPI (choose::Decision::outside)
  bool gives = false, takes = false;  // whether this rank has an input, and an output
  std::uint64_t calls = 0;            // calls like this one that are not yet counted in the route
};

[[nodiscard]] inline std::string algorithm_and_carrier(const choose::Decision& decision) {
  return std::string(decision.algorithm->name) + " " + plan::name_of(decision.carrier);
}

// Completes a route whose decision has been made, on a communicator of so many ranks. Its calls are counted in `trace`.
inline void open(Route& route, int ranks, Trace& trace) {
  route.by_root.resize(static_cast<std::size_t>(ranks));
  route.tally =
      &trace.ran[{std::string(algorithms::name_of(route.decision.algorithm->collective)), algorithm_and_carrier(route.decision)}];
}

}  // namespace copse::communicator
