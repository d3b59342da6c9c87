// How the elements of one reduction are combined: within a thread, and between threads.
//
// A partial is the result of combining some elements. The partial of no elements is called none. None combined with another
// partial gives that other partial (NUMACol 3.1: threads without data contribute a neutral value). For an operator of the
// specification, none is the neutral value of the type. A function of the caller has no neutral value, so each of its partials
// says whether it is none. The partials of the logical operators are truth values.
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
  // Computes the partial of `count` elements (1 or more). The elements follow one another in the array. Unless is_ordered(), it is
  // enough that they follow one another in memory.
  virtual void fold(void* partial, const void* array, std::size_t count) const = 0;
  // Writes the value of the partial as an element. The partial must not be none.
  virtual void store(void* element, const void* partial) const = 0;
  // dst[i] = before op array[0] op ... op array[i]. `before` is a partial, or null.
  virtual void running(void* dst, const void* array, std::size_t count, const void* before) const = 0;
  // Combines partials of several threads.
  [[nodiscard]] const engine::Combine& combine() const { return combine_; }
  // Computes right = left op right. Both are one partial.
  void join(const void* left, void* right) const { combine_.apply(right, left, right, 1, partial_bytes()); }
  // Tells whether elements must be combined in their order in the array.
  [[nodiscard]] bool is_ordered() const { return !combine_.commutative; }

 protected:
  engine::Combine combine_;
};

// Returns null if the operator is not defined for the type, or if it stands for a function of the caller and `function` is null.
// `type` is the number of the type in COPSE_UPC_TYPES.
[[nodiscard]] std::unique_ptr<Operator> make_operator(int type, upc_op_t op, AnyFunction function);

[[nodiscard]] std::size_t type_bytes(int type);
[[nodiscard]] bool is_floating(int type);
// Returns the name of an operator, or null if there is no such operator.
[[nodiscard]] const char* name_of(upc_op_t op);

}  // namespace copse::upc
