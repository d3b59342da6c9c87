// The long sweep: does what `copse verify --all` does, and mutates plans of more ranks.
#include <gtest/gtest.h>

#include <cstdint>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

constexpr std::uint64_t kSample = 8;  // sampled combinations of placement, root and radix

class FullRow : public RowTest {};

void expect_proved(const algorithms::Algorithm& row, int ranks) {
  const Tally tally = verify(row, ranks, Effort::full);
  EXPECT_GT(tally.cases, 0u);
  EXPECT_EQ(tally.failed + tally.spoiled, 0u) << ranks << " ranks";
  for (const Failure& failure : tally.failures) ADD_FAILURE() << failure.name << "\n  " << to_text(failure.findings[0]);
}

TEST_P(FullRow, IsProvedOnAsMuchAsVerifyAll) {
  for (const int ranks : full_ranks())
    if (ranks >= GetParam()->least_ranks() && !HasFailure()) expect_proved(*GetParam(), ranks);
}

TEST_P(FullRow, MutantsAreCaughtOrExplained) {
  MutationTally tally;
  for (int ranks : {3, 5, 6, 8, 9})
    for (const Variant& variant : variants(*GetParam(), ranks, kSample)) tally += challenge(variant);
  EXPECT_GT(sum_of(tally.by_mutation()).made, 0U);
  for (const Survivor& survivor : tally.survivors)
    if (survivor.excuse == Excuse::none) ADD_FAILURE() << survivor.variant << "; " << survivor.what;
}

INSTANTIATE_TEST_SUITE_P(Registry, FullRow, testing::ValuesIn(rows()), label);

}  // namespace
}  // namespace copse::analysis
