// The operator of a reduction as the executor sees it: one of Copse's kernels, or a function of the user.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/kernels/kernels.hpp"

namespace copse::engine {

// Computes dst[i] = a[i] op b[i]. dst may be a or b. A user's function has only the form (in, inout) and may rely on the
// alignment of its type. It gets copies of the operands where dst is not b or where their addresses are not aligned for it.
struct Combine {
  kernels::Reduce kernel = nullptr;
  kernels::ReduceTwo kernel_two = nullptr;
  // A user's operator: inout[i] = in[i] op inout[i], where `in` is the operand of the lower ranks. It may be called several
  // times, each time with some of the elements.
  void (*user)(void* context, const void* in, void* inout, std::size_t count) = nullptr;
  void* context = nullptr;
  bool commutative = true;
  bool exact = false;  // the result has the same bits in whatever order elements are combined
  // Whether a wire can apply this operator. An MPI has the predefined operators for integers and for the two usual floating types.
  bool delegable = false;
  std::uint16_t code = 0;  // the number of a predefined operator, the same in all processes; 0: the operator is not predefined

  void apply(void* dst, const void* a, const void* b, std::size_t count, std::size_t element_bytes) const;
};

// The predefined operator that a code stands for.
struct Operation {
  copse_op op;
  copse_type type;
};
[[nodiscard]] Operation operation_of(std::uint16_t code);

// Returns the kernels of a predefined operator. They are null where it is not defined for the type.
[[nodiscard]] Combine predefined(copse_op op, copse_type type);
// Returns the operator with this code, which is one that predefined() has given.
[[nodiscard]] Combine predefined(std::uint16_t code);

}  // namespace copse::engine
