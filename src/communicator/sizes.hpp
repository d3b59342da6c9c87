// Sizes of blocks that not all ranks know. Where a call cannot go one way, every rank tells its size to all others. Each size is
// known to two ranks, which must mean the same: in a gather or scatter, one of them is the root. If some do not, all ranks find
// out. They tell one another what they mean, and move as much as both sides allow.
#pragma once

#include "communicator/job.hpp"

namespace copse::communicator {

// Returns what this rank tells all others before a call.
[[nodiscard]] Size size_of(const Arguments& arguments, int rank, int ranks);

// Takes over what all ranks have told, and returns whether every two ranks mean the same sizes.
bool take_told(Job& job);

// Writes the sizes that this rank means to the place from which the others read them: the table of a root, or the pairs of an
// alltoall. Call it if two ranks mean different sizes.
void write_meant(Job& job, int rank, int ranks);
// Reduces the sizes to what both sides allow, once the ranks know what the others mean.
void clip(Job& job, int rank, int ranks);

}  // namespace copse::communicator
