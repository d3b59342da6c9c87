// Ranks for tests, each with communicators. They are threads, forked processes, threads within two forked processes, or
// threads that treat one another as processes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "communicator/communicator.hpp"

namespace copse::test {

// ThreadSanitizer cannot see what processes do in each other's memory. It does see what threads do that treat one
// another as processes (`apart`). In that case, the kernel's copies are a function here within the one process.
enum class Kind { threads, processes, mixed, apart };
inline constexpr Kind kKinds[] = {Kind::threads, Kind::processes, Kind::mixed, Kind::apart};
const char* name_of(Kind kind);

using Communicators = std::span<const std::unique_ptr<communicator::Communicator>>;

// Runs `body` on every rank. Returns the complaint of the first rank that finds something wrong, or an empty text; the
// calls of the other ranks then fail. A rank that crashes or throws is also an error. Every rank has one communicator
// for each of `settings`.
//
// Threads may pretend to sit on several nodes (settings). They then have a wire between them that counts messages, and the
// collectives that leaders delegate to it.
//
// A program that spmd.sh starts several times (TEST_SPMD_RANK, TEST_SPMD_NAME) is a process of the group itself: it
// runs its own rank with one communicator. Forked processes have no shared heap. These processes have one if it is
// preloaded.
std::string run_ranks(Kind kind, int ranks, std::span<const choose::Settings> settings,
                      const std::function<std::string(Communicators)>& body);

extern std::atomic<std::uint64_t> messages_sent, delegated;

// Like run_ranks() above, with one communicator.
std::string run_ranks(Kind kind, int ranks, const choose::Settings& settings,
                      const std::function<std::string(communicator::Communicator&)>& body);

// Runs body(0) .. body(count - 1), each in a forked process, and gathers the results. A process that a signal ended
// gives "signal N"; one that exited by itself gives "exit N".
std::vector<std::string> in_processes(int count, const std::function<std::string(int)>& body);

}  // namespace copse::test
