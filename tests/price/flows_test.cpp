// Flows that share what they pass.
#include "price/flows.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace copse::price {
namespace {

TEST(Flows, OneGoesAtItsOwnRateOrTheResources) {
  Flows flows;
  const std::size_t narrow = flows.add_resource(2), wide = flows.add_resource(100);
  EXPECT_TRUE(std::isinf(flows.next_end()));
  flows.start(10, 1, 100, 5, {wide});
  EXPECT_DOUBLE_EQ(flows.next_end(), 10 + 100 / 5.0);
  EXPECT_EQ(flows.end_next(), 1);
  flows.start(30, 2, 100, 5, {wide, narrow});
  EXPECT_DOUBLE_EQ(flows.next_end(), 30 + 100 / 2.0);
}

TEST(Flows, TheySlowEachOtherDownWhileTheyLast) {
  Flows flows;
  const std::size_t link = flows.add_resource(10);
  flows.start(0, 1, 100, 10, {link});
  flows.start(5, 2, 100, 10, {link});  // 50 of the first are left
  EXPECT_DOUBLE_EQ(flows.next_end(), 15) << "each gets 5 from now on";
  EXPECT_EQ(flows.end_next(), 1);
  EXPECT_DOUBLE_EQ(flows.next_end(), 20) << "the second has 50 left, and the link for itself";
  EXPECT_EQ(flows.end_next(), 2);
  EXPECT_TRUE(flows.empty());
}

TEST(Flows, WhatOneCannotUseOthersGet) {
  Flows flows;
  const std::size_t shared = flows.add_resource(10), narrow = flows.add_resource(1);
  flows.start(0, 1, 10, 100, {shared, narrow});  // 1
  flows.start(0, 2, 30, 3, {shared});            // 3, its own rate
  flows.start(0, 3, 60, 100, {shared});          // the other 6
  for (const int flow : {1, 2, 3}) {
    EXPECT_NEAR(flows.next_end(), 10, 1e-9);
    static_cast<void>(flow);
    flows.end_next();
  }
}

TEST(Flows, AGroupPassesAResourceOnce) {
  Flows flows;
  const std::size_t link = flows.add_resource(6), cache = flows.add_resource(8);
  for (const int flow : {1, 2}) flows.start(0, flow, 40, 10, {cache}, {0, {link}});
  flows.start(0, 3, 20, 10, {}, {1, {link}});
  // The link is for two: 3 for the pair, and 3 for the third flow. Each of the pair has these 3, as the cache has 4 for each.
  EXPECT_NEAR(flows.next_end(), 20 / 3.0, 1e-9);
  EXPECT_EQ(flows.end_next(), 3);
  EXPECT_NEAR(flows.next_end(), 20 / 3.0 + 20 / 4.0, 1e-9) << "now the cache bounds them, and no longer the link";
}

TEST(Flows, TheFastestOfAGroupCounts) {
  Flows flows;
  const std::size_t link = flows.add_resource(10);
  flows.start(0, 1, 8, 2, {}, {0, {link}});
  flows.start(0, 2, 16, 4, {}, {0, {link}});
  flows.start(0, 3, 24, 100, {link});  // what 4 leave
  for (int i = 0; i < 3; ++i) {
    EXPECT_NEAR(flows.next_end(), 4, 1e-9);
    flows.end_next();
  }
}

TEST(Flows, NothingIsMovedAtOnce) {
  Flows flows;
  flows.start(3, 7, 0, 1, {});
  EXPECT_DOUBLE_EQ(flows.next_end(), 3);
  EXPECT_EQ(flows.end_next(), 7);
}

}  // namespace
}  // namespace copse::price
