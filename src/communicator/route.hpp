// A route says what runs the calls of a collective.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "choose/chooser.hpp"
#include "communicator/learner.hpp"
#include "communicator/trace.hpp"
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

// Completes a route whose decision has been made, on a communicator of so many ranks. Its calls are counted in `trace`.
inline void open(Route& route, int ranks, Trace& trace) {
  route.by_root.resize(static_cast<std::size_t>(ranks));
  route.tally = &trace.ran[{std::string(algorithms::name_of(route.decision.algorithm->collective)),
                            std::string(route.decision.algorithm->name) + " " + plan::name_of(route.decision.carrier)}];
}

}  // namespace copse::communicator
