// Folds of every type and operator, compared with the elements combined one after the other by the slow reference.
#include <gtest/gtest.h>

#include <cstring>
#include <type_traits>
#include <vector>

#include "engine/kernels/elements.hpp"
#include "engine/kernels/fold.hpp"
#include "engine/kernels/kernels.hpp"
#include "reference.hpp"

namespace copse::kernels {
namespace {

using Bytes = std::vector<unsigned char>;

bool is_logical(copse_op op) { return op == COPSE_LAND || op == COPSE_LOR; }

// Small whole numbers, so that sums and products of floating types are exact in every order.
template <class E>
E element(copse_op op, std::size_t i) {
  if (op == COPSE_PROD) return static_cast<E>(i % 97 == 0 ? 2 : 1);
  if (op == COPSE_LAND) return static_cast<E>(i % 300 != 299);
  if (op == COPSE_LOR) return static_cast<E>(i % 300 == 299);
  return static_cast<E>((i * 37 + 11) % 101);
}

template <class E>
E one_step(copse_op op, copse_type type, E a, E b) {
  if (std::is_floating_point_v<E> && is_logical(op)) return op == COPSE_LAND ? a != 0 && b != 0 : a != 0 || b != 0;
  E result;
  reference::compute(op, type, &a, &b, &result);
  return result;
}

template <class E>
void check(copse_op op, copse_type type) {
  const FoldPair kernels = fold_kernels(op, type);
  for (const std::size_t count : {1, 2, 3, 15, 31, 32, 63, 64, 65, 127, 128, 255, 256, 257, 1000, 1025})
    for (const std::size_t offset : {0, 1}) {  // the second is not aligned
      Bytes array(count * sizeof(E) + 1), results(count * sizeof(E) + 1), result(sizeof(E) + 1);
      std::vector<E> expected(count), continued(count);
      const E before = element<E>(op, 5);
      for (std::size_t i = 0; i < count; ++i) {
        const E value = element<E>(op, i);
        std::memcpy(array.data() + offset + i * sizeof(E), &value, sizeof value);
        expected[i] = i == 0 ? value : one_step<E>(op, type, expected[i - 1], value);
        continued[i] = one_step<E>(op, type, i == 0 ? before : continued[i - 1], value);
      }
      const auto found = [&](const Bytes& bytes, std::size_t i) {
        E value;
        std::memcpy(&value, bytes.data() + offset + i * sizeof(E), sizeof value);
        return value;
      };
      const std::string what = std::string(op_name(op)) + " of " + std::to_string(count) + " " + type_name(type);
      kernels.all(result.data() + offset, array.data() + offset, count);
      EXPECT_EQ(found(result, 0), expected.back()) << what;
      kernels.running(results.data() + offset, array.data() + offset, count, &before);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found(results, i), continued[i]) << what << ", continued, element " << i;
      kernels.running(array.data() + offset, array.data() + offset, count, nullptr);  // in place
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(found(array, i), expected[i]) << what << ", element " << i;
    }
}

template <copse_type Type>
int check_type() {
  using E = typename Element<Type>::type;
  int defined_here = 0;
  for (int number = 0; number < COPSE_OP_COUNT; ++number) {
    const auto op = static_cast<copse_op>(number);
    const bool has = fold_kernels(op, Type).all != nullptr;
    EXPECT_EQ(has, fold_kernels(op, Type).running != nullptr);
    if (!has) continue;
    ++defined_here;
    if constexpr (std::is_arithmetic_v<E>) check<E>(op, Type);
  }
  return defined_here;
}

TEST(Fold, EveryTypeAndOperator) {
#define CHECK_TYPE(name, c_type, type_class)                                             \
  EXPECT_EQ(check_type<COPSE_##name>(), TypeClass::type_class == TypeClass::INTEGER ? 9  \
                                        : std::is_floating_point_v<c_type>          ? 6  \
                                                                                    : 0) \
      << #name;
  COPSE_TYPES(CHECK_TYPE)
#undef CHECK_TYPE
  EXPECT_EQ(fold_kernels(COPSE_OP_COUNT, COPSE_INT32).all, nullptr);
  EXPECT_EQ(fold_kernels(COPSE_SUM, COPSE_TYPE_COUNT).all, nullptr);
}

}  // namespace
}  // namespace copse::kernels
