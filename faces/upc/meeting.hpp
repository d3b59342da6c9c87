// How UPC threads found a communicator.
#pragma once

#include <memory>
#include <string>

#include "thread.hpp"

namespace copse::upc {

// Makes a communicator of `ranks` threads, of which the caller is `rank`. They meet on boards in the segment (see
// communicator::board_bytes), and reach one another's data there. Returns null, with the reason, if that fails.
[[nodiscard]] std::unique_ptr<Communicator> meet(const Thread& thread, void* boards, int rank, int ranks,
                                                 const choose::Settings& settings, std::string& why_not);

}  // namespace copse::upc
