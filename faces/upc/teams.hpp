// Teams: some of the UPC threads, as those who call one another.
#pragma once

#include "copse/bupc.h"
#include "thread.hpp"

// A team, as one member sees it: a Thread among fewer threads. Code that takes the Thread of all threads works on the Thread of a
// team (docs/decisions/upc-teams.md).
struct bupc_team {
  copse::upc::Thread thread;
  upc_shared base = upc_null();  // where the members on this node have met
  int stream = 0;                // of the network, if the team sits on several nodes
};

namespace copse::upc {

// Returns the calling thread as a member of the team, or as one of all threads if `team` is null. Fails between upc_notify and
// upc_wait.
[[nodiscard]] Thread& member(const char* function, bupc_team_t team);
// Returns the pointer with the number that its thread has in the team. A null pointer stays null. `name` is the name of the
// argument.
[[nodiscard]] upc_shared within(const Thread& team, const char* function, const char* name, upc_shared p);
// Returns the pointer to an array that has a part on every member. In a team, it does not matter which thread the pointer names.
[[nodiscard]] upc_shared from_first(const Thread& team, upc_shared p);

}  // namespace copse::upc
