// Binding: which processors a rank may run on. By default a rank is held in its NUMA region, so that it stays near
// its memory and the system may still move it between the region's cores (NUMACol 3).
#pragma once

#include <string>
#include <string_view>

#include "topology/machine.hpp"
#include "topology/placement.hpp"

namespace copse::topology {

enum class BindingPolicy : std::uint8_t { none, numa, core };

// "none", "numa" or "core". Throws Error that begins with `origin`.
[[nodiscard]] BindingPolicy binding_policy_from(std::string_view text, std::string_view origin);

// Why nothing is to be bound whatever this machine is, where that can be told in microseconds (a Machine takes
// milliseconds, far more on large ones); else empty.
[[nodiscard]] std::string needless_here(BindingPolicy policy);

// The processors that the policy gives to one of the ranks of a node: of the core that block layout gives it, of that
// core's NUMA region, or all.
[[nodiscard]] CpuSet processors_for(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks);

struct Binding {
  bool bound = false;       // by this call
  std::string explanation;  // what was bound, or why not; one line for people
  Place place;              // where the thread is confined now, local to the machine
};

// Binds the calling thread. Never fatal: a refusal is explained in the result. A thread that somebody else has
// confined already (a launcher, a user) is left as it is; so is everything if the machine is only described.
Binding bind_this_thread(const Machine& machine, BindingPolicy policy, int local_rank, int local_ranks);

// Where the calling thread is confined, by its affinity mask. Nowhere, if the machine is only described.
[[nodiscard]] Place current_place(const Machine& machine);

// The calling thread's processors; empty with errno set if the system does not tell.
[[nodiscard]] CpuSet current_processors();

}  // namespace copse::topology
