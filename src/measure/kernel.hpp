// What the kernel's copy between two processes costs.
#pragma once

#include <optional>

#include "measure/pairs.hpp"

namespace copse::measure {

struct KernelCosts {
  double call_ns = 0, page_ns = 0;
  double contention = 0;  // the fraction by which a page takes longer while the other process copies, too
  double rate = 0;        // bytes per ns within a page
};

// Returns nothing if the kernel does not copy between the processes here. `most` limits the rate that is found, because the bytes
// of a page take so little time beside the call that they might seem to take none.
[[nodiscard]] std::optional<KernelCosts> kernel_costs(Pair pair, double most);

}  // namespace copse::measure
