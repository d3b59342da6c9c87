// Finds the kernels of (operator, type) for this processor.
#include "engine/kernels/kernels.hpp"
#include "engine/kernels/table.hpp"

namespace copse::kernels {
namespace {

#define COPSE_CLASS_(name, c_type, type_class) TypeClass::type_class,
constexpr TypeClass kTypeClasses[] = {COPSE_TYPES(COPSE_CLASS_)};
#undef COPSE_CLASS_

Entry find(copse_op op, copse_type type) noexcept {
  if (static_cast<std::size_t>(op) >= COPSE_OP_COUNT || static_cast<std::size_t>(type) >= COPSE_TYPE_COUNT) return {};
  return (in_integer_table(kTypeClasses[type]) ? integer_table() : floating_table())[type][op];
}

}  // namespace

Reduce reduce_kernel(copse_op op, copse_type type) noexcept { return find(op, type).reduce; }
ReduceTwo reduce_two_kernel(copse_op op, copse_type type) noexcept { return find(op, type).reduce_two; }
ReducePair reduce_kernels(copse_op op, copse_type type) noexcept {
  const Entry entry = find(op, type);
  return {entry.reduce, entry.reduce_two};
}

}  // namespace copse::kernels
