// Compares every type and operator, on every instruction set of this processor, with the slow reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/kernels/targets.hpp"
#include "hwy/highway.h"
#include "reference.hpp"

namespace copse::kernels {
namespace {

constexpr std::size_t kLongest = 1100;
constexpr unsigned char kCanary = 0xA5;
constexpr std::size_t kGuard = 64;

std::vector<std::size_t> counts() {
  std::vector<std::size_t> result;
  for (std::size_t n = 0; n <= 67; ++n) result.push_back(n);
  for (std::size_t n : {95, 127, 128, 129, 191, 255, 256, 257, 321, 511, 512, 513, 1023, 1024, 1025, 1100}) result.push_back(n);
  return result;
}

// An array at a chosen distance from a 64-byte boundary, with guards around it.
class Array {
 public:
  Array(std::size_t bytes, std::size_t offset) : bytes_(bytes), storage_(bytes + 2 * kGuard + 64 + offset, kCanary) {
    const std::size_t misalignment = reinterpret_cast<uintptr_t>(storage_.data()) % 64;
    start_ = (misalignment ? 64 - misalignment : 0) + kGuard + offset;
    start_ = std::min(start_, storage_.size() - bytes - kGuard);
  }
  unsigned char* data() { return storage_.data() + start_; }
  bool guards_intact() const {
    const auto intact = [](unsigned char byte) { return byte == kCanary; };
    const auto start = storage_.begin() + static_cast<std::ptrdiff_t>(start_);
    return std::all_of(storage_.begin(), start, intact) &&
           std::all_of(start + static_cast<std::ptrdiff_t>(bytes_), storage_.end(), intact);
  }

 private:
  std::size_t bytes_;
  std::vector<unsigned char> storage_;
  std::size_t start_ = 0;
};

struct Alias {
  const char* what;
  int dst0;  // 0: its own array, 1: a, 2: b
  int dst1;  // like dst0; -1: only one destination
  bool same_operands;
};
constexpr Alias kAliases[] = {
    {"separate", 0, -1, false}, {"dst=a", 1, -1, false},       {"dst=b", 2, -1, false},        {"a=b", 0, -1, true},
    {"dst=a=b", 1, -1, true},   {"two separate", 0, 0, false}, {"dst0=a dst1=b", 1, 2, false}, {"dst0=b dst1=a", 2, 1, false},
    {"dst0=a", 1, 0, false},    {"dst1=a", 0, 1, false},       {"dst0=dst1=a", 1, 1, false},   {"dst0=a=b", 1, 0, true},
};

struct Offsets {
  std::size_t a, b, dst0, dst1;
};

class EveryTarget : public testing::TestWithParam<int64_t> {
 protected:
  void SetUp() override { usable_targets = GetParam(); }
  void TearDown() override { usable_targets = all_; }

 private:
  const std::int64_t all_ = usable_targets;
};

void check_kernel(copse_op op, copse_type type) {
  const reference::Description description = reference::describe(type);
  const std::size_t size = description.size;
  uint64_t state = 1000u * static_cast<unsigned>(type) + static_cast<unsigned>(op);
  std::vector<unsigned char> a(kLongest * size), b(a), ab(a), aa(a);
  for (std::size_t i = 0; i < kLongest; ++i) {
    reference::randomise(type, &a[i * size], state);
    reference::randomise(type, &b[i * size], state);
    if (i % 5 == 0) std::memcpy(&b[i * size], &a[i * size], description.parts[0].size);  // equal, or tied values
    reference::compute(op, type, &a[i * size], &b[i * size], &ab[i * size]);
    reference::compute(op, type, &a[i * size], &a[i * size], &aa[i * size]);
  }
  const Reduce reduce = reduce_kernel(op, type);
  const ReduceTwo reduce_two = reduce_two_kernel(op, type);
  ASSERT_NE(reduce, nullptr);
  ASSERT_NE(reduce_two, nullptr);

  const Offsets placements[] = {{0, 0, 0, 0}, {size, 0, 2 * size, size}, {0, size, 64 - size % 64, 0}, {1, 2, 3, 5}};
  for (const Offsets& offset : placements) {
    for (const Alias& alias : kAliases) {
      for (const std::size_t n : counts()) {
        Array in_a(n * size, offset.a), in_b(n * size, offset.b);
        Array out0(n * size, offset.dst0), out1(n * size, offset.dst1);
        if (n != 0) std::memcpy(in_a.data(), a.data(), n * size);
        if (n != 0) std::memcpy(in_b.data(), b.data(), n * size);
        Array& second = alias.same_operands ? in_a : in_b;
        Array* const by_number[] = {nullptr, &in_a, &in_b};
        Array& dst0 = alias.dst0 == 0 ? out0 : *by_number[alias.dst0];
        Array& dst1 = alias.dst1 <= 0 ? out1 : *by_number[alias.dst1];
        if (alias.dst1 < 0) {
          reduce(dst0.data(), in_a.data(), second.data(), n);
        } else {
          reduce_two(dst0.data(), dst1.data(), in_a.data(), second.data(), n);
        }
        const std::string where = std::string(op_name(op)) + " of " + type_name(type) + ", " + alias.what + ", count " +
                                  std::to_string(n) + ", offset " + std::to_string(offset.dst0);
        const auto& expected = alias.same_operands ? aa : ab;
        const auto exact = [&](Array& dst) { return n == 0 || std::memcmp(dst.data(), expected.data(), n * size) == 0; };
        for (std::size_t i = 0; i < n; ++i) {
          if (i == 0 && exact(dst0) && (alias.dst1 < 0 || exact(dst1))) break;  // else compare values: NaN, padding
          for (const reference::Part& part : description.parts) {
            ASSERT_TRUE(reference::same(part, &expected[i * size], dst0.data() + i * size))
                << where << ", element " << i << ": " << reference::show(type, &a[i * size]) << "with "
                << reference::show(type, &(alias.same_operands ? a : b)[i * size]) << "gave "
                << reference::show(type, dst0.data() + i * size) << "not " << reference::show(type, &expected[i * size]);
            if (alias.dst1 >= 0) {
              ASSERT_TRUE(reference::same(part, &expected[i * size], dst1.data() + i * size)) << where << ", dst1, element " << i;
            }
          }
        }
        for (Array* input : {&in_a, &in_b}) {
          if (n == 0 || input == &dst0 || (alias.dst1 >= 0 && input == &dst1)) continue;
          ASSERT_EQ(std::memcmp(input->data(), (input == &in_a ? a : b).data(), n * size), 0) << where << ": operand changed";
        }
        for (Array* array : {&in_a, &in_b, &out0, &out1}) ASSERT_TRUE(array->guards_intact()) << where;
      }
    }
  }
}

TEST_P(EveryTarget, AgreesWithTheReference) {
  for (int type = 0; type < COPSE_TYPE_COUNT; ++type) {
    for (int op = 0; op < COPSE_OP_COUNT; ++op) {
      if (reference::defined(static_cast<copse_op>(op), static_cast<copse_type>(type))) {
        check_kernel(static_cast<copse_op>(op), static_cast<copse_type>(type));
        if (HasFatalFailure()) return;
      }
    }
  }
}

template <class T>
T reduced(copse_op op, copse_type type, T a, T b) {
  // The arrays are long enough for the scalar, the short and the long vector paths, and all must agree.
  T result{};
  for (const std::size_t n : {1, 3, 300}) {
    const std::vector<T> as(n, a), bs(n, b);
    std::vector<T> out(n);
    reduce_kernel(op, type)(out.data(), as.data(), bs.data(), n);
    if (n == 1) result = out[0];
    for (const T& x : out) EXPECT_EQ(std::memcmp(&x, &result, sizeof(T)), 0);
  }
  return result;
}

TEST_P(EveryTarget, MinimumWithNanIsTheSecondOperand) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reduced(COPSE_MIN, COPSE_DOUBLE, nan, 1.0), 1.0);
  EXPECT_TRUE(std::isnan(reduced(COPSE_MIN, COPSE_DOUBLE, 1.0, nan)));
  EXPECT_EQ(reduced(COPSE_MAX, COPSE_FLOAT, static_cast<float>(nan), 1.0f), 1.0f);
  EXPECT_TRUE(std::isnan(reduced(COPSE_MAX, COPSE_FLOAT, 1.0f, static_cast<float>(nan))));
  EXPECT_TRUE(std::signbit(reduced(COPSE_MAX, COPSE_DOUBLE, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(reduced(COPSE_MIN, COPSE_DOUBLE, -0.0, 0.0)));
}

TEST_P(EveryTarget, OverflowWrapsOrBecomesInfinite) {
  EXPECT_EQ(reduced<int32_t>(COPSE_SUM, COPSE_INT32, INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(reduced<int64_t>(COPSE_PROD, COPSE_INT64, INT64_MIN, -1), INT64_MIN);
  EXPECT_EQ(reduced<uint16_t>(COPSE_PROD, COPSE_UINT16, 65535, 65535), 1);
  EXPECT_EQ(reduced<int8_t>(COPSE_PROD, COPSE_INT8, 100, -3), -44);
  EXPECT_EQ(reduced<double>(COPSE_PROD, COPSE_DOUBLE, 1e200, -1e200), -INFINITY);
  EXPECT_EQ(reduced<uint16_t>(COPSE_SUM, COPSE_FLOAT16, 0x7BFF, 0x7BFF), 0x7C00);   // 65504 + 65504
  EXPECT_EQ(reduced<uint16_t>(COPSE_SUM, COPSE_FLOAT16, 0x6800, 0x3C00), 0x6800);   // 2048 + 1: a tie, to even
  EXPECT_EQ(reduced<uint16_t>(COPSE_SUM, COPSE_BFLOAT16, 0x4380, 0x3F80), 0x4380);  // 256 + 1: a tie, to even
  EXPECT_EQ(reduced<uint16_t>(COPSE_SUM, COPSE_BFLOAT16, 0x7F7F, 0x7F7F), 0x7F80);
}

TEST_P(EveryTarget, TiesGoToTheLowerIndex) {
  struct Located {
    double value;
    int index;
    int padding;
  };
  const Located seven{2.5, 7, 0}, minus{2.5, -3, 0}, lower{2.0, 9, 0};
  EXPECT_EQ(reduced(COPSE_MINLOC, COPSE_DOUBLE_INT, seven, minus).index, -3);
  EXPECT_EQ(reduced(COPSE_MAXLOC, COPSE_DOUBLE_INT, minus, seven).index, -3);
  EXPECT_EQ(reduced(COPSE_MINLOC, COPSE_DOUBLE_INT, seven, lower).index, 9);
  EXPECT_EQ(reduced(COPSE_MAXLOC, COPSE_DOUBLE_INT, lower, seven).index, 7);
}

TEST_P(EveryTarget, PaddingOfPairsIsCarriedButIgnored) {
  struct Located {
    short value;
    unsigned short padding;
    int index;
  };
  const auto choose = [](Located a, Located b) { return reduced(COPSE_MINLOC, COPSE_SHORT_INT, a, b).index; };
  EXPECT_EQ(reduced(COPSE_MINLOC, COPSE_SHORT_INT, Located{4, 0xFFFF, 2}, Located{5, 0, 1}).padding, 0xFFFF);
  EXPECT_EQ(choose({5, 0xFFFF, 2}, {5, 0, 1}), 1);
  EXPECT_EQ(choose({5, 0, 2}, {5, 0xFFFF, 1}), 1);
  EXPECT_EQ(choose({4, 0xFFFF, 2}, {5, 0, 1}), 2);
}

TEST_P(EveryTarget, ComplexProduct) {
  struct Number {
    float real, imaginary;
  };
  const Number product = reduced(COPSE_PROD, COPSE_COMPLEX_FLOAT, Number{1, 2}, Number{3, 4});
  EXPECT_EQ(product.real, -5);
  EXPECT_EQ(product.imaginary, 10);
}

INSTANTIATE_TEST_SUITE_P(Target, EveryTarget, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return std::string(hwy::TargetName(target.param)); });

TEST(Targets, TheyAreNotAllTheSameCode) {
  const std::int64_t all = usable_targets;
  std::vector<Reduce> kernels;
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    usable_targets = target;
    for (const Reduce other : kernels) EXPECT_NE(reduce_kernel(COPSE_SUM, COPSE_DOUBLE), other);
    kernels.push_back(reduce_kernel(COPSE_SUM, COPSE_DOUBLE));
  }
  usable_targets = all;
}

TEST(Targets, AreThoseThatHighwayFinds) {
  const std::int64_t dynamic = HWY_TARGETS & ~HWY_STATIC_TARGET;  // the fallback is always there
  EXPECT_EQ(usable_targets & dynamic, hwy::SupportedTargets() & dynamic);
}

TEST(Pairs, OnlyThoseThatMpiDefines) {
  int defined = 0;
  for (int type = 0; type < COPSE_TYPE_COUNT; ++type) {
    for (int op = 0; op < COPSE_OP_COUNT; ++op) {
      const bool expected = reference::defined(static_cast<copse_op>(op), static_cast<copse_type>(type));
      EXPECT_EQ(reduce_kernel(static_cast<copse_op>(op), static_cast<copse_type>(type)) != nullptr, expected);
      EXPECT_EQ(reduce_two_kernel(static_cast<copse_op>(op), static_cast<copse_type>(type)) != nullptr, expected);
      defined += expected;
    }
  }
  EXPECT_EQ(defined, 8 * 10 + 5 * 4 + 4 * 2 + 4 * 3 + 3 + 8 * 2);
  EXPECT_EQ(reduce_kernel(COPSE_OP_COUNT, COPSE_DOUBLE), nullptr);
  EXPECT_EQ(reduce_two_kernel(COPSE_SUM, COPSE_TYPE_COUNT), nullptr);
}

}  // namespace
}  // namespace copse::kernels
