// The long sweep: every number of ranks up to 64, then 96 and 128; every root up to 17 ranks; mutants of more.
#include <gtest/gtest.h>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"

namespace copse::analysis {
namespace {

class FullRow : public testing::TestWithParam<const algorithms::Algorithm*> {};

std::string label(const testing::TestParamInfo<const algorithms::Algorithm*>& info) {
  return std::string(name_of(info.param->collective)).append("_").append(info.param->name);
}

std::vector<const algorithms::Algorithm*> rows() {
  std::vector<const algorithms::Algorithm*> result;
  for (const auto& row : algorithms::all()) result.push_back(&row);
  return result;
}

void expect_proved(const algorithms::Algorithm& row, int ranks, Effort effort) {
  const Tally tally = verify(row, ranks, effort);
  EXPECT_GT(tally.cases, 0u);
  EXPECT_EQ(tally.failed + tally.spoiled, 0u) << ranks << " ranks";
  for (const Failure& failure : tally.failures) ADD_FAILURE() << failure.name << "\n  " << to_text(failure.findings[0]);
}

TEST_P(FullRow, EveryRootAndPlacementUpTo17Ranks) {
  for (int ranks = 1; ranks <= 17 && !HasFailure(); ++ranks) expect_proved(*GetParam(), ranks, Effort::full);
}

TEST_P(FullRow, UpTo64RanksAnd96And128) {
  for (int ranks = 18; ranks <= 64 && !HasFailure(); ++ranks) expect_proved(*GetParam(), ranks, Effort::quick);
  for (int ranks : {96, 128})
    if (!HasFailure()) expect_proved(*GetParam(), ranks, Effort::quick);
}

TEST_P(FullRow, MutantsAreCaughtOrExplained) {
  for (int ranks : {3, 5, 6, 8, 9}) {
    for (const Variant& variant : variants(*GetParam(), ranks, Effort::quick)) {
      for (const Survivor& survivor : challenge(variant).survivors)
        if (survivor.excuse == Excuse::none) ADD_FAILURE() << survivor.variant << "; " << survivor.what;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, FullRow, testing::ValuesIn(rows()), label);

}  // namespace
}  // namespace copse::analysis
