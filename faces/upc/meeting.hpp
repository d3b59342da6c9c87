// How UPC threads found a communicator.
#pragma once

#include <memory>
#include <string>

#include "thread.hpp"

namespace copse::upc {

// The place where the members of a new team meet. The communicators of all threads have the streams 0 and 1.
struct Ground {
  void* boards = nullptr;  // of the members on this node (see communicator::board_bytes)
  int stream = 0;          // of the network, if the members are on several nodes
};

// Makes a communicator of the members of the thread's team, or of all threads. They reach one another's data in the segment, or
// by the network. Returns null, with the reason, if that fails.
[[nodiscard]] std::unique_ptr<Communicator> meet(const Thread& thread, const Ground& ground, const choose::Settings& settings,
                                                 std::string& why_not);

// Returns the members on this thread's node, by their numbers in the team, ascending.
[[nodiscard]] std::vector<int> members_here(const Thread& thread);

}  // namespace copse::upc
