// Conversions of the 16-bit floats, for all their values and all points at which rounding changes.
#include "engine/kernels/half.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "reference.hpp"

namespace copse::kernels {
namespace {

using reference::Kind;

template <class H>
void check_every_value(Kind kind) {
  for (unsigned code = 0; code < 0x10000; ++code) {
    const H half{static_cast<uint16_t>(code)};
    const double expected = reference::decode(kind, half.bits);
    const float wide = widen(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(wide)) << code;
      ASSERT_TRUE(std::isnan(widen(narrow<H>(wide)))) << code;
      continue;
    }
    ASSERT_EQ(static_cast<double>(wide), expected) << code;
    ASSERT_EQ(narrow<H>(wide).bits, half.bits) << code;
    // Values just below, at, and just above the point halfway to the next value.
    const double next = reference::decode(kind, static_cast<uint16_t>(code + 1));
    if (!std::isfinite(expected) || !std::isfinite(next)) continue;
    const float halfway = static_cast<float>((expected + next) / 2);
    for (const float x : {std::nextafter(halfway, -INFINITY), halfway, std::nextafter(halfway, INFINITY)}) {
      ASSERT_EQ(narrow<H>(x).bits, reference::encode(kind, x)) << code << " " << x;
    }
  }
}

TEST(Half, EveryFloat16) { check_every_value<float16>(Kind::kFloat16); }
TEST(Half, EveryBfloat16) { check_every_value<bfloat16>(Kind::kBfloat16); }

TEST(Half, FloatsOfAllSizes) {
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 40503) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(x)) continue;
    ASSERT_EQ(narrow<float16>(x).bits, reference::encode(Kind::kFloat16, x)) << x;
    ASSERT_EQ(narrow<bfloat16>(x).bits, reference::encode(Kind::kBfloat16, x)) << x;
  }
  for (const float x : {65519.996f, 65520.0f, 0x1p-25f, 0x1.000002p-25f, 0x1p-149f, std::numeric_limits<float>::max()}) {
    EXPECT_EQ(narrow<float16>(-x).bits, reference::encode(Kind::kFloat16, -x)) << x;
    EXPECT_EQ(narrow<bfloat16>(-x).bits, reference::encode(Kind::kBfloat16, -x)) << x;
  }
}

}  // namespace
}  // namespace copse::kernels
