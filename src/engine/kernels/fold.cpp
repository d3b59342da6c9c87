// Loops that fold an array. The compiler makes vectors of them.
#include "engine/kernels/fold.hpp"

#include <array>
#include <type_traits>
#include <utility>

#include "engine/kernels/scalar.hpp"

namespace copse::kernels {
namespace {

template <class E>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  E value;
};

template <copse_op Op, class E>
[[gnu::always_inline]] inline E combine(E a, E b) {
  if constexpr (Op == COPSE_LAND) return static_cast<E>(a != 0 && b != 0);
  else if constexpr (Op == COPSE_LOR) return static_cast<E>(a != 0 || b != 0);
  else return apply<Op>(a, b);
}

// Independent lanes let the processor work on several elements at once. With floating types, the compiler may not make them itself.
template <copse_op Op, class E>
void all(void* result, const void* array, std::size_t count) {
  constexpr std::size_t kLanes = 128 / sizeof(E);
  const auto* const from = static_cast<const Unaligned<E>*>(array);
  E value = from[0].value;
  std::size_t at = 1;
  if (count >= 2 * kLanes) {
    std::array<E, kLanes> lanes;
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = from[lane].value;
    for (at = kLanes; at + kLanes <= count; at += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] = combine<Op>(lanes[lane], E{from[at + lane].value});
    value = lanes[0];
    for (std::size_t lane = 1; lane < kLanes; ++lane) value = combine<Op>(value, lanes[lane]);
  }
  for (; at < count; ++at) value = combine<Op>(value, E{from[at].value});
  static_cast<Unaligned<E>*>(result)->value = value;
}

template <copse_op Op, class E>
void running(void* dst, const void* array, std::size_t count, const void* before) {
  const auto* const from = static_cast<const Unaligned<E>*>(array);
  auto* const to = static_cast<Unaligned<E>*>(dst);
  if (count == 0) return;
  E value = from[0].value;
  if (before != nullptr) value = combine<Op>(E{static_cast<const Unaligned<E>*>(before)->value}, value);
  to[0].value = value;
  for (std::size_t at = 1; at < count; ++at) {
    value = combine<Op>(value, E{from[at].value});
    to[at].value = value;
  }
}

template <class E>
constexpr bool folds(copse_op op) {
  const bool logical = op == COPSE_LAND || op == COPSE_LOR;
  if constexpr (std::is_integral_v<E>) return op <= COPSE_BXOR && op != COPSE_LXOR;
  else if constexpr (std::is_floating_point_v<E>) return op <= COPSE_MAX || logical;
  else return false;
}

template <copse_type Type, copse_op Op>
constexpr FoldPair entry() {
  using E = typename Element<Type>::type;
  constexpr TypeClass kClass = Element<Type>::type_class;
  if constexpr ((kClass == TypeClass::INTEGER || kClass == TypeClass::FLOATING) && folds<E>(Op)) {
    return {&all<Op, E>, &running<Op, E>};
  } else {
    return {};
  }
}

using Row = std::array<FoldPair, COPSE_OP_COUNT>;
template <copse_type Type, std::size_t... kOps>
constexpr Row row(std::index_sequence<kOps...>) {
  return {entry<Type, static_cast<copse_op>(kOps)>()...};
}
template <std::size_t... kTypes>
constexpr std::array<Row, COPSE_TYPE_COUNT> table(std::index_sequence<kTypes...>) {
  return {row<static_cast<copse_type>(kTypes)>(std::make_index_sequence<COPSE_OP_COUNT>())...};
}
constexpr std::array<Row, COPSE_TYPE_COUNT> kTable = table(std::make_index_sequence<COPSE_TYPE_COUNT>());

}  // namespace

FoldPair fold_kernels(copse_op op, copse_type type) noexcept {
  if (static_cast<std::size_t>(op) >= COPSE_OP_COUNT || static_cast<std::size_t>(type) >= COPSE_TYPE_COUNT) return {};
  return kTable[type][op];
}

}  // namespace copse::kernels
