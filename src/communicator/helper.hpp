// A helper process (CDCP): a dedicated collective processor that runs none of the program. It comes to every meeting to which it is
// invited, and serves all communicators that come of that.
#pragma once

#include "choose/settings.hpp"
#include "communicator/communicator.hpp"

namespace copse::communicator {

// Serves the ranks that send invitations to `desk` (desk.hpp). Returns when nobody is left to be served, once the other end of
// `lifeline` is closed or the process of the pidfd `starter` has ended. If `starter` is -1, there is no pidfd. The caller still
// owns the descriptors.
void help(int desk, int lifeline, int starter, const choose::Settings& settings);

// Serves one communicator, of which this rank is a helper, until the first caller frees it.
void help(Communicator& comm);

}  // namespace copse::communicator
