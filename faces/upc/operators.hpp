// How the elements of one reduction are combined: within a thread, and between threads.
//
// What some elements give when they are combined is a partial. A partial may be none: that of no elements. Combined with another,
// it gives the other (NUMACol 3.1: threads without data contribute a neutral value). An operator of the specification has a neutral
// value of its type. A function of the caller has none, so its partials say whether they are there. The partials of the logical
// operators are truth values.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "copse/upc.h"
#include "engine/combine.hpp"
#include "engine/kernels/fold.hpp"

namespace copse::upc {

using AnyFunction = void (*)();

class Operator {
 public:
  Operator() = default;
  Operator(const Operator&) = delete;
  Operator& operator=(const Operator&) = delete;
  virtual ~Operator() = default;

  [[nodiscard]] virtual std::size_t partial_bytes() const = 0;
  virtual void set_none(void* partial) const = 0;
  // The partial of `count` elements, at least 1, that follow one another in the array or, unless is_ordered(), in memory.
  virtual void fold(void* partial, const void* array, std::size_t count) const = 0;
  // Writes the element that the partial is. It must not be none.
  virtual void store(void* element, const void* partial) const = 0;
  // dst[i] = before op array[0] op ... op array[i]. `before` is a partial, or null.
  virtual void running(void* dst, const void* array, std::size_t count, const void* before) const = 0;
  // Combines partials of several threads.
  [[nodiscard]] const engine::Combine& combine() const { return combine_; }
  // right = left op right, of one partial each.
  void join(const void* left, void* right) const { combine_.apply(right, left, right, 1, partial_bytes()); }
  // Tells whether elements must be combined in their order in the array.
  [[nodiscard]] bool is_ordered() const { return !combine_.commutative; }

 protected:
  engine::Combine combine_;
};

// Returns null if the operator is not defined for the type, or is a function of the caller's and null. `type` is the number of the
// type in COPSE_UPC_TYPES.
[[nodiscard]] std::unique_ptr<Operator> make_operator(int type, upc_op_t op, AnyFunction function);

[[nodiscard]] std::size_t type_bytes(int type);
[[nodiscard]] bool is_floating(int type);
// Returns the name of an operator, or null if there is no such operator.
[[nodiscard]] const char* name_of(upc_op_t op);

}  // namespace copse::upc
