// How much memory every area of a rank has for values that are on their way: a ring of lines, and rings of slots in some
// classes of size. The code that cuts messages and the code that lays out the memory both go by it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace copse::plan {

// A class of slots. In each class, every area of a rank has a ring of `depth` slots of `bytes`. Small messages get many small
// slots, so that a rank can run far ahead of the others; large messages get fewer.
struct SlotClass {
  std::uint32_t depth = 0;  // power of two
  std::uint32_t bytes = 0;
};
inline constexpr int kSlotClasses = 3;
using SlotClasses = std::array<SlotClass, kSlotClasses>;

// Returns the smallest class whose slots hold `bytes`, or -1.
[[nodiscard]] constexpr int class_for(const SlotClasses& slots, std::size_t bytes) {
  for (int c = 0; c < kSlotClasses; ++c)
    if (bytes <= slots[static_cast<std::size_t>(c)].bytes) return c;
  return -1;
}

// No ring that a call uses has fewer places. So a loop may lag by less than this.
inline constexpr int kLeastDepth = 8;

struct Rings {
  std::uint32_t line_depth = 64;  // power of two
  SlotClasses slots{{{128, 1024}, {32, 8192}, {8, 65536}}};

  [[nodiscard]] constexpr int class_for(std::size_t bytes) const { return plan::class_for(slots, bytes); }
};

}  // namespace copse::plan
