// Writes the files of src/choose/recorded/.
#pragma once

#include <string>
#include <vector>

namespace copse::cli {

struct RowsQuery {
  std::vector<std::string> machines;  // recorded ones
  int ranks = 0;                      // only so many; 0: several numbers for each machine
  int nodes = 0;                      // only so many; 0: all numbers that the files have
};

// Prints the files of machines: a line MACHINE, for several nodes of a cluster a line CLUSTER, and a line ROW for each case in
// which something is clearly cheaper by price than what the built-in rules choose.
void print_rows(const RowsQuery& query);

}  // namespace copse::cli
