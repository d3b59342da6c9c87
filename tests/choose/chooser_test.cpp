// How measured costs change the defaults.
#include <gtest/gtest.h>

#include <cstddef>

#include "choose/chooser.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;
using choose::CopyCosts;
using plan::Carrier;

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr CopyCosts kDearKernel{0.07F, 0.03F, 0.19F}, kDearSlots{0.2F, 0.09F, 0.13F};

choose::Decision decide(Collective collective, const CopyCosts& costs, int ranks = 2) {
  choose::Situation situation;
  situation.ranks = ranks;
  situation.addressable = situation.anywhere = true;
  situation.costs = costs;
  return choose::choose({}, situation, collective, kMiB, {});
}

TEST(Chooser, TheKernelCopiesWhereThatIsCheaper) {
  for (const Collective collective : {Collective::broadcast, Collective::allreduce, Collective::gather, Collective::scatter,
                                      Collective::allgather, Collective::alltoall}) {
    EXPECT_EQ(decide(collective, kDearKernel).carrier, Carrier::slot) << algorithms::name_of(collective);
    EXPECT_NE(decide(collective, kDearSlots).carrier, Carrier::slot) << algorithms::name_of(collective);
    EXPECT_NE(decide(collective, {}).carrier, Carrier::slot) << algorithms::name_of(collective) << ", not measured";
  }
}

TEST(Chooser, TwoRanksExchangeThroughSlotsUnlessTheyTakeTurns) {
  choose::Situation situation;
  situation.ranks = 2;
  const auto allreduce = [&](std::size_t bytes) {
    return choose::choose({}, situation, Collective::allreduce, bytes, {}).algorithm->name;
  };
  EXPECT_EQ(allreduce(kMiB), "exchange");
  EXPECT_EQ(allreduce(4 * kMiB), "tiled");
  situation.oversubscribed = true;
  EXPECT_EQ(allreduce(kMiB), "tiled");
}

// The order of a sum depends on how the message is cut. So measurements must not change results from run to run.
TEST(Chooser, SumsOfManyRanksDoNotDependOnCosts) {
  for (const Collective collective : {Collective::reduce, Collective::allreduce, Collective::scan})
    for (const int ranks : {3, 4, 8, 64}) {
      const choose::Decision one = decide(collective, kDearKernel, ranks), other = decide(collective, kDearSlots, ranks);
      EXPECT_EQ(one.algorithm, other.algorithm);
      EXPECT_EQ(one.carrier, other.carrier);
      EXPECT_EQ(one.fragment_bytes, other.fragment_bytes);
    }
  for (const int ranks : {3, 4, 8, 64})  // a block's sum is never cut, whatever carries it
    EXPECT_EQ(decide(Collective::reduce_scatter, kDearKernel, ranks).algorithm,
              decide(Collective::reduce_scatter, kDearSlots, ranks).algorithm);
}

TEST(Chooser, MessagesOfUnknownSizesTravelWithASignalWhereTheKernelIsDear) {
  choose::Situation situation;
  situation.ranks = 2;
  situation.addressable = situation.anywhere = true;
  situation.costs = kDearSlots;
  EXPECT_EQ(choose::without_sizes({}, situation, Collective::gather)->ride_bytes, 16 * 1024);
  situation.costs = {1, 1, 1.9F};  // both copies together are slower than the kernel's
  EXPECT_EQ(choose::without_sizes({}, situation, Collective::gather)->ride_bytes, 16 * 1024);
  EXPECT_EQ(decide(Collective::gather, situation.costs, 2).carrier,
            Carrier::slot);  // all know the size: one writes while one reads
  situation.costs = kDearKernel;
  EXPECT_EQ(choose::without_sizes({}, situation, Collective::gather)->ride_bytes, 64 * 1024);
  EXPECT_EQ(choose::without_sizes({}, situation, Collective::scatter)->ride_bytes, 2 * 64 * 1024);
  situation.direct = true;
  EXPECT_EQ(choose::without_sizes({}, situation, Collective::gather)->ride_bytes, 1024);
}

TEST(Chooser, ManyRanksThatTakeTurnsReduceThroughSlots) {
  choose::Situation situation;
  situation.addressable = situation.anywhere = situation.direct = situation.oversubscribed = true;
  for (const int ranks : {8, 16}) {
    situation.ranks = ranks;
    const choose::Decision d = choose::choose({}, situation, Collective::reduce, kMiB, {});
    EXPECT_EQ(d.carrier, ranks == 8 ? Carrier::put : Carrier::slot);
    EXPECT_EQ(d.algorithm->name, ranks == 8 ? "tiled" : "hierarchical");
  }
}

// Without synchronisation a broadcast must only copy: `shared`, which is fastest with it, makes ranks wait for one another.
TEST(Chooser, RanksThatNeedNotWaitTakeFromTheRoot) {
  choose::Situation situation;
  situation.ranks = 4;
  situation.addressable = situation.anywhere = situation.direct = true;
  const auto broadcast = [&](choose::Needs needs) { return choose::choose({}, situation, Collective::broadcast, kMiB, needs); };
  const choose::Needs waits, copies{.placed = true, .early = true};
  EXPECT_EQ(broadcast(copies).algorithm->name, "flat");
  EXPECT_EQ(broadcast(copies).carrier, Carrier::get);
  EXPECT_NE(broadcast(waits).algorithm->name, "flat");
  situation.numa = true;  // a far memory is read once
  EXPECT_EQ(broadcast(copies).algorithm, broadcast(waits).algorithm);
}

}  // namespace
}  // namespace copse::test
