// What Copse prints: the trace at the end, and the line before an abort.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <string_view>

#include "state.hpp"

namespace copse::mpi {

// Starts the clock for COPSE_TRACE. The trace shows the calls' share of the program's time from here on.
void begin_trace();
// Counts a call that went to the MPI, and the reason.
void count_passed_on(algorithms::Collective collective, std::string_view why, std::size_t bytes, double seconds);
// Counts what a part of Copse's start has taken on this rank.
void count_start(std::string_view part, double seconds);
void count_start(const std::map<std::string, communicator::Tally>& parts);
// Adds a remark about this rank: what it did without, or did, and why.
void note(std::string_view subject, std::string_view text);
// These keep a trace. The first function takes the trace of a communicator that is about to be destroyed.
void remember(const CommState& state);
void remember(const communicator::Trace& more);
// Notes this rank's common memory and descriptors. Call it while the rank's communicators still exist.
void note_resources();
// Says that all ranks of the world will report, although they have not met in MPI_Init.
void expect_report_of_all();
// Merges all ranks' traces on rank 0, which prints them. This is collective over the world. If it is not certain that all ranks
// report, each rank prints its own trace.
void print_report(bool all_have_met);

// Ends the program on all ranks, once the launcher has what this rank has printed.
[[noreturn]] void abort_all(int status);
// Prints one line and ends the program, because a call cannot go on.
[[noreturn]] void give_up(const CommState& state, std::string_view call, std::string_view why);
// Prints one line about an exception and ends the program. Use this where no communicator is at hand. Usually memory has run out
// then. A null `error` stands for an exception of unknown type.
[[noreturn]] void give_up(const char* call, const std::exception* error);
// Prints one line about the exception that is being handled, and ends the program. If a cancelled thread is being unwound, the
// unwinding goes on instead.
[[noreturn]] void give_up_caught(const char* call);
// Runs the body of an exported function. Exceptions end here and end the program: the other ranks do not know about
// them, so this rank cannot return to its caller.
template <class Body>
[[gnu::always_inline]] inline auto guarded(const char* call, Body&& body) {
  try {
    return body();
  } catch (...) {
    give_up_caught(call);
  }
}
// Ends the program when the ranks make different calls (COPSE_CHECK). Every rank calls this, and rank 0 prints the
// line.
[[noreturn]] void give_up_together(const CommState& state, std::string_view call, std::string_view why);

}  // namespace copse::mpi
