// Tests the value model and the order of accesses by themselves.
#include <gtest/gtest.h>

#include "analysis/order.hpp"
#include "analysis/value.hpp"

namespace copse::analysis {
namespace {

TEST(Values, EqualExpressionsAreOneAndBracketsMatter) {
  Values values(3, 1);
  const auto a = values.contribution(0, 0), b = values.contribution(0, 1), c = values.contribution(0, 2);
  EXPECT_EQ(values.combine(a, b), values.combine(a, b));
  EXPECT_NE(values.combine(a, b), values.combine(b, a));
  const auto left = values.combine(values.combine(a, b), c), right = values.combine(a, values.combine(b, c));
  EXPECT_NE(left, right);
  EXPECT_TRUE(values.complete(left, 0, 2) && values.in_order(left));
  EXPECT_TRUE(values.complete(right, 0, 2) && values.in_order(right));
  EXPECT_EQ(values.text(left), "((0.0 + 0.1) + 0.2)");
}

TEST(Values, MissingDoubledForeignAndSwappedContributionsAreSeen) {
  Values values(2, 2);
  const auto a = values.contribution(0, 0), b = values.contribution(0, 1), old = values.contribution(1, 1);
  EXPECT_FALSE(values.complete(a, 0, 1));
  EXPECT_FALSE(values.complete(values.combine(a, a), 0, 1));
  EXPECT_FALSE(values.complete(values.combine(values.combine(a, b), b), 0, 1));
  EXPECT_FALSE(values.complete(values.combine(a, old), 0, 1));
  EXPECT_FALSE(values.complete(values.combine(a, b), 1, 1));
  EXPECT_TRUE(values.complete(values.combine(b, a), 0, 1));
  EXPECT_FALSE(values.in_order(values.combine(b, a)));
  EXPECT_EQ(values.combine(a, Values::kNothing), Values::kNothing);
}

TEST(Order, AccessesConflictUntilASignalOrdersThem) {
  Clocks clocks(3);
  AccessOrder order(clocks);
  Accesses word;
  clocks.tick(0);
  EXPECT_FALSE(order.write(0, word));
  clocks.tick(1);
  ASSERT_TRUE(order.read(1, word));
  EXPECT_EQ(order.read(1, word)->rank, 0);
  EXPECT_TRUE(clocks.join(1, clocks.signal(0)));
  EXPECT_FALSE(clocks.join(1, clocks.signal(0)));
  clocks.tick(1);
  EXPECT_FALSE(order.read(1, word));
  // Two readers need no order between them, but a writer must come after both.
  clocks.join(2, clocks.signal(0));
  clocks.tick(2);
  EXPECT_FALSE(order.read(2, word));
  clocks.join(0, clocks.signal(1));
  clocks.tick(0);
  ASSERT_TRUE(order.conflict_of_write(0, word));
  EXPECT_EQ(order.conflict_of_write(0, word)->rank, 2);
  clocks.join(0, clocks.signal(2));
  EXPECT_FALSE(order.write(0, word));
}

TEST(Order, SignalsAreCountedAlongChains) {
  Clocks clocks(3);
  EXPECT_EQ(clocks.depth(), 0);
  clocks.tick(0);
  const Signal first = clocks.signal(0);
  clocks.tick(1);
  static_cast<void>(clocks.signal(1));  // beside it, not after it
  clocks.join(1, first);
  EXPECT_EQ(clocks.depth(), 1);
  clocks.tick(1);
  const Signal second = clocks.signal(1);
  clocks.join(2, second);
  EXPECT_FALSE(clocks.join(2, first)) << "known through the other";
  EXPECT_EQ(clocks.depth(), 2);
}

TEST(Order, SnapshotsGivenBackAreUsedAgain) {
  Clocks clocks(2);
  clocks.tick(0);
  const Signal old = clocks.signal(0);
  clocks.release(old);
  clocks.tick(0);
  const Signal fresh = clocks.signal(0);
  EXPECT_EQ(fresh.snapshot, old.snapshot);
  EXPECT_TRUE(clocks.join(1, fresh));
  EXPECT_TRUE(clocks.knows(1, clocks.now(0)));
}

TEST(Order, ManyReadersAreAllRemembered) {
  constexpr int kReaders = 40;
  Clocks clocks(kReaders + 1);
  AccessOrder order(clocks);
  Accesses word;
  for (int reader = 1; reader <= kReaders; ++reader) {
    clocks.tick(reader);
    EXPECT_FALSE(order.read(reader, word));
  }
  clocks.tick(0);
  for (int reader = 1; reader <= kReaders; ++reader) {
    EXPECT_TRUE(order.conflict_of_write(0, word)) << reader;
    clocks.join(0, clocks.signal(reader));
  }
  EXPECT_FALSE(order.write(0, word));
}

}  // namespace
}  // namespace copse::analysis
