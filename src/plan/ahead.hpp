// Where receives are posted, and how long sends may stay under way.
//
// A message between nodes takes long, so a rank should have told the wire where to put the next one before it is sent, and
// should not wait for a message of its own to leave while there is something else to do.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/plan.hpp"

namespace copse::plan {

inline constexpr int kPostedAhead = 1;  // iterations of a loop in which a receive is posted before it is needed
inline constexpr int kLeftBehind = 1;   // iterations after which what a loop sends is drained, at the end of the iteration

// What may happen to a rank's memory besides its own steps.
struct Exposure {
  bool apart = false;    // input and output are never one memory
  bool buffers = false;  // other ranks reach the buffers
  bool scratch = false;  // and the scratches
};

// Puts an `expect` before the receives of each message in a section, as early as nobody touches its place any more. In a loop
// that may be kPostedAhead iterations before; then all other steps lag by as many more. Messages from one peer on one area are
// expected in the order in which they are received.
void expect_messages(std::vector<Step>& steps, bool loop, const Exposure& exposure);

}  // namespace copse::plan
