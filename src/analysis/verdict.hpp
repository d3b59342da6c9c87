// What the checker finds wrong with plans.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace copse::analysis {

enum class Fault : std::uint8_t {
  illegal,  // a step that is not allowed: bounds, another rank's line, memory on another node
  unwritten,  // read before anything was written
  stale,  // read of a line, slot or scratch that holds another fragment or call
  mismatch,  // parts of a message that are not the same part
  wrong,  // a wrong result
  race,  // two accesses without an order
  deadlock,
  wire,  // a message that does not match, or is not drained
};
[[nodiscard]] const char* name_of(Fault fault);

struct Finding {
  Fault fault{};
  int rank = 0;
  std::string step;  // text form; "return" at the end of a call
  int call = 0;
  int fragment = 0;
  std::string explanation;
};
[[nodiscard]] std::string to_text(const Finding& finding);

// Which waits of the first call's plans ever told their rank something new. A wait that never does is implied by the others.
using WaitUse = std::vector<std::vector<std::uint8_t>>;  // [rank][step]: 1 passed, 2 informed

struct Verdict {
  std::vector<Finding> findings;
  std::uint64_t steps = 0;  // executed, all ranks and calls
  std::uint64_t accesses = 0;  // to atoms
  std::int32_t depth = 0;  // number of signals on the longest chain that ranks waited for
  [[nodiscard]] bool ok() const { return findings.empty(); }
};

}  // namespace copse::analysis
