// Processes of one machine meet under a name. Rank 0 listens on an abstract socket, which vanishes with its process. It passes
// the descriptor of the boards to every rank that calls.
//
// Anybody on the machine may own the name or call under it. So both sides ask the kernel who the other is: it must be a process
// of the same user, in the same PID namespace. The messages say the rest (communicator/handshake.hpp). Rank 0 never waits for
// one caller alone, so a caller that says nothing keeps nobody out. A rank counts as present once it has said who it is, and as
// long as it stays on the line. When all are present, all get the memory.
#pragma once

#include <memory>
#include <string>

#include "communicator/bootstrap.hpp"
#include "communicator/deadline.hpp"

namespace copse::communicator {

// If the ranks cannot meet, or not before the deadline, the result is null, and `why_not` is the reason. `name` has 1 to 80
// characters.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_by_name(const std::string& name, int rank, int ranks, Deadline deadline,
                                                      std::string& why_not);

}  // namespace copse::communicator
