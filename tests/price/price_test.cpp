// Prices: what they consist of, what taking turns costs, and that every algorithm has one.
#include "price/price.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "questions.hpp"

namespace copse::price {
namespace {

using algorithms::Collective;
using plan::Carrier;

TEST(Price, PartsAddUpToTheWhole) {
  const Parameters epyc = parameters_of("epyc");
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{65536}}) {
    const Price found = price(question_of(epyc, Collective::allreduce, "tiled_hierarchical", Carrier::get, bytes, 24), epyc);
    double sum = 0;
    for (const auto& share : found.shares()) sum += share.ns;
    EXPECT_NEAR(sum, found.ns, 1e-6 * found.ns);
    ASSERT_FALSE(found.path.empty());
    for (std::size_t i = 1; i < found.path.size(); ++i) EXPECT_NEAR(found.path[i].from, found.path[i - 1].to, 1e-6) << i;
  }
}

TEST(Price, CallsOverlap) {
  const Parameters grace = parameters_of("grace");
  Question question = question_of(grace, Collective::broadcast, "chain", Carrier::slot, 4096, 16);
  const double alone = price(question, grace).ns;
  question.calls = 20;
  EXPECT_LT(price(question, grace).ns, alone / 4)
      << "the root of a chain has begun the next call long before the last rank has the message";
}

TEST(Price, RanksThatShareAProcessorTakeTurns) {
  Parameters machine = parameters_of("grace");
  machine.machine = topology::Machine::from("core:2 pu:1");
  machine.steps.turn_ns = 1000;
  const auto barrier = [&](int ranks) {
    return price(question_of(machine, Collective::barrier, "dissemination", Carrier::line, 0, ranks), machine).ns;
  };
  EXPECT_LT(barrier(2), 500) << "everybody has a processor";
  EXPECT_GT(barrier(8), 3000) << "on each processor four ranks have a turn at least, one after the other";
  EXPECT_LT(barrier(8), 20000);
}

TEST(Price, EveryAlgorithmHasOne) {
  for (const char* name : {"westmere", "epyc"}) {
    const Parameters machine = parameters_of(name);
    for (const algorithms::Algorithm& row : algorithms::all()) {
      for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
        if (!row.carries(static_cast<Carrier>(carrier))) continue;
        for (const int nodes : {1, 2}) {
          Question question = question_of(machine, row.collective, row.name, static_cast<Carrier>(carrier), 64, 12, nodes);
          question.reach = Reach::kernel;
          question.calls = 2;
          const double ns = price(question, machine).ns;
          EXPECT_TRUE(std::isfinite(ns) && ns > 0) << question.variant.name() << ": " << ns;
        }
      }
    }
  }
}

// A rank that drains or collects has waited for ranks of other nodes. What it does next begins behind that.
TEST(Price, TimeGoesForwardBetweenNodes) {
  const Parameters machine = parameters_of("westmere");
  for (const algorithms::Algorithm& row : algorithms::all()) {
    if (!row.carries(Carrier::slot)) continue;
    for (const int nodes : {2, 3}) {
      Question question = question_of(machine, row.collective, row.name, Carrier::slot, 256 * 1024, 6, nodes);
      if (row.fragments) question.fragment_bytes = 64 * 1024;
      question.calls = 2;
      const Price found = price(question, machine);
      EXPECT_TRUE(std::isfinite(found.ns) && found.ns > 0) << question.variant.name() << ": " << found.ns;
      for (std::size_t i = 1; i < found.path.size(); ++i)
        ASSERT_NEAR(found.path[i].from, found.path[i - 1].to, 1e-6 * found.path[i].to) << question.variant.name() << ", " << i;
    }
  }
}

// The parts of a message go as one: what their number adds is packing.
TEST(Price, PartsOfAMessageAreOneMessage) {
  Parameters machine = parameters_of("westmere");
  const auto price_with = [&](double overhead) {
    machine.network->overhead_ns = overhead;
    return price(question_of(machine, Collective::alltoall, "hierarchical", Carrier::slot, 64, 16, 2), machine).ns;
  };
  const double difference = price_with(1e6) - price_with(0);
  EXPECT_LT(difference, 4e6) << "one message each way between the leaders, each with an overhead on both sides";
  EXPECT_GT(difference, 1e6);
}

// Messages of a node go over its network in the order of time, in whatever order the walk looks at the ranks. If they did not,
// messages of a line would wait for those of later rounds.
TEST(Price, MessagesGoInTheOrderOfTime) {
  const Parameters machine = parameters_of("juropa");
  const auto allreduce = [&](std::size_t bytes) {
    Question question = question_of(machine, Collective::allreduce, "recursive_doubling", Carrier::line, bytes, 64, 8);
    question.calls = 3;
    return price(question, machine).ns;
  };
  const double eight = allreduce(8);
  EXPECT_LE(eight, allreduce(72));
  EXPECT_LE(allreduce(72), 1.1 * eight);
}

TEST(Price, SaysWhatTheMachineLacks) {
  Parameters machine = parameters_of("epyc");
  machine.network.reset();
  const Question apart = question_of(machine, Collective::broadcast, "flat", Carrier::slot, 64, 8, 2);
  EXPECT_THROW(static_cast<void>(price(apart, machine)), std::invalid_argument);
  machine.kernel.reset();
  Question far = question_of(machine, Collective::broadcast, "flat", Carrier::get, 64, 8);
  far.reach = Reach::kernel;
  EXPECT_THROW(static_cast<void>(price(far, machine)), std::invalid_argument);
}

}  // namespace
}  // namespace copse::price
