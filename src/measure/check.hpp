// Compares the costs of calls that a machine's file predicts with the times that the same calls take here.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "price/parameters.hpp"

namespace copse::measure {

struct Inquiry {
  std::vector<algorithms::Collective> collectives;
  std::vector<std::size_t> sizes;
  std::vector<int> ranks;
  double seconds = 0.0015;  // of a batch of calls
  int batches = 30;
  std::function<void(double, const std::string&)> say;  // as in Options
};

// Many fields: a call, what runs it, and its two times.
struct Cell {
  bool processes = false;  // otherwise threads
  int ranks = 2;
  algorithms::Collective collective{};
  std::size_t bytes = 0;
  std::string way;  // algorithm:carrier
  bool turns = false;  // more ranks than processors
  double predicted_ns = 0, measured_ns = 0;
  double spread = 0;         // of the times of the batches; `measured_ns` is the least of these
  bool other_state = false;  // the caches were not as near as the machine's file says

  [[nodiscard]] double error() const { return measured_ns > 0 ? predicted_ns / measured_ns - 1 : 0; }
};

// Runs each call by the way that Copse chooses here, and prices the same way. Calls whose buffers would take a quarter of the
// machine's memory are left out. Throws std::runtime_error if ranks cannot be made or a call fails.
[[nodiscard]] std::vector<Cell> check(const price::Parameters& machine, const Inquiry& inquiry);

}  // namespace copse::measure
