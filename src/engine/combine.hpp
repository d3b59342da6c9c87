// The operator of a reduction as the executor sees it: a kernel of Copse's, or a function of the user's.
#pragma once

#include <cstddef>

#include "engine/kernels/kernels.hpp"

namespace copse::engine {

// dst[i] = a[i] op b[i]; dst may be a or b. A user's function has one form only, (in, inout), and may count on the
// alignment of its type: it gets copies where dst is not b, and of what lies at addresses that are too odd for it.
struct Combine {
  kernels::Reduce kernel = nullptr;
  kernels::ReduceTwo kernel_two = nullptr;
  // A user's operator: inout[i] = in[i] op inout[i], `in` being the operand of the lower ranks. It may be
  // called several times, each with some of the elements.
  void (*user)(void *context, const void *in, void *inout, std::size_t count) = nullptr;
  void *context = nullptr;
  bool commutative = true;

  void apply(void *dst, const void *a, const void *b, std::size_t count, std::size_t element_bytes) const;
};

}  // namespace copse::engine
