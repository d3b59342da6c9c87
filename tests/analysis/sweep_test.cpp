// The gate: every row of the registry needs a proof. Checks every algorithm and carrier with 1 to 17 ranks, over
// sampled roots, placements and radices, and a sample of mutants.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

constexpr std::uint64_t kSample = 4;  // sampled combinations of placement, root and radix

class Row : public RowTest {};

// The least percentage of mutants that must be caught, by kind of step and mutation.
std::map<std::string, std::uint64_t> floors() {
  std::map<std::string, std::uint64_t> result;
  std::ifstream file(COPSE_TEST_DATA "/mutants.txt");
  for (std::string line; std::getline(file, line);)
    if (const auto colon = line.find(": "); !line.starts_with('#'))
      result[line.substr(0, colon)] = std::stoul(line.substr(colon + 2));
  return result;
}

TEST_P(Row, IsProvedOn1To17Ranks) {
  for (int ranks = GetParam()->least_ranks(); ranks <= 17; ++ranks) {
    const Tally tally = verify(*GetParam(), ranks, Effort::quick);
    EXPECT_GT(tally.cases, 0u) << "no case covers " << ranks << " ranks";
    EXPECT_EQ(tally.spoiled, 0u) << ranks << " ranks: another algorithm fails";
    EXPECT_EQ(tally.failed, 0u) << ranks << " ranks";
    for (const Failure& failure : tally.failures) ADD_FAILURE() << failure.name << "\n  " << to_text(failure.findings[0]);
    if (HasFailure()) return;
  }
}

// Calls with different roots share the decision whether their blocks fit in a line. A communicator has one graph.
TEST_P(Row, PacksAsManyBlocksForEveryRoot) {
  if (algorithms::traits_of(GetParam()->collective).along_edges) GTEST_SKIP();
  for (int ranks : {2, 3, 5, 8}) {
    for (const Variant& variant : variants(*GetParam(), ranks, kSample)) {
      Variant other = variant;
      other.root = (variant.root + 1 + ranks / 2) % (ranks - variant.helpers);
      EXPECT_EQ(build_plans(other)->front().pack, variant.plans->front().pack) << variant.name() << ", and root " << other.root;
    }
  }
}

TEST_P(Row, MutantsAreCaughtOrExplained) {
  MutationTally tally;
  for (int ranks : {2, 4}) {
    for (const Variant& variant : variants(*GetParam(), ranks, kSample)) tally += challenge(variant);
  }
  const MutantCount all = sum_of(tally.by_mutation());
  std::uint64_t excused = 0;
  for (int i = 1; i < kExcuses; ++i) excused += tally.excused[i];
  EXPECT_GT(all.made, 0u);
  EXPECT_EQ(all.made, all.caught + excused);
  for (const Survivor& survivor : tally.survivors)
    if (survivor.excuse == Excuse::none) ADD_FAILURE() << survivor.variant << "; " << survivor.what;
  const auto least = floors();
  for (const auto& [kind, counts] : tally.by_kind) {
    const auto floor = least.lower_bound(kind + ", ");
    EXPECT_TRUE(floor != least.end() && floor->first.starts_with(kind + ", "))
        << "no row of kChallenged has this kind of step: " << kind;
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Row, testing::ValuesIn(rows()), label);

// Between them, these have every kind of step.
constexpr std::pair<algorithms::Collective, const char*> kChallenged[] = {
    {algorithms::Collective::allgather, "bruck"},     {algorithms::Collective::allreduce, "delegated"},
    {algorithms::Collective::alltoall, "letters"},    {algorithms::Collective::barrier, "dissemination"},
    {algorithms::Collective::broadcast, "knomial"},   {algorithms::Collective::broadcast, "shared"},
    {algorithms::Collective::gather, "one_way"},      {algorithms::Collective::gather, "token_ring"},
    {algorithms::Collective::reduce, "hierarchical"}, {algorithms::Collective::reduce, "knomial"},
    {algorithms::Collective::reduce_scatter, "bine"}, {algorithms::Collective::scatter, "knomial"},
    {algorithms::Collective::scatter, "one_way"},     {algorithms::Collective::scatter, "token_ring"}};

// Every survivor has an explanation, but explanations trust the checker. What a checker misses lowers these figures.
TEST(Mutants, OfEveryKindOfStepAreCaughtAsOftenAsRecorded) {
  MutationTally tally;
  for (const auto& [collective, name] : kChallenged)
    for (const int nodes : {1, 2})
      for (const Variant& variant : variants_on(*algorithms::find(collective, name), 4, nodes)) tally += challenge(variant);
  auto least = floors();
  std::string figures, wrong;
  for (const auto& [kind, counts] : tally.by_kind) {
    for (int i = 0; i < kMutations; ++i) {
      const MutantCount& count = counts[static_cast<std::size_t>(i)];
      if (count.made == 0) continue;
      const std::string key = kind + ", " + name_of(static_cast<Mutation>(i));
      const std::uint64_t percent = 100 * count.caught / count.made;
      const std::string line = key + ": " + std::to_string(percent) + "\n";
      figures += line;
      const auto floor = least.find(key);
      if (floor == least.end() || percent < floor->second) wrong += line;
      if (floor != least.end()) least.erase(floor);
    }
  }
  for (const auto& [key, floor] : least) wrong += key + ": no mutants\n";
  EXPECT_EQ(wrong, "") << "If that is intended, these are the figures for tests/data/mutants.txt:\n" << figures;
}

// A knomial tree is another one for every radix below the number of ranks.
TEST(Radices, AreAllProvedWhereTheyMakeOtherTrees) {
  const auto* row = algorithms::find(algorithms::Collective::barrier, "knomial");
  for (const auto& [ranks, effort] : {std::pair(8, Effort::quick), std::pair(kMostRadix + 1, Effort::full)}) {
    const Tally tally = verify(*row, ranks, effort);
    EXPECT_EQ(tally.failed, 0u);
    for (int radix = 2; radix < ranks; ++radix)
      EXPECT_TRUE(tally.radices.contains(radix)) << radix << " with " << ranks << " ranks";
  }
  EXPECT_GE(every_radix(Effort::full), full_ranks().back());
}

// Returns the radices that make other trees over the objects of these levels.
std::set<int> that_differ(const algorithms::Algorithm& row, int ranks, std::span<const topology::Level> levels) {
  const Combinations all(row, ranks);
  std::set<int> result;
  for (const topology::Level level : levels)
    for (int radix = 3; radix <= ranks; ++radix)
      for (const Variant& variant : all.apart(level, radix))
        if (differs(variant, radix - 1)) result.insert(radix);
  return result;
}

void expect_proved(const algorithms::Algorithm& row, int ranks, Effort effort, const std::set<int>& radices) {
  const Tally tally = verify(row, ranks, effort);
  EXPECT_EQ(tally.failed, 0u);
  EXPECT_FALSE(radices.empty()) << name_of(row.collective) << " " << row.name;
  for (const int radix : radices)
    EXPECT_TRUE(tally.radices.contains(radix)) << name_of(row.collective) << " " << row.name << ", radix " << radix;
}

TEST(Radices, AreAllProvedBetweenNodes) {
  constexpr int kRanks = 8;
  constexpr topology::Level kNode[] = {topology::Level::node};
  int rows = 0;
  for (const algorithms::Algorithm& row : algorithms::every()) {
    const std::set<int> radices = that_differ(row, kRanks, kNode);
    rows += radices.empty() ? 0 : 1;
    if (!radices.empty()) expect_proved(row, kRanks, Effort::quick, radices);
  }
  EXPECT_GT(rows, 20);
}

TEST(Radices, AreAllProvedOnEveryLevel) {
  constexpr int kRanks = 6;
  for (const char* name : {"reduce_broadcast", "tiled_hierarchical"}) {
    const auto* row = algorithms::find(algorithms::Collective::allreduce, name);
    ASSERT_NE(row, nullptr) << name;
    expect_proved(*row, kRanks, Effort::full, that_differ(*row, kRanks, topology::kAllLevels));
  }
}

// Inside a node these are flat, so a radix matters between nodes only.
TEST(Radices, OfTreesOverNodesAreProved) {
  constexpr int kRanks = 20;
  std::set<int> radices;
  for (int radix = 2; radix < kRanks; ++radix) radices.insert(radix);
  expect_proved(*algorithms::find(algorithms::Collective::broadcast, "prop"), kRanks, Effort::full, radices);
}

TEST(Combinations, AreGoneThroughOnceEachAndEvenly) {
  const auto* row = algorithms::find(algorithms::Collective::broadcast, "knomial");
  for (const int ranks : {1, 2, 3, 7}) {
    const Combinations all(*row, ranks);
    std::set<std::string> names, beginning;
    std::set<int> roots;
    for (std::uint64_t number = 0; number < all.size(); ++number) {
      for (const Variant& variant : all.at(number)) names.insert(variant.name());
      if (number < static_cast<std::uint64_t>(ranks)) roots.insert(all.at(number).front().root);
      if (number < machines().size() * kLayouts) beginning.insert(all.at(number).front().placement);
    }
    EXPECT_EQ(names.size(), all.size() * 4) << ranks << " ranks; every carrier";
    EXPECT_EQ(roots.size(), static_cast<std::size_t>(ranks)) << "among the first combinations";
    EXPECT_GT(beginning.size(), machines().size() * kLayouts / 2) << ranks << " ranks: the sample keeps to few placements";
  }
}

TEST(Combinations, PutRanksWhereTheMachineHasThem) {
  using topology::Level;
  const auto& row = algorithms::all().front();
  const Combinations all(row, 24);
  for (std::uint64_t number = 0; number < all.size(); ++number) {
    const Variant variant = all.at(number).front();
    ASSERT_EQ(variant.places->size(), 24u);
    std::set<std::int32_t> nodes;
    for (const auto& a : *variant.places) nodes.insert(a.at(Level::node));
    EXPECT_EQ(variant.nodes.empty(), nodes.size() == 1) << variant.placement;
  }
}

}  // namespace
}  // namespace copse::analysis
