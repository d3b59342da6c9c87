// A program on its UPC threads.
#pragma once

#include <optional>
#include <string>

#include "choose/settings.hpp"
#include "copse/upc.h"
#include "segment.hpp"

namespace copse::upc {

struct Program {
  int argc;
  char** argv;
  copse_upc_program run;
};

// Says why the threads could not be made. Returns 1.
int say(const std::string& why);

// Runs the program on some threads, the first of which is the calling one. Their results are in the segment then.
void run_threads(const Segment& segment, const choose::Settings& settings, const Program& program, Places::Run run);
// Returns the first result of a thread of this run that is not 0, or 0.
[[nodiscard]] int result_of(const Segment& segment, Places::Run run);

// Runs this process's part of the program and returns its result, if an MPI has started several processes.
[[nodiscard]] std::optional<int> run_under_mpi(const choose::Settings& settings, const Program& program);

}  // namespace copse::upc
