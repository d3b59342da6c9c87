// Ranks for tests, each with communicators: threads, forked processes, threads within two forked processes, or threads
// that take one another for processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"

namespace copse::test {

// What processes do in each other's memory, ThreadSanitizer cannot see; it sees what threads do that take one another
// for processes (`apart`): there the kernel's copies are a function of ours, within the one process.
enum class Kind { threads, processes, mixed, apart };
inline constexpr Kind kKinds[] = {Kind::threads, Kind::processes, Kind::mixed, Kind::apart};
const char *name_of(Kind kind);

using Communicators = std::span<const std::unique_ptr<communicator::Communicator>>;

// Runs `body` on every rank and returns what the first says that finds something wrong (nothing: empty); the calls of
// the others fail then. A rank that crashes or throws is an error too. Every rank has one communicator for each of
// `settings`.
//
// Threads may pretend to sit on several nodes (settings): they have a wire between them, which counts messages.
//
// Programs that spmd.sh starts several of (TEST_SPMD_RANK, TEST_SPMD_NAME) are the processes themselves: each runs its
// own rank, with one communicator. Forked processes have no shared heap; these do, if it is preloaded.
std::string run_ranks(Kind kind, int ranks, std::span<const choose::Settings> settings,
                      const std::function<std::string(Communicators)> &body);

extern std::atomic<std::uint64_t> messages_sent;

// With one communicator.
std::string run_ranks(Kind kind, int ranks, const choose::Settings &settings,
                      const std::function<std::string(communicator::Communicator &)> &body);

// Runs body(0) .. body(count - 1), each in a forked process, and gathers what they return; "signal N" from one that
// a signal ended, "exit N" from one that ended by itself.
std::vector<std::string> in_processes(int count, const std::function<std::string(int)> &body);

}  // namespace copse::test
