// A helper process (CDCP): a dedicated collective processor that runs none of the program. It comes to every meeting to which it is
// invited, and serves all communicators that come of that.
#pragma once

#include "choose/settings.hpp"
#include "communicator/communicator.hpp"
#include "communicator/helpers_network.hpp"
#include "communicator/served_streams.hpp"

namespace copse::communicator {

// What a helper process has. Whoever calls help() still owns the descriptors.
struct Post {
  int desk = -1;  // where invitations come (desk.hpp)
  int lifeline = -1;  // once its other end is closed, nobody invites any more; -1: there is none
  int starter = -1;  // a pidfd: once that process has ended, nobody invites any more; -1: there is none
  int callers = 0;  // once so many goodbyes have come to the desk, nobody makes calls any more; 0: they do not come
  HelpersNetwork* network = nullptr;  // null: only ranks of this node are served
};
// Serves the ranks that send invitations. Returns when nobody is left to be served.
void help(const Post& post, const choose::Settings& settings);

// Serves one communicator, of which this rank is a helper, until the first caller of this node frees it.
void help(ServedStreams streams);

}  // namespace copse::communicator
