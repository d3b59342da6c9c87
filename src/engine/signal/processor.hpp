// The processor on which a thread runs.
#pragma once

#include <sched.h>

#include <cstdint>

namespace copse::engine {

// Returns 1 + the number of the processor, or 0 if it is not known. Since glibc 2.35 this reads memory that the kernel keeps
// up to date (rseq), so it costs little more than a load.
inline std::int32_t this_processor() { return sched_getcpu() + 1; }

}  // namespace copse::engine
