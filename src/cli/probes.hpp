// Probes: whether a way of reaching another process's memory works here. Each way is tried between two children of this
// process. Ranks are siblings, and a sibling may not do everything that a parent may do to its child (Yama's
// ptrace_scope 1).
#pragma once

#include <string>

namespace copse::cli {

struct Probe {
  bool works = false;
  std::string why_not;  // one line for the user; empty if it works
};

// Probes common memory: one process makes a memfd, and another opens it through /proc/<pid>/fd.
[[nodiscard]] Probe probe_common_memory();

// Probes process_vm_readv and process_vm_writev.
[[nodiscard]] Probe probe_kernel_reach();

// Probes libcopse-heap.so, preloaded into a process of its own.
[[nodiscard]] Probe probe_shared_heap();

// Probes sched_setaffinity to one of the processors that this process may use.
[[nodiscard]] Probe probe_binding();

}  // namespace copse::cli
