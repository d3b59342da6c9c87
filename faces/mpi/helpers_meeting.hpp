// How the ranks of a communicator meet their helpers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "communicator/bootstrap.hpp"
#include "communicator/served_streams.hpp"

namespace copse::mpi {

// Makes a communicator of these ranks and of the helpers of their nodes, and its streams. `hosts` has a number for each rank, which
// is the same for ranks of one node. `streams` is that of Settings. If that fails, the result is null on every rank, and the trace
// says why. Collective over the ranks of `callers`.
[[nodiscard]] std::unique_ptr<communicator::ServedStreams> meet_helpers(communicator::Bootstrap& callers,
                                                                        std::span<const std::uint64_t> hosts, int streams);

}  // namespace copse::mpi
