// Layouts of ranks, and layouts that ranks observe.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::topology {
namespace {

std::vector<std::int32_t> ids(const Placement& placement, Level level) {
  std::vector<std::int32_t> out;
  for (const Place& place : placement) out.push_back(place.at(level));
  return out;
}

std::size_t distinct(const Placement& placement, Level level) {
  const auto all = ids(placement, level);
  return std::set<std::int32_t>(all.begin(), all.end()).size();
}

TEST(Layout, BlockFillsNodesInTurnAndSpreadsWithin) {
  const Placement placement = place_block(Machine::from("juropa"), 2, 5);
  EXPECT_EQ(ids(placement, Level::node), (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
  // Three ranks on eight cores get cores 0, 2 and 5, so that both packages are used.
  EXPECT_EQ(ids(placement, Level::core), (std::vector<std::int32_t>{0, 2, 5, 8, 12}));
  EXPECT_EQ(ids(placement, Level::numa), (std::vector<std::int32_t>{0, 0, 1, 8, 9}));
}

// PROP puts thread t of 32 on core 4 t of the Superdome's 128 (UPC evaluation 4.5).
TEST(Layout, BlockPutsRanksAsFarApartAsTheMachineAllows) {
  const Machine superdome = Machine::from("superdome");
  for (int thread = 0; thread < 32; ++thread) EXPECT_EQ(block_core(superdome, thread, 32), 4 * thread);
}

TEST(Layout, CyclicSeparatesNeighbours) {
  const Placement placement = place_cyclic(Machine::from("juropa"), 2, 8);
  EXPECT_EQ(ids(placement, Level::node), (std::vector<std::int32_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(ids(placement, Level::numa), (std::vector<std::int32_t>{0, 8, 1, 9, 0, 8, 1, 9}));
}

TEST(Layout, EveryCoreOnceWhenRanksFillTheMachine) {
  for (const RecordedMachine& recorded : recorded_machines()) {
    const Machine machine = Machine::from(recorded.name);
    for (const int nodes : {1, 3}) {
      const int ranks = machine.count(Level::core) * nodes;
      for (const Placement& placement :
           {place_block(machine, nodes, ranks), place_cyclic(machine, nodes, ranks), place_random(machine, nodes, ranks, 7)}) {
        EXPECT_EQ(distinct(placement, Level::core), static_cast<std::size_t>(ranks)) << recorded.name;
        EXPECT_EQ(distinct(placement, Level::numa), machine.regions().size() * static_cast<std::size_t>(nodes)) << recorded.name;
        EXPECT_EQ(distinct(placement, Level::node), static_cast<std::size_t>(nodes)) << recorded.name;
      }
    }
  }
}

TEST(Layout, MoreRanksThanCoresShareCores) {
  const Machine machine = Machine::from("juropa");
  for (const Placement& placement : {place_block(machine, 1, 24), place_cyclic(machine, 1, 24), place_random(machine, 1, 24, 1)}) {
    std::map<std::int32_t, int> load;
    for (const std::int32_t core : ids(placement, Level::core)) ++load[core];
    EXPECT_EQ(load.size(), 8U);
    for (const auto& [core, ranks] : load) EXPECT_EQ(ranks, 3) << core;
  }
}

TEST(Layout, RandomIsRepeatable) {
  const Machine machine = Machine::from("ig");
  EXPECT_EQ(place_random(machine, 2, 50, 3), place_random(machine, 2, 50, 3));
  EXPECT_NE(place_random(machine, 2, 50, 3), place_random(machine, 2, 50, 4));
}

TEST(Layout, RefusesNonsense) {
  const Machine machine = Machine::from("zoot");
  EXPECT_THROW(static_cast<void>(place_block(machine, 0, 4)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(place_cyclic(machine, 1, -1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(block_core(machine, 4, 4)), std::invalid_argument);
  EXPECT_TRUE(place_block(machine, 2, 0).empty());
}

// What ranks share must not depend on who numbered it.
TEST(Layout, ObservedEqualsTheLayoutThatWasObserved) {
  const Machine machine = Machine::from("epyc");
  const Placement truth = place_random(machine, 3, 40, 11);
  std::vector<Observation> observations;
  for (const Place& place : truth) {
    const auto node = static_cast<std::uint64_t>(place.at(Level::node));
    Place local = place;
    for (auto& id : local.id) id -= static_cast<std::int32_t>(node * machine.processors().size());
    local.at(Level::node) = 0;
    observations.push_back({node * 0x123456789ULL + 99, local});
  }
  const Placement observed = place_observed(observations);
  ASSERT_EQ(observed.size(), truth.size());
  for (std::size_t a = 0; a < truth.size(); ++a) {
    for (std::size_t b = 0; b < truth.size(); ++b) {
      for (const Level level : kAllLevels) {
        EXPECT_EQ(observed[a].at(level) == observed[b].at(level), truth[a].at(level) == truth[b].at(level));
      }
    }
  }
}

TEST(Layout, RanksHeldInARegionShareItAndNothingFiner) {
  const Machine machine = Machine::from("epyc");
  const Place region = machine.place_of(machine.processors_in(Level::numa, 2));
  const Placement placement = place_observed(std::vector<Observation>{{1, region}, {1, region}, {2, region}});
  EXPECT_EQ(placement[0].at(Level::numa), placement[1].at(Level::numa));
  EXPECT_NE(placement[0].at(Level::l3), placement[1].at(Level::l3));
  EXPECT_NE(placement[0].at(Level::core), placement[1].at(Level::core));
  EXPECT_NE(placement[0].at(Level::numa), placement[2].at(Level::numa));
  EXPECT_NE(placement[0].at(Level::node), placement[2].at(Level::node));
}

TEST(Layout, ARankNextToTheNetworkSpeaksForOthers) {
  Placement placement = place_block(Machine::from("magny-cours"), 1, 4);
  const std::vector<int> last = {2, 3};
  EXPECT_EQ(speaker_of(last, placement), 2) << "none is";
  placement[1].by_network = placement[3].by_network = true;
  EXPECT_EQ(speaker_of(last, placement), 3);
  std::vector<Observation> observations;
  for (const Place& place : placement) observations.push_back({1, place});
  EXPECT_EQ(speaker_of(last, place_observed(observations)), 3) << "places that are gathered keep it";
}

}  // namespace
}  // namespace copse::topology
