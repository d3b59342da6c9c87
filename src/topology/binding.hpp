// Binding: the processors that a rank may run on. By default a rank is bound to its NUMA region. So it stays near its
// memory, and the system may still move it between the region's cores (NUMACol 3).
#pragma once

#include <string>
#include <string_view>

#include "topology/machine.hpp"
#include "topology/placement.hpp"

namespace copse::topology {

enum class BindingPolicy : std::uint8_t { none, numa, core };

// Reads "none", "numa" or "core". For any other text throws an Error whose message begins with `origin`.
[[nodiscard]] BindingPolicy binding_policy_from(std::string_view text, std::string_view origin);

// Returns a reason why this rank need not be bound, or an empty string. Looks only at what can be read in microseconds; a
// Machine takes milliseconds, and far longer on large machines.
[[nodiscard]] std::string needless_here(BindingPolicy policy);

// Returns the processors that the policy gives to one rank of a node: those of the core that block layout gives to the
// rank, those of that core's NUMA region, or all.
[[nodiscard]] CpuSet processors_for(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks);

struct Binding {
  bool bound = false;       // by this call
  std::string explanation;  // what was bound, or why not; one line for the user
  Place place;              // where the thread is now confined, local to the machine
};

// Binds the calling thread. A refusal is not an error; the result explains it. A thread that a launcher or the user has
// already confined keeps its mask. If the machine is only a description, nothing is bound.
Binding bind_this_thread(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks);

// Returns where the affinity mask confines the calling thread. If the machine is only a description, that is nowhere.
[[nodiscard]] Place current_place(const Machine& machine);

// Returns the calling thread's processors, or an empty set with errno if they cannot be read.
[[nodiscard]] CpuSet current_processors();

}  // namespace copse::topology
