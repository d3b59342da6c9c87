// Ranks for tests: threads, or forked processes, each with a communicator.
#pragma once

#include <functional>
#include <string>

#include "communicator/communicator.hpp"

namespace copse::test {

enum class Kind { threads, processes };

// Runs `body` on every rank and gathers what it says was wrong (nothing: empty). A rank that crashes or throws is an
// error too.
std::string run_ranks(Kind kind, int ranks, const choose::Settings &settings,
                      const std::function<std::string(communicator::Communicator &)> &body);

}  // namespace copse::test
