// What a call of Copse costs besides waiting and moving bytes, and what it costs to pass a processor to another rank.
#pragma once

#include <memory>
#include <vector>

#include "communicator/communicator.hpp"
#include "measure/pairs.hpp"

namespace copse::measure {

// Communicators whose ranks all belong to the calling thread. A rank whose part in a call depends on no other one can make the call
// alone: the root of a broadcast before the others, that of a gather after them. So what a call costs can be timed without any
// travel between processors.
class Solo {
 public:
  Solo();
  struct CallTimes {
    double call_ns = 0, step_ns = 0, wait_ns = 0;
  };
  [[nodiscard]] CallTimes costs(unsigned processor, double own_line_ns) const;

 private:
  using Ranks = std::vector<std::unique_ptr<communicator::Communicator>>;
  [[nodiscard]] static Ranks make(int ranks);
  Ranks few_, many_;
};

// Returns how long it takes until another process has the processor, where each that waits gives it up at once.
[[nodiscard]] double turn_ns(unsigned processor);

}  // namespace copse::measure
