// Probes: does a way of reaching another process's memory work here? Each is tried for real, between two children of
// this process: ranks are siblings, and what a parent may do to its child (Yama's ptrace_scope 1) siblings may not.
#pragma once

#include <string>

namespace copse::cli {

struct Probe {
  bool works = false;
  std::string why_not;  // one line for people; empty if it works
};

// Common memory: a memfd of one process, opened by the other through /proc/<pid>/fd.
[[nodiscard]] Probe probe_common_memory();

// process_vm_readv and process_vm_writev.
[[nodiscard]] Probe probe_kernel_reach();

// libcopse-heap.so, preloaded into a process of its own.
[[nodiscard]] Probe probe_shared_heap();

// sched_setaffinity to one of the processors that this process may use.
[[nodiscard]] Probe probe_binding();

}  // namespace copse::cli
