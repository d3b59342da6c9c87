// Where receives are posted, and how long sends may stay under way.
//
// A message between nodes takes long, so a rank should have told the wire where to put the next one before it is sent, and
// should not wait for a message of its own to leave while there is something else to do.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace copse::plan {

inline constexpr int kPostedAhead = 1;  // a receive in a loop is posted so many iterations before it is needed
inline constexpr int kLeftBehind = 1;   // what a loop sends is drained so many iterations later, at the end of the iteration

// What may happen to a rank's memory besides its own steps.
struct Exposure {
  bool apart = false;    // input and output are never one memory
  bool buffers = false;  // other ranks reach the buffers
  bool scratch = false;  // other ranks reach the scratches
};

// Puts an `expect` before the receives of each message in a section. It comes as early as possible: as soon as nobody touches the
// message's place any more. In a loop that may be kPostedAhead iterations earlier. Then all other steps lag by that many more
// iterations. Messages from one peer on one area are expected in the order in which they are received.
void expect_messages(std::vector<Step>& steps, bool loop, const Exposure& exposure);

}  // namespace copse::plan
