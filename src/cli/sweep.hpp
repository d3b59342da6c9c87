// copse-native verify: the checker over rows and numbers of ranks, on all processors, and what it says of them.
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
  const topology::Machine* machine = nullptr;  // all recorded ones, if null
  int threads = 0;                             // 0: as many as there are processors
  bool json = false;
};

// Prints a line for each row, failures, and what was covered; tells on stderr how far it is. The exit code.
int run(const Sweep& sweep);

[[nodiscard]] std::string name_of_row(const algorithms::Algorithm& row);
// A task for each row and number of ranks (indices into the two, which must stay), many ranks first; `run` says whether
// all was well.
[[nodiscard]] Tasks each_with_ranks(const std::vector<const algorithms::Algorithm*>& rows, const std::vector<int>& ranks,
                                    int threads, std::function<bool(std::size_t row, std::size_t ranks)> run);

}  // namespace copse::cli
