// Both copies, at every length around a boundary, write the right bytes and no others.
#include <gtest/gtest.h>

#include <vector>

#include "engine/kernels/kernels.hpp"

namespace copse::kernels {
namespace {

using Copy = void (*)(void*, const void*, std::size_t) noexcept;

void check(Copy function, std::size_t bytes, std::size_t from, std::size_t to) {
  constexpr std::size_t kGuard = 96;  // more than any offset
  std::vector<unsigned char> source(bytes + 2 * kGuard), target(source.size(), 0xEE);
  for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<unsigned char>(i * 131 + i / 256);
  auto expected = target;
  for (std::size_t i = 0; i < bytes; ++i) expected[to + i] = source[from + i];
  const auto before = source;
  function(target.data() + to, source.data() + from, bytes);
  ASSERT_EQ(target, expected) << bytes << " bytes from offset " << from << " to " << to;
  ASSERT_EQ(source, before);
  function(target.data() + to, target.data() + to, bytes);
  ASSERT_EQ(target, expected) << bytes << " bytes onto themselves";
}

class EveryCopy : public testing::TestWithParam<Copy> {};

TEST_P(EveryCopy, EveryShortLength) {
  for (std::size_t bytes = 0; bytes <= 700; ++bytes) {
    for (const std::size_t from : {0, 1, 8, 63}) {
      for (const std::size_t to : {0, 1, 16, 61}) check(GetParam(), bytes, from, to);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(EveryCopy, LongLengths) {
  for (const std::size_t power : {1 << 12, 1 << 13, 1 << 15, 1 << 18, 1 << 20, 3 << 20}) {
    for (const std::size_t bytes : {power - 1, power, power + 1, power + 77}) {
      check(GetParam(), bytes, 0, 0);
      check(GetParam(), bytes, 5, 32);
      check(GetParam(), bytes, 64, 3);
      if (HasFatalFailure()) return;
    }
  }
}

// copy() has two methods, and chooses by the buffers' places within their pages.
TEST_P(EveryCopy, EveryDistanceWithinThePage) {
  for (const std::size_t bytes : {1024, 1025, 2048, 4099, 8192, 70001})
    for (std::size_t distance = 0; distance < 70; ++distance) {
      check(GetParam(), bytes, 70, distance);
      check(GetParam(), bytes, distance, 70);
      if (HasFatalFailure()) return;
    }
}

TEST(SlowPairs, AreThoseWhoseDestinationIsALittleFurtherIntoItsPage) {
  const auto at = [](std::uintptr_t address) { return reinterpret_cast<const void*>(address); };
  EXPECT_TRUE(is_slow_pair(at(0x7010), at(0x3000)));
  EXPECT_TRUE(is_slow_pair(at(0x3001), at(0x7000)));
  EXPECT_TRUE(is_slow_pair(at(0x8005), at(0x3ff0)));
  EXPECT_FALSE(is_slow_pair(at(0x7000), at(0x3000)));
  EXPECT_FALSE(is_slow_pair(at(0x7000), at(0x3010)));
  EXPECT_FALSE(is_slow_pair(at(0x7020), at(0x3000)));
}

INSTANTIATE_TEST_SUITE_P(Copies, EveryCopy, testing::Values(&copy, &copy_streaming));

}  // namespace
}  // namespace copse::kernels
