// Very many ranks: what the plans of all of them cost, and what is refused because the plan language has no numbers for
// it.
#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "analysis/outline.hpp"
#include "many_ranks.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

std::uint64_t steps_with(const Algorithm& row, Carrier carrier, int ranks) {
  Variant variant = variant_of(row, carrier, ranks);
  variant.plans = build_plans(variant);
  return outline_of(variant).steps;
}

// Returns whether a rank's steps grow more slowly than the number of ranks, except for a few ranks.
bool is_light(const Algorithm& row, Carrier carrier) {
  constexpr std::uint64_t kMany = 64;  // steps of a rank, for instance in the circulant graph
  const std::uint64_t steps = steps_with(row, carrier, 512);
  return steps < kMany * 512 && steps < 6 * steps_with(row, carrier, 128);
}

// Processor seconds and bytes of the plans of all ranks.
struct Price {
  double build = 0, walk = 0;
  std::size_t bytes = 0;
  Outline outline;
};

Price price_of(const Algorithm& row, Carrier carrier, int ranks) {
  Variant variant = variant_of(row, carrier, ranks);
  Price price;
  const std::clock_t begin = std::clock();
  variant.plans = build_plans(variant);
  const std::clock_t built = std::clock();
  price.outline = outline_of(variant);
  price.build = static_cast<double>(built - begin) / CLOCKS_PER_SEC;
  price.walk = static_cast<double>(std::clock() - built) / CLOCKS_PER_SEC;
  for (const plan::Plan& plan : *variant.plans)
    price.bytes += sizeof plan + plan.steps.capacity() * sizeof(plan::Step) + plan.peers.capacity() * 4;
  return price;
}

class Scale : public RowTest {
 protected:
  // Bounds for the whole: microseconds and bytes for each step. They are many times the real values, so only what grows
  // faster than the steps can exceed them.
  static void expect_light(const Algorithm& row, int ranks, double microseconds) {
    int tried = 0;
    for (int number = 0; number < plan::kCarriers; ++number) {
      const auto carrier = static_cast<Carrier>(number);
      if (!row.carries(carrier) || !is_light(row, carrier)) continue;
      if (!refusal_of(variant_of(row, carrier, ranks)).empty()) continue;  // allreduce dissemination: every round needs an area
      ++tried;
      const Price price = price_of(row, carrier, ranks);
      const auto steps = static_cast<double>(price.outline.steps);
      const std::string what = std::string(row.name) + " by " + plan::name_of(carrier) + ", " + std::to_string(ranks);
      EXPECT_LT(price.build * 1e6, microseconds * steps) << what;
      EXPECT_LT(price.walk * 1e6, microseconds * steps) << what;
      EXPECT_LT(static_cast<double>(price.bytes), 1000 * steps + 1e6) << what;
    }
    if (tried == 0) GTEST_SKIP() << "no plan for " << ranks << " ranks";
  }
};

// Tells whether each rank handles a block or a tile of every other rank, even if it moves many of them in one step.
bool handles_all(const Algorithm& row) {
  const auto& traits = algorithms::traits_of(row.collective);
  const bool everywhere = !traits.rooted() && algorithms::contents_of(row.collective, 2).blocks > 0;
  return everywhere || row.name == "rabenseifner" || row.name == "scatter_doubling";
}

// Returns the rows of trees, hierarchies and doubling.
std::vector<const Algorithm*> light_rows() {
  std::vector<const Algorithm*> result;
  for (const Algorithm& row : algorithms::all()) {
    bool light = false;
    if (handles_all(row)) continue;
    for (int number = 0; number < plan::kCarriers && !light; ++number) {
      const auto carrier = static_cast<Carrier>(number);
      light = row.carries(carrier) && steps_with(row, carrier, 64) < 6 * steps_with(row, carrier, 16);
    }
    if (light) result.push_back(&row);
  }
  return result;
}

TEST_P(Scale, RanksOf4096CostTheirSteps) { expect_light(*GetParam(), 4096, 20); }

INSTANTIATE_TEST_SUITE_P(Light, Scale, testing::ValuesIn(light_rows()), label);

plan::Plan plan_of(const Algorithm& row, int ranks, int rank, int radix, Carrier carrier) {
  algorithms::Request request;
  request.ranks = ranks;
  request.rank = rank;
  request.radix = radix;
  request.carrier = carrier;
  return row.plan(request);
}

// CDCP's promise: what a call takes of a rank's processor does not grow with the ranks.
TEST(Served, ACallerHasAsManyStepsAmong4096RanksAsAmong2) {
  int tried = 0;
  for (const Algorithm& row : algorithms::every()) {
    if (!row.served()) continue;
    for (int number = 0; number < plan::kCarriers; ++number) {
      algorithms::Request request;
      request.carrier = static_cast<Carrier>(number);
      if (!row.carries(request.carrier)) continue;
      const auto steps = [&](int callers, int helpers, int rank) {
        request.ranks = callers + helpers;
        request.helpers = helpers;
        request.rank = rank;
        return row.plan(request).steps.size();
      };
      const std::string what =
          std::string(algorithms::name_of(row.collective)) + " " + std::string(row.name) + " by " + plan::name_of(request.carrier);
      EXPECT_EQ(steps(4096, 64, 0), steps(2, 1, 0)) << what << ", the root";
      EXPECT_EQ(steps(4096, 64, 4095), steps(2, 1, 1)) << what;
      ++tried;
    }
  }
  EXPECT_GT(tried, 4);
}

TEST(Limits, AreasThatRunOutAreRefusedByNameOnEveryRank) {
  const Algorithm& row = *algorithms::find(Collective::barrier, "dissemination");
  for (const int rank : {0, 1, 17'000, 32'768}) {
    algorithms::Request request;
    request.ranks = 32'769;
    request.rank = rank;
    request.carrier = Carrier::line;
    EXPECT_EQ(row.refusal(request),
              "barrier dissemination cannot run on 32769 ranks with radix 2: its plan needs more areas than the 15 "
              "there are; choose a larger radix, or another algorithm");
    EXPECT_THROW(static_cast<void>(row.plan(request)), algorithms::Unbuildable);
    request.radix = 3;
    EXPECT_EQ(row.refusal(request), "");
  }
  for (const int rank : {0, 32'767})
    for (const auto& step : plan_of(row, 32'768, rank, 2, Carrier::line).steps) EXPECT_LT(step.area, plan::kPublishArea);
}

TEST(Limits, ScratchesAndPairsAreRefusedToo) {
  const Algorithm& flat = *algorithms::find(Collective::reduce, "flat");
  for (const int rank : {0, 3, 65'535}) {
    EXPECT_THROW(static_cast<void>(plan_of(flat, 65'536, rank, 2, Carrier::put)), algorithms::Unbuildable) << rank;
    EXPECT_NO_THROW(static_cast<void>(plan_of(flat, 65'536, rank, 2, Carrier::slot))) << rank;
  }
  const Algorithm& pairs = *algorithms::find(Collective::alltoall, "bruck");
  EXPECT_THROW(static_cast<void>(plan_of(pairs, 65'536, 3, 2, Carrier::slot)), algorithms::Unbuildable);
}

TEST(Limits, TheCheckerTakesAsManyRanksAsItSaysAndNamesTheRest) {
  const Algorithm& row = *algorithms::find(Collective::broadcast, "hierarchical");
  Variant variant = variant_of(row, Carrier::slot, kMostChecked);
  variant.plans = build_plans(variant);
  const Verdict verdict = check(one_call(variant));
  EXPECT_TRUE(verdict.ok()) << to_text(verdict.findings.front());
  variant = variant_of(row, Carrier::slot, kMostChecked + 1);
  variant.plans = build_plans(variant);
  try {
    static_cast<void>(check(one_call(variant)));
    ADD_FAILURE() << "4097 ranks are checked";
  } catch (const std::invalid_argument& refused) {
    const std::string why = refused.what();
    for (const char* word : {"4097 ranks", "4096", "copse verify --scale"}) EXPECT_NE(why.find(word), std::string::npos) << why;
  }
}

// The root of this ring gives every other rank a portion, and has that many posts alone.
TEST(Walk, KeepsThePostsThatEachRankMakes) {
  Variant variant;
  variant.row = algorithms::find(Collective::gather, "pull_ring");
  variant.ranks = 4096;
  variant.carrier = Carrier::get;
  variant.plans = build_plans(variant);
  const Case subject = one_call(variant);
  EXPECT_LT(Script(subject).posts(), 4u * 4096);
}

}  // namespace
}  // namespace copse::analysis
