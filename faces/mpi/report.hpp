// What Copse tells people: the trace at the end, and the line before an abort.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "state.hpp"

namespace copse::mpi {

// For COPSE_TRACE: from here on the program's time counts, of which the trace tells the share of the calls.
void begin_trace();
// A call that went to the MPI, and why.
void count_passed_on(algorithms::Collective collective, std::string_view why, std::size_t bytes, double seconds);
// A remark about this rank: what was lost, or done, and why.
void note(std::string_view subject, std::string_view text);
// Keeps the trace of a communicator that is about to go.
void remember(const CommState &state);
void remember(const communicator::Trace &more);
// What this rank has of the memory in common, and of descriptors: while its communicators are there.
void note_resources();
// Merges all ranks' traces on rank 0 of the world, which prints them. Collective.
void print_report();

// A run went wrong: one line, and the end of the program.
[[noreturn]] void give_up(const CommState &state, std::string_view call, std::string_view why);
// The same for what is thrown where no communicator is at hand: for want of memory, as a rule. Null: what it says is not known.
[[noreturn]] void give_up(const char *call, const std::exception *error);
// The same for the exception that is being handled; but a thread that is cancelled goes on with its unwinding.
[[noreturn]] void give_up_caught(const char *call);
// Runs what an exported function does: exceptions end here. The other ranks do not know, so there is no way back.
template <class Body>
[[gnu::always_inline]] inline auto guarded(const char *call, Body &&body) {
  try {
    return body();
  } catch (...) {
    give_up_caught(call);
  }
}
// The ranks differ in what they call (COPSE_CHECK): every rank knows, rank 0 says it.
[[noreturn]] void give_up_together(const CommState &state, std::string_view call, std::string_view why);

}  // namespace copse::mpi
