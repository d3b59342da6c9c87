// What the kernel's copy between two processes costs.
#pragma once

#include <optional>

#include "measure/pairs.hpp"

namespace copse::measure {

struct KernelCosts {
  double call_ns = 0, page_ns = 0;
  double contention = 0;  // how much longer a page takes while the other process copies, too, as a fraction
  double rate = 0;        // bytes per ns within a page
};

// Returns nothing if the kernel does not copy between the processes here. The kernel moves bytes no faster than `most`: those of a
// page take so little beside the call that they might seem to take no time.
[[nodiscard]] std::optional<KernelCosts> kernel_costs(Pair pair, double most);

}  // namespace copse::measure
