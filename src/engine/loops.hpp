// Which of the executor's two loops runs a call. Most calls have one fragment and one of Copse's operators. If such a call is
// short, the number of its instructions decides how long it takes. run_whole is for these calls. run_steps is for all others, for
// calls that are started, and for calls after a refused one.
#pragma once

#include <cstddef>

#include "engine/call.hpp"
#include "engine/program.hpp"

namespace copse::engine {

// Returns why run_steps must run a call, or null if run_whole may. Results of at least `stream_from` bytes are stored past the
// caches. With `heap_only`, what a program publishes must lie in the shared heap.
[[nodiscard]] inline const char* why_by_steps(const Program& program, const Call& call, std::size_t stream_from, bool heap_only) {
  if (heap_only && program.publishes) return "stand-ins";
  if (call.fragment_count != 0 && call.count > call.fragment_count) return "several fragments";
  if (call.combine != nullptr && (call.combine->kernel == nullptr || call.combine->kernel_two == nullptr))
    return "a user's operator";
  if (call.count * call.element_bytes * static_cast<std::size_t>(program.ranks) >= stream_from) return "results past the caches";
  return nullptr;
}

}  // namespace copse::engine
