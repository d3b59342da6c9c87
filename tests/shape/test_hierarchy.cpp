// Hierarchies. On every recorded machine and for every layout of the ranks, a tree crosses each level as seldom as any
// tree can.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>

#include "levels.hpp"
#include "shape/hierarchy.hpp"
#include "topology/layout.hpp"
#include "topology/recorded.hpp"

namespace copse::shape {
namespace {

using topology::kAllLevels;
using topology::Level;
using topology::Machine;
using topology::Placement;

const Arrangement kBinomial{Form::k_nomial, 2};
const Arrangement kFlat{Form::flat, 0};

struct Layout {
  std::string name;
  Placement placement;
};

// By default the tests take a spread of sizes and roots. With --every-root (the test labelled full) they take more
// sizes and all roots.
bool every_root() {
  const auto arguments = testing::internal::GetArgvs();
  return std::find(arguments.begin(), arguments.end(), "--every-root") != arguments.end();
}

int stride_of_roots(int ranks) { return every_root() ? 1 : std::max(1, ranks / 5); }

std::vector<Layout> layouts(const Machine& machine) {
  const int cores = machine.count(Level::core);
  std::vector<Layout> all;
  for (const int nodes : {1, 3}) {
    const std::vector<int> some = {2, 7, 13, cores - 1, cores + 5};
    const std::vector<int> many = {1, 2, 3, 7, 13, 31, cores - 1, cores, cores + 5};
    for (const int ranks : every_root() ? many : some) {
      const std::string title = machine.name() + " nodes " + std::to_string(nodes) + " ranks " + std::to_string(ranks);
      all.push_back({title + " block", place_block(machine, nodes, ranks)});
      all.push_back({title + " cyclic", place_cyclic(machine, nodes, ranks)});
      all.push_back({title + " random", place_random(machine, nodes, ranks, 1)});
      all.push_back({title + " random", place_random(machine, nodes, ranks, 2)});
    }
  }
  return all;
}

bool is_tree(const Tree& tree) {
  std::vector<int> order = top_down(tree);
  std::sort(order.begin(), order.end());
  return order.size() == tree.parent.size() && std::adjacent_find(order.begin(), order.end()) == order.end();
}

class OnRecordedMachines : public testing::TestWithParam<std::string> {};

TEST_P(OnRecordedMachines, TreesCrossEveryLevelTheMinimumOfTimes) {
  const Machine machine = Machine::from(GetParam());
  const std::vector<Arrangement> arrangements = {kBinomial, kFlat, {Form::k_nomial, 4}, {Form::chain, 0}, {Form::k_ary, 2}};
  for (const Layout& layout : layouts(machine)) {
    const int ranks = static_cast<int>(layout.placement.size());
    const int stride = stride_of_roots(ranks);
    for (int root = 0; root < ranks; root += stride) {
      const Arrangement arrangement = arrangements[static_cast<std::size_t>(root / stride) % arrangements.size()];
      const Tree every = make_tree(every_level(arrangement), layout.placement, root);
      ASSERT_TRUE(is_tree(every)) << layout.name << " root " << root;
      ASSERT_EQ(every.root, root);
      for (const Level level : kAllLevels) {
        ASSERT_EQ(crossings(every, layout.placement, level), groups(layout.placement, level) - 1)
            << layout.name << " root " << root << " level " << level_name(level);
      }
      const Hierarchy hierarchy = numacol(root / stride % 2 == 0 ? kBinomial : kFlat);
      const Tree paper = make_tree(hierarchy, layout.placement, root);
      ASSERT_TRUE(is_tree(paper)) << layout.name << " root " << root;
      for (const Hierarchy::Layer& layer : hierarchy.layers) {
        ASSERT_EQ(crossings(paper, layout.placement, layer.level), groups(layout.placement, layer.level) - 1)
            << layout.name << " root " << root << " level " << level_name(layer.level);
      }
    }
  }
}

TEST_P(OnRecordedMachines, BlockLayoutKeepsRankOrderForEveryRoot) {
  const Machine machine = Machine::from(GetParam());
  for (const int nodes : {1, 2}) {
    for (const int ranks : {2, 5, 12, 29, machine.count(Level::core)}) {
      const Placement placement = place_block(machine, nodes, ranks);
      for (int root = 0; root < ranks; root += stride_of_roots(ranks)) {
        for (const Hierarchy& hierarchy : {numacol(kBinomial), numacol(kFlat), every_level({Form::k_ary, 3})}) {
          ASSERT_TRUE(preserves_rank_order(make_tree(hierarchy, placement, root)))
              << machine.name() << " nodes " << nodes << " ranks " << ranks << " root " << root;
        }
      }
    }
  }
}

std::vector<std::string> recorded_names() {
  std::vector<std::string> names;
  for (const auto& machine : topology::recorded_machines()) names.emplace_back(machine.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, OnRecordedMachines, testing::ValuesIn(recorded_names()), [](const auto& row) {
  std::string name = row.param;
  std::erase(name, '-');
  return name;
});

// Shows that the crossing count can fail: a plain binomial tree over cyclic ranks crosses far more often.
TEST(Hierarchy, APlainTreeCrossesMore) {
  const Machine machine = Machine::from("ig");
  const Placement placement = place_cyclic(machine, 1, 48);
  EXPECT_EQ(groups(placement, Level::board), 2);
  EXPECT_GT(crossings(make_tree(kBinomial, 48, 0), placement, Level::board), 1);
  EXPECT_EQ(crossings(make_tree(kFlat, 48, 0), placement, Level::numa), 42);
}

// NUMACol figure 1: 8 nodes of 24 cores in 4 regions. Binomial trees at each level take 3 + 2 + 3 steps.
TEST(Hierarchy, TakesTheStepsOfItsLevels) {
  const Machine machine = Machine::from("numa:4 core:6 pu:1");
  const Placement placement = place_block(machine, 8, 192);
  EXPECT_EQ(steps(make_tree(numacol(kBinomial), placement, 0)), 3 + 2 + 3);
  EXPECT_EQ(steps(make_tree(numacol(kFlat), placement, 0)), 3 + 2 + 5);
}

TEST(Hierarchy, AFlatLevelVanishes) {
  const Machine machine = Machine::from("core:8 pu:1");
  EXPECT_EQ(make_tree(numacol(kBinomial), place_block(machine, 1, 8), 3), make_tree(kBinomial, 8, 3));
  EXPECT_EQ(make_tree(numacol(kFlat), place_block(machine, 1, 8), 3), make_tree(kFlat, 8, 3));
  // With one rank per node, only the tree between nodes is left.
  EXPECT_EQ(make_tree(numacol(kFlat), place_block(machine, 8, 8), 0), make_tree(kBinomial, 8, 0));
}

TEST(Hierarchy, LeadersLeadAtEveryInnerLevel) {
  const Machine machine = Machine::from("epyc");
  const Placement placement = place_random(machine, 4, 200, 5);
  const Tree tree = make_tree(numacol(kBinomial), placement, 77);
  const std::vector<Level> levels = {Level::node, Level::package, Level::numa};
  for (int rank = 0; rank < tree.size(); ++rank) {
    bool is_leader = false;
    for (const Level level : levels) {  // outermost first
      const int parent = tree.parent[static_cast<std::size_t>(rank)];
      const bool leads = parent == kNoParent || placement[static_cast<std::size_t>(parent)].at(level) !=
                                                    placement[static_cast<std::size_t>(rank)].at(level);
      EXPECT_TRUE(leads || !is_leader) << "rank " << rank << " at " << level_name(level);
      is_leader = is_leader || leads;
    }
  }
}

// Ranks that are only bound to their region share no core and no L3 with others. Only the region counts for them.
TEST(Hierarchy, WorksForRanksHeldInRegions) {
  const Machine machine = Machine::from("epyc");
  std::vector<topology::Observation> observations;
  for (int rank = 0; rank < 32; ++rank) {
    observations.push_back({1, machine.place_of(machine.processors_in(Level::numa, rank % 8))});
  }
  const Placement placement = place_observed(observations);
  for (int root = 0; root < 32; ++root) {
    const Tree tree = make_tree(every_level(kBinomial), placement, root);
    EXPECT_EQ(crossings(tree, placement, Level::package), 1);
    EXPECT_EQ(crossings(tree, placement, Level::numa), 7);
    EXPECT_EQ(steps(tree), 5);
  }
}

// A node is entered at the rank next to its network card, from wherever the root is (NUMACol 4.1).
TEST(Hierarchy, EntersNodesNextToTheNetwork) {
  Placement placement = place_block(Machine::from("magny-cours"), 3, 24);
  for (const std::size_t rank : {5, 7, 13, 22}) placement[rank].by_network = 1;
  for (int root = 0; root < 24; ++root) {
    const Tree tree = make_tree(numacol(kBinomial), placement, root);
    EXPECT_TRUE(preserves_rank_order(tree)) << root;
    EXPECT_EQ(crossings(tree, placement, Level::node), 2) << root;
    for (int node = 0; node < 3; ++node) {
      if (root / 8 == node) continue;
      const int leader = std::array{5, 13, 22}[static_cast<std::size_t>(node)];
      EXPECT_NE(tree.parent[static_cast<std::size_t>(leader)] / 8, node) << "root " << root << ", node " << node;
    }
  }
}

// One cluster has two kinds of node: in one, regions hold packages, and in the other, packages hold regions.
TEST(Hierarchy, LevelsMayNestDifferentlyOnEachNode) {
  std::vector<topology::Observation> observations;
  const Machine superdome = Machine::from("superdome");
  const Machine epyc = Machine::from("epyc");
  for (std::size_t core = 0; core < 128; core += 3) {
    observations.push_back({1, superdome.place_of(superdome.cores()[core])});
    observations.push_back({2, epyc.place_of(epyc.cores()[core])});
  }
  std::shuffle(observations.begin(), observations.end(), std::mt19937(1));
  const Placement placement = place_observed(observations);
  for (int root = 0; root < static_cast<int>(placement.size()); root += 7) {
    const Tree tree = make_tree(every_level(kBinomial), placement, root);
    for (const Level level : kAllLevels) EXPECT_EQ(crossings(tree, placement, level), groups(placement, level) - 1);
  }
}

TEST(Hierarchy, NamesTheBoundaryOfAnEdge) {
  const Machine superdome = Machine::from("superdome");
  const Placement placement = place_block(superdome, 1, 128);
  const Boundaries boundaries(placement);
  EXPECT_EQ(boundaries.between(0, 0), std::nullopt);
  EXPECT_EQ(boundaries.between(0, 1), Level::l3) << "no cache is known to be shared";
  EXPECT_EQ(boundaries.between(0, 2), Level::package);
  EXPECT_EQ(boundaries.between(0, 8), Level::numa) << "cells hold packages";
}

TEST(Hierarchy, RefusesARootThatIsNoRank) {
  const Placement placement = place_block(Machine::from("zoot"), 1, 4);
  EXPECT_THROW(static_cast<void>(make_tree(numacol(kBinomial), placement, 4)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(make_tree(numacol(kBinomial), Placement{}, 0)), std::invalid_argument);
}

}  // namespace
}  // namespace copse::shape
