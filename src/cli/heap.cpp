// copse-native heap: tells whether the shared heap is active in this process. `info` runs it with the library
// preloaded.
#include "heap/heap.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "cli/output.hpp"

namespace copse::cli {

int heap(Arguments arguments) {
  const bool json = only_json(arguments);
  const auto region_of = reinterpret_cast<copse::heap::RegionQuery>(dlsym(RTLD_DEFAULT, copse::heap::kRegionQueryName));
  const auto why_not = reinterpret_cast<copse::heap::WhyNotQuery>(dlsym(RTLD_DEFAULT, copse::heap::kWhyNotQueryName));
  std::string trouble;
  struct copse_heap_region region{};
  if (region_of == nullptr || why_not == nullptr) {
    trouble = "libcopse-heap.so is not preloaded";
  } else if (region_of(&region) != 0) {
    const char* reason = why_not();
    trouble = reason != nullptr ? reason : "it gives no reason";
  } else {
    const std::unique_ptr<void, decltype(&std::free)> block(std::malloc(1000), &std::free);
    const auto offset = static_cast<const char*>(block.get()) - static_cast<const char*>(region.base);
    if (block == nullptr || offset < 0 || static_cast<std::size_t>(offset) >= region.bytes)
      trouble = "it is active, but malloc does not serve from it: is another allocator preloaded or linked in?";
  }
  if (json) {
    std::printf("{\"active\": %s, \"bytes\": %zu, \"why_not\": %s}\n", trouble.empty() ? "true" : "false", region.bytes,
                quoted(trouble).c_str());
  } else {
    std::printf("%s\n", trouble.empty() ? "active" : trouble.c_str());
  }
  return trouble.empty() ? 0 : 1;
}

}  // namespace copse::cli
