// copse-native verify: runs the checker over rows and numbers of ranks, on all processors, and reports the results.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "analysis/cases.hpp"
#include "cli/workers.hpp"

namespace copse::cli {

struct Sweep {
  std::vector<const algorithms::Algorithm*> rows;
  std::vector<int> ranks;
  analysis::Effort effort = analysis::Effort::quick;
  const topology::Machine* machine = nullptr;  // null: all recorded machines
  int threads = 0;                             // 0: as many as there are processors
  bool json = false;
  plan::Modes modes{};
};

// Prints a line for each row, the failures, and what was covered. Reports its progress on stderr. Returns the exit
// code.
int run(const Sweep& sweep);

[[nodiscard]] std::string name_of_row(const algorithms::Algorithm& row);
// Returns a task for each row and number of ranks, the large numbers first. `run` takes indices into `rows` and
// `ranks`, which must stay alive, and returns whether the task succeeded.
[[nodiscard]] Tasks each_with_ranks(const std::vector<const algorithms::Algorithm*>& rows, const std::vector<int>& ranks,
                                    int threads, std::function<bool(std::size_t row, std::size_t ranks)> run);

}  // namespace copse::cli
