// Keeps the memory of ended calls for the next ones.
#include "engine/scratch.hpp"

#include <algorithm>
#include <utility>

namespace copse::engine {

ScratchMemory ScratchPool::take(std::size_t bytes) {
  ScratchMemory memory;
  {
    const std::lock_guard lock(mutex_);
    const auto fits = std::find_if(free_.rbegin(), free_.rend(), [&](const ScratchMemory& each) { return each.bytes >= bytes; });
    if (!free_.empty()) {
      const auto taken = fits != free_.rend() ? std::prev(fits.base()) : std::prev(free_.end());
      bytes_ -= taken->bytes;
      memory = std::move(*taken);
      free_.erase(taken);
    }
  }
  if (memory.bytes >= bytes) return memory;
  memory = {};  // too small: freed before more is allocated
  return ScratchMemory(bytes);
}

void ScratchPool::give_back(ScratchMemory memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (memory.bytes > kKept - bytes_) return;
  try {
    free_.push_back(std::move(memory));
    bytes_ += free_.back().bytes;
  } catch (const std::bad_alloc&) {  // it is freed then
  }
}

}  // namespace copse::engine
