// What a call of Copse costs besides waiting and moving bytes, and what it costs to pass a processor to another rank.
#pragma once

#include <memory>
#include <vector>

#include "communicator/communicator.hpp"
#include "measure/pairs.hpp"

namespace copse::measure {

// Communicators whose ranks all belong to the calling thread. A rank whose part in a call depends on no other rank can make the
// call alone. In a broadcast this is the root, before the others. In a gather it is the root, after the others. So what a call
// costs can be timed without any travel between processors.
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

// Returns how long it takes until another process has the processor, if every process that waits gives the processor up at once.
[[nodiscard]] double turn_ns(unsigned processor);

}  // namespace copse::measure
