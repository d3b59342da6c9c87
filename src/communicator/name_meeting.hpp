// Processes of one machine meet under a name: rank 0 listens on an abstract socket, which vanishes with its process, and
// passes the descriptor of the boards to every rank that calls.
//
// Anybody on the machine may own the name or call under it. So both sides ask the kernel who the other is: it must be a
// process of the same user, in the same PID namespace. The rest is in the messages (communicator/handshake.hpp). Nobody
// is waited for alone: a caller that says nothing keeps nobody out. A rank has come when it has said who it is and as
// long as it stays on the line; when all have come, all get the memory.
#pragma once

#include <memory>
#include <string>

#include "communicator/bootstrap.hpp"
#include "communicator/deadline.hpp"

namespace copse::communicator {

// Null and a reason when that fails or goes on behind the deadline. `name` has 1 to 80 characters.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_by_name(const std::string &name, int rank, int ranks, Deadline deadline,
                                                      std::string &why_not);

}  // namespace copse::communicator
