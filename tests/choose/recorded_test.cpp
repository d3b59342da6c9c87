// The rows of recorded.def as a whole, and which machine gets which.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>

#include "choose/chooser.hpp"
#include "choose/recorded.hpp"
#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::test {
namespace {

using choose::most_like;
using choose::Recorded;
using choose::recorded;
using choose::recorded_rules;
using topology::Machine;

const int kCount = static_cast<int>(recorded().size());

const Recorded& number(int at) { return recorded()[static_cast<std::size_t>(at)]; }

topology::Placement places_on(const Recorded& where, int ranks) {
  return topology::place_block(Machine::from(std::string(where.name)), where.nodes, ranks);
}

std::string name_of(int like) {
  if (like == choose::kLikeNone) return "";
  const Recorded& where = number(like);
  return std::string(where.name) + (where.nodes > 1 ? " x " + std::to_string(where.nodes) : "");
}

std::string name_like(const char* machine, int ranks, int nodes = 1) {
  return name_of(most_like(topology::place_block(Machine::from(machine), nodes, ranks)));
}

TEST(Recorded, AMachineIsLikeItself) {
  for (int at = 0; at < kCount; ++at) {
    const Recorded& where = number(at);
    const int like = most_like(places_on(where, where.nodes * where.cores));
    ASSERT_GE(like, 0) << where.name;
    EXPECT_LE(like, at) << name_of(at) << ": of two that look the same, the first one stands for both";
    EXPECT_EQ(number(like).nodes, where.nodes);
  }
}

TEST(Recorded, EveryMachineIsThere) {
  for (const auto& each : topology::recorded_machines()) {
    const auto is_it = [&](const Recorded& where) { return where.name == each.name && where.nodes == 1; };
    EXPECT_EQ(std::count_if(recorded().begin(), recorded().end(), is_it), 1) << each.name << ": run copse-native price --rows";
  }
}

TEST(Recorded, AnUnknownMachineIsLikeTheNearest) {
  EXPECT_EQ(name_like("package:2 numa:4 l3:2 core:6 pu:1", 96), "epyc");
  EXPECT_EQ(name_like("package:1 numa:1 l3:1 core:60 pu:1", 60), "grace");
  EXPECT_EQ(name_like("package:2 numa:1 l3:1 core:32 pu:1", 64), "xeon-max");
  EXPECT_EQ(name_like("package:1 numa:1 l3:1 core:2 pu:1", 2), "") << "for two ranks there are rules that were measured";
  EXPECT_EQ(name_like("package:2 numa:4 l3:2 core:8 pu:1", 64, 2), "") << "no recorded cluster has so large nodes";
  EXPECT_EQ(name_like("package:2 numa:1 l3:1 core:6 pu:1", 48, 4), "juropa x 4");
  EXPECT_EQ(name_like("package:1 numa:1 l3:1 core:8 pu:1", 64, 8), "grace x 4");
  EXPECT_EQ(name_like("package:1 numa:1 l3:1 core:8 pu:1", 128, 16), "");
  EXPECT_EQ(name_like("package:32 numa:8 l3:1 core:1 pu:1", 256), "") << "like none of them";
  for (const int nodes : {1, 4})
    EXPECT_EQ(name_of(most_like(topology::place_cyclic(Machine::from("juropa"), nodes, 8 * nodes))), "") << "not in blocks";
  topology::Placement unbound = topology::place_block(Machine::from("package:1 numa:1 l3:1 core:60 pu:1"), 1, 32);
  for (std::size_t rank = 0; rank < unbound.size(); ++rank)
    for (const topology::Level level : {topology::Level::l3, topology::Level::l2, topology::Level::core})
      unbound[rank].at(level) = static_cast<std::int32_t>(1000 + rank);
  EXPECT_EQ(name_of(most_like(unbound)), "grace") << "ranks that are bound to a region";
}

// As many ranks as a row is for at least; on several nodes, as many as there are.
topology::Placement places_of(const choose::Rule& rule, int machine) {
  const Recorded& where = number(machine);
  return places_on(where, where.nodes > 1 ? where.nodes * where.cores : static_cast<int>(rule.ranks.from));
}

// A situation in which a row applies, at its first size and number of ranks.
choose::Situation situation_for(const choose::Rule& rule, int machine, const topology::Placement& places) {
  choose::Situation situation;
  situation.ranks = static_cast<int>(places.size());
  situation.places = &places;
  situation.like = machine;
  situation.nodes = number(machine).nodes;
  situation.direct = (rule.with & choose::kLoads) != 0;
  situation.addressable = situation.anywhere = situation.direct || (rule.with & choose::kKernel) != 0;
  return situation;
}

TEST(Recorded, EveryRowDecidesSomething) {
  for (int machine = 0; machine < kCount; ++machine) {
    for (const choose::Rule& rule : recorded_rules(machine)) {
      const auto places = places_of(rule, machine);
      const choose::Situation situation = situation_for(rule, machine, places);
      const auto decision = choose::choose({}, situation, rule.collective, rule.bytes.from, {});
      EXPECT_EQ(decision.rule, &rule) << rule.file << ":" << rule.line << ": " << choose::case_of(rule);
      EXPECT_EQ(decision.carrier, rule.carrier);
      EXPECT_TRUE(choose::is_of_ours(rule));
      choose::Situation turns = situation;
      turns.oversubscribed = true;
      EXPECT_NE(choose::choose({}, turns, rule.collective, rule.bytes.from, {}).rule, &rule) << "ranks that take turns";
    }
  }
}

TEST(Recorded, RowsHavePlans) {
  for (int machine = 0; machine < kCount; ++machine) {
    std::set<std::tuple<int, plan::Carrier, int, std::size_t>> seen;  // algorithm, carrier, radix, ranks
    for (const choose::Rule& rule : recorded_rules(machine)) {
      const auto most = std::min(rule.ranks.to, std::size_t{choose::kTriedRanks});
      for (const std::size_t ranks : {rule.ranks.from, most}) {
        if (!seen.insert({rule.algorithm, rule.carrier, rule.radix, ranks}).second) continue;
        const auto places = places_on(number(machine), static_cast<int>(std::max(ranks, std::size_t(number(machine).nodes))));
        algorithms::Request request;
        request.collective = rule.collective;
        request.ranks = static_cast<int>(places.size());
        request.carrier = rule.carrier;
        request.radix = rule.radix;
        request.places = &places;
        EXPECT_EQ(algorithms::all()[static_cast<std::size_t>(rule.algorithm)].refusal(request), "")
            << rule.file << ":" << rule.line;
      }
    }
  }
}

// What a trial has found about the kernel may change from run to run, and so must not change a sum.
TEST(Recorded, SumsDoNotDependOnCosts) {
  for (int machine = 0; machine < kCount; ++machine) {
    for (const choose::Rule& rule : recorded_rules(machine)) {
      if (!algorithms::traits_of(rule.collective).reduces || (rule.with & choose::kLoads) != 0) continue;
      const auto places = places_of(rule, machine);
      choose::Situation cheap = situation_for(rule, machine, places);
      cheap.addressable = cheap.anywhere = true;
      cheap.costs = {1, 1, 0.1F};
      choose::Situation dear = cheap;
      dear.costs = {1, 1, 10};
      const auto one = choose::choose({}, cheap, rule.collective, rule.bytes.from, {});
      const auto other = choose::choose({}, dear, rule.collective, rule.bytes.from, {});
      EXPECT_EQ(one.algorithm, other.algorithm) << rule.file << ":" << rule.line;
      EXPECT_EQ(one.radix, other.radix) << rule.file << ":" << rule.line;
      if (rule.collective == algorithms::Collective::reduce_scatter) continue;  // a block's sum is never cut
      EXPECT_EQ(one.fragment_bytes, other.fragment_bytes) << rule.file << ":" << rule.line;
    }
  }
}

TEST(Recorded, TheUsersWordComesFirst) {
  for (int machine = 0; machine < kCount; ++machine) {
    if (recorded_rules(machine).empty()) continue;
    const choose::Rule& rule = recorded_rules(machine).front();
    const auto places = places_of(rule, machine);
    choose::Settings settings;
    for (const algorithms::Algorithm& each : algorithms::all())
      if (each.collective == rule.collective && settings.forced.empty())
        settings.forced.push_back({rule.collective, &each, {}, {}});
    const auto decision = choose::choose(settings, situation_for(rule, machine, places), rule.collective, rule.bytes.from, {});
    EXPECT_TRUE(decision.forced);
    EXPECT_EQ(decision.algorithm, settings.forced.front().algorithm);
  }
}

}  // namespace
}  // namespace copse::test
