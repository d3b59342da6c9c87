// Whether another process of this machine still lives: the contract with the operating system.
#pragma once

#include <sys/types.h>

namespace copse::engine {

// True once the process has ended, whether or not its parent has taken note. Costs a few system calls.
[[nodiscard]] bool process_ended(pid_t pid);

}  // namespace copse::engine
