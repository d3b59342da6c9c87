// Ranks for tests: threads, forked processes, or threads within two forked processes, each with communicators.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"

namespace copse::test {

enum class Kind { threads, processes, mixed };

using Communicators = std::span<const std::unique_ptr<communicator::Communicator>>;

// Runs `body` on every rank and gathers what it says was wrong (nothing: empty). A rank that crashes or throws is an
// error too. Every rank has one communicator for each of `settings`.
//
// Programs that spmd.sh starts several of (TEST_SPMD_RANK, TEST_SPMD_NAME) are the processes themselves: each runs its
// own rank, with one communicator. Forked processes have no shared heap; these do, if it is preloaded.
std::string run_ranks(Kind kind, int ranks, std::span<const choose::Settings> settings,
                      const std::function<std::string(Communicators)> &body);

// With one communicator.
std::string run_ranks(Kind kind, int ranks, const choose::Settings &settings,
                      const std::function<std::string(communicator::Communicator &)> &body);

// Runs body(0) .. body(count - 1), each in a forked process, and gathers what they return; "signal N" from one that
// a signal ended, "exit N" from one that ended by itself.
std::vector<std::string> in_processes(int count, const std::function<std::string(int)> &body);

}  // namespace copse::test
