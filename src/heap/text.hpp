#pragma once
// Whose code is calling: the text of a loaded object.
#include <stdint.h>

namespace copse::heap {

struct Text {
  uintptr_t lo = 0;
  uintptr_t bytes = 0;

  bool contains(const void* address) const { return reinterpret_cast<uintptr_t>(address) - lo < bytes; }
};

// Returns the text of the object whose code contains `inside`, or an empty one.
Text text_of(const void* inside);

}  // namespace copse::heap
