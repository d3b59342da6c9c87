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

// Returns nothing if the kernel does not copy between the processes here.
[[nodiscard]] std::optional<KernelCosts> kernel_costs(Pair pair);

}  // namespace copse::measure
