// What Copse tells people: the trace at the end, and the line before an abort.
#pragma once

#include <string>
#include <string_view>

#include "communicators.hpp"

namespace copse::mpi {

// For COPSE_TRACE: from here on the program's time counts, of which the trace tells the share of the calls.
void begin_trace();
// A call that went to the MPI, and why.
void count_passed_on(algorithms::Collective collective, std::string_view why, std::size_t bytes, double seconds);
// A remark about this rank: what was lost, or done, and why.
void note(std::string_view subject, std::string_view text);
// Keeps the trace of a communicator that is about to go.
void remember(const CommState &state);
// Merges all ranks' traces on rank 0 of the world, which prints them. Collective.
void print_report();

// A run went wrong: one line, and the end of the program.
[[noreturn]] void give_up(const CommState &state, std::string_view call, std::string_view why);
// The ranks differ in what they call (COPSE_CHECK): every rank knows, rank 0 says it.
[[noreturn]] void give_up_together(const CommState &state, std::string_view call, std::string_view why);

}  // namespace copse::mpi
