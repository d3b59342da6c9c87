// The gate: every row of the registry needs a proof. Checks every algorithm and carrier with 1 to 17 ranks, over
// sampled roots, placements and radices, and a sample of mutants.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

constexpr std::uint64_t kSample = 4;  // sampled combinations of placement, root and radix

class Row : public RowTest {};

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

// Calls with different roots share the decision whether their blocks fit in a line.
TEST_P(Row, PacksAsManyBlocksForEveryRoot) {
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
  std::uint64_t made = 0, caught = 0, excused = 0;
  for (int i = 0; i < kMutations; ++i) {
    made += tally.made[i];
    caught += tally.caught[i];
  }
  for (int i = 1; i < kExcuses; ++i) excused += tally.excused[i];
  EXPECT_GT(made, 0u);
  EXPECT_EQ(made, caught + excused);
  for (const Survivor& survivor : tally.survivors)
    if (survivor.excuse == Excuse::none) ADD_FAILURE() << survivor.variant << "; " << survivor.what;
}

INSTANTIATE_TEST_SUITE_P(Registry, Row, testing::ValuesIn(rows()), label);

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
