// Loops over arrays for every (operator, type), and the table of them. Compiled once per target.
#if defined(COPSE_ENGINE_KERNELS_REDUCE_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef COPSE_ENGINE_KERNELS_REDUCE_INL_HPP
#undef COPSE_ENGINE_KERNELS_REDUCE_INL_HPP
#else
#define COPSE_ENGINE_KERNELS_REDUCE_INL_HPP
#endif

#include <cstring>
#include <utility>

#include "engine/kernels/scalar.hpp"
#include "engine/kernels/table.hpp"
#include "engine/kernels/vector-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace copse::kernels::HWY_NAMESPACE {
namespace {

using Bytes = unsigned char;

// Only MIN and MAX depend on an integer's sign. Otherwise one kernel serves both kinds.
template <copse_op Op, class E>
struct Representative {
  using type = E;
};
template <copse_op Op, class E>
  requires(std::is_integral_v<E> && Op != COPSE_MIN && Op != COPSE_MAX)
struct Representative<Op, E> {
  using type = std::make_unsigned_t<E>;
};

template <copse_op Op, class E, class D>
HWY_INLINE hn::Vec<D> reduce_vector(D d, const Bytes* a, const Bytes* b) {
  return apply_lanes<Op, E>(d, Format<E>::load(d, a), Format<E>::load(d, b));
}

// Values are assigned, not copied, so that a long double's padding is neither read nor written.
template <class E>
struct [[gnu::packed, gnu::may_alias]] Unaligned {
  E value;
};

template <copse_op Op, class E, class... Dst>
HWY_INLINE void reduce_one(const Bytes* a, const Bytes* b, Dst*... dst) {
  using F = Format<E>;
  if constexpr (F::kVectorised && sizeof(E) != F::kLanes * sizeof(typename F::Lane)) {  // hardware converts faster
    const hn::CappedTag<typename F::Lane, F::kLanes> d;
    const auto v = reduce_vector<Op, E>(d, a, b);
    (F::store(d, v, dst), ...);
    return;
  }
  E x;
  E y;
  std::memcpy(&x, a, sizeof(E));
  std::memcpy(&y, b, sizeof(E));
  if constexpr (is_pair<E>) {
    Bytes chosen[sizeof(E)];
    std::memcpy(chosen, prefers_first<Op>(x, y) ? a : b, sizeof(E));
    (std::memcpy(dst, chosen, sizeof(E)), ...);
  } else {
    const E result = apply<Op>(x, y);
    ((reinterpret_cast<Unaligned<E>*>(dst)->value = result), ...);
  }
}

// Reduces less than a full vector. Two overlapping vectors of 2^k lanes cover every count from 2^k to 2^(k+1). Both are
// computed before either is stored, so that dst may be a or b.
template <copse_op Op, class E, size_t kLanes, class... Dst>
HWY_INLINE void reduce_few(size_t lanes, const Bytes* a, const Bytes* b, Dst*... dst) {
  using F = Format<E>;
  if constexpr (kLanes >= 2 * F::kLanes) {
    if (lanes >= kLanes) {
      const hn::CappedTag<typename F::Lane, kLanes> d;
      const size_t last = (lanes - kLanes) * F::kLaneBytes;
      const auto head = reduce_vector<Op, E>(d, a, b);
      const auto tail = reduce_vector<Op, E>(d, a + last, b + last);
      (F::store(d, head, dst), ...);
      (F::store(d, tail, dst + last), ...);
    } else {
      reduce_few<Op, E, kLanes / 2>(lanes, a, b, dst...);
    }
  } else {
    if (lanes != 0) reduce_one<Op, E>(a, b, dst...);
  }
}

// The first and the last vector are computed first and stored last. Between them runs a loop whose stores are aligned. Where
// stores overlap, they write the same values, computed before anything was overwritten.
template <copse_op Op, class E, class... Dst>
HWY_INLINE void reduce_vectors(size_t count, const Bytes* a, const Bytes* b, Bytes* dst0, Dst*... dst) {
  using F = Format<E>;
  const hn::ScalableTag<typename F::Lane> d;
  constexpr size_t kWidth = hn::MaxLanes(d);
  constexpr size_t kStep = kWidth * F::kLaneBytes;
  const size_t lanes = count * F::kLanes;
  if (lanes < kWidth) {
    reduce_few<Op, E, kWidth / 2>(lanes, a, b, dst0, dst...);
    return;
  }
  const auto head = reduce_vector<Op, E>(d, a, b);
  const size_t last = (lanes - kWidth) * F::kLaneBytes;
  const auto tail = reduce_vector<Op, E>(d, a + last, b + last);
  const auto step = [&](size_t i) HWY_ATTR {
    const auto v = reduce_vector<Op, E>(d, a + i, b + i);
    F::store(d, v, dst0 + i);
    (F::store(d, v, dst + i), ...);
  };
  // The step from the first vector to the next aligned address, in whole elements. (These may leave it unaligned.)
  constexpr size_t kElement = F::kLanes * F::kLaneBytes;
  size_t i = (kStep - reinterpret_cast<uintptr_t>(dst0) % kStep) / kElement * kElement;
  for (; i + 4 * kStep <= last; i += 4 * kStep) {
    step(i);
    step(i + kStep);
    step(i + 2 * kStep);
    step(i + 3 * kStep);
  }
  for (; i < last; i += kStep) step(i);
  F::store(d, head, dst0);
  (F::store(d, head, dst), ...);
  F::store(d, tail, dst0 + last);
  (F::store(d, tail, dst + last), ...);
}

template <copse_op Op, class E, class... Dst>
HWY_INLINE void reduce_array(size_t count, const Bytes* a, const Bytes* b, Dst*... dst) {
  if constexpr (Format<E>::kVectorised) {
    if (count == 1) {
      reduce_one<Op, E>(a, b, dst...);
    } else {
      reduce_vectors<Op, E>(count, a, b, dst...);
    }
  } else {
    for (size_t i = 0; i < count * sizeof(E); i += sizeof(E)) reduce_one<Op, E>(a + i, b + i, (dst + i)...);
  }
}

template <copse_op Op, class E>
void reduce(void* dst, const void* a, const void* b, size_t count) {
  reduce_array<Op, E>(count, static_cast<const Bytes*>(a), static_cast<const Bytes*>(b), static_cast<Bytes*>(dst));
}

template <copse_op Op, class E>
void reduce_two(void* dst0, void* dst1, const void* a, const void* b, size_t count) {
  reduce_array<Op, E>(count, static_cast<const Bytes*>(a), static_cast<const Bytes*>(b), static_cast<Bytes*>(dst0),
                      static_cast<Bytes*>(dst1));
}

template <copse_type Type, copse_op Op>
constexpr Entry entry() {
  if constexpr (defines(Element<Type>::type_class, Op)) {
    using E = typename Representative<Op, typename Element<Type>::type>::type;
    return {&reduce<Op, E>, &reduce_two<Op, E>};
  } else {
    return {};
  }
}

template <copse_type Type, bool kIntegers, size_t... kOps>
constexpr std::array<Entry, COPSE_OP_COUNT> row(std::index_sequence<kOps...>) {
  if constexpr (in_integer_table(Element<Type>::type_class) == kIntegers) {
    return {entry<Type, static_cast<copse_op>(kOps)>()...};
  } else {
    return {};
  }
}

template <bool kIntegers, size_t... kTypes>
constexpr Table table(std::index_sequence<kTypes...>) {
  return {row<static_cast<copse_type>(kTypes), kIntegers>(std::make_index_sequence<COPSE_OP_COUNT>())...};
}

template <bool kIntegers>
const Table* table() {
  static constexpr Table kTable = table<kIntegers>(std::make_index_sequence<COPSE_TYPE_COUNT>());
  return &kTable;
}

}  // namespace
}  // namespace copse::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
