// The kernels of one instruction set, as a table. Each translation unit fills the rows of its own classes of types.
#ifndef COPSE_ENGINE_KERNELS_TABLE_HPP
#define COPSE_ENGINE_KERNELS_TABLE_HPP

#include <array>

#include "engine/kernels/elements.hpp"
#include "engine/kernels/kernels.hpp"

namespace copse::kernels {

struct Entry {
  Reduce reduce = nullptr;
  ReduceTwo reduce_two = nullptr;
};
using Table = std::array<std::array<Entry, COPSE_OP_COUNT>, COPSE_TYPE_COUNT>;

// The tables for this processor. They are in two translation units, which compile side by side.
const Table& integer_table() noexcept;   // INTEGER, LOGICAL, BYTE
const Table& floating_table() noexcept;  // FLOATING, COMPLEX, PAIR

constexpr bool in_integer_table(TypeClass type_class) {
  return type_class == TypeClass::INTEGER || type_class == TypeClass::LOGICAL || type_class == TypeClass::BYTE;
}

}  // namespace copse::kernels

#endif
