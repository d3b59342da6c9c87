// Plans that relax their synchronisation (plan::Modes): every row is proved in every mode, and a step that guards an entry or a
// return is missed in exactly the modes that need it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"
#include "plan/builder.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

using algorithms::Collective;
using plan::Carrier;
using plan::Kind;
using plan::Modes;
using plan::Step;
using plan::Sync;

// Where the caller does not know the places of the buffers, ranks must tell them (kUnplaced).
constexpr Modes kUnplaced{}, kMysync{Sync::mine, Sync::mine, true}, kInNosync{Sync::none, Sync::mine, true},
    kOutNosync{Sync::mine, Sync::none, true}, kNosync{Sync::none, Sync::none, true};
constexpr Modes kModes[] = {kUnplaced, kMysync, kInNosync, kOutNosync, kNosync};

std::string text_of(Modes modes) {
  if (!modes.placed) return "buffers not placed";
  if (modes.in == Sync::none) return modes.out == Sync::none ? "in nosync, out nosync" : "in nosync, out mysync";
  return modes.out == Sync::none ? "in mysync, out nosync" : "in mysync, out mysync";
}

class Row : public RowTest {};

std::vector<const algorithms::Algorithm*> rows_that_move_data() {
  std::vector<const algorithms::Algorithm*> result = rows(algorithms::all());
  std::erase_if(result, [](const auto* row) { return !algorithms::traits_of(row->collective).moves_data; });
  return result;
}

// The sequences mix calls of all modes, ALLSYNC included, on one ring of tickets (cases.cpp).
TEST_P(Row, IsProvedInEveryMode) {
  for (const Modes modes : {kMysync, kInNosync, kOutNosync, kNosync}) {
    for (const int ranks : {1, 2, 3, 4, 5, 7, 8}) {
      const Tally tally = verify(*GetParam(), ranks, Effort::quick, nullptr, modes);
      EXPECT_GT(tally.cases, 0u);
      EXPECT_EQ(tally.spoiled, 0u) << text_of(modes) << ", " << ranks << " ranks: another algorithm fails";
      for (const Failure& failure : tally.failures) ADD_FAILURE() << failure.name << "\n  " << to_text(failure.findings[0]);
      if (HasFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Row, testing::ValuesIn(rows_that_move_data()), label);

// The plans that UPC's collectives run without synchronisation, by every carrier that touches others' buffers.
std::vector<Variant> relaxed_rows(int ranks, Modes modes) {
  std::vector<Variant> result;
  const std::pair<Collective, const char*> names[] = {{Collective::broadcast, "flat"}, {Collective::scatter, "flat"},
                                                      {Collective::gather, "flat"},    {Collective::allgather, "flat"},
                                                      {Collective::alltoall, "flat"},  {Collective::permute, "direct"}};
  for (const auto& [collective, name] : names) {
    const algorithms::Algorithm* const row = algorithms::find(collective, name);
    for (Variant& variant : Combinations(*row, ranks).at(0)) {
      if (variant.carrier != Carrier::get && variant.carrier != Carrier::put) continue;
      variant.nodes.clear();
      variant.places = std::make_shared<topology::Placement>(make_placement(0, machines().front(), 1, ranks));
      variant.modes = modes;
      variant.plans = build_plans(variant);
      result.push_back(variant);
    }
  }
  return result;
}

bool is_sync(const Step& step) { return step.kind != Kind::copy && step.kind != Kind::reduce; }

std::size_t synchronisation_steps(const Variant& variant) {
  std::size_t count = 0;
  for (const plan::Plan& plan : *variant.plans)
    count += static_cast<std::size_t>(std::count_if(plan.steps.begin(), plan.steps.end(), is_sync));
  return count;
}

TEST(Modes, WeakerModesHaveFewerSteps) {
  constexpr int kRanks = 4;
  const auto strict = relaxed_rows(kRanks, kMysync), in = relaxed_rows(kRanks, kInNosync), out = relaxed_rows(kRanks, kOutNosync),
             none = relaxed_rows(kRanks, kNosync);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < strict.size(); ++i) {
    if (synchronisation_steps(strict[i]) == kRanks) continue;  // a permutation that leaves every message with its rank
    ++compared;
    EXPECT_LT(synchronisation_steps(in[i]), synchronisation_steps(strict[i])) << strict[i].name();
    EXPECT_LT(synchronisation_steps(out[i]), synchronisation_steps(strict[i])) << strict[i].name();
    // What is left says that the rank has passed, which later calls on the same ring must know.
    EXPECT_EQ(synchronisation_steps(none[i]), static_cast<std::size_t>(kRanks)) << plan::to_text((*none[i].plans)[1]);
  }
  EXPECT_GE(compared, 8u);
}

TEST(Modes, MutantsOfRelaxedPlansAreCaughtOrExplained) {
  for (const Modes modes : {kMysync, kInNosync, kOutNosync, kNosync}) {
    for (const Variant& variant : relaxed_rows(3, modes)) {
      const MutationTally tally = challenge(variant);
      EXPECT_GT(sum_of(tally.by_mutation()).made, 0U) << variant.name();
      for (const Survivor& survivor : tally.survivors)
        EXPECT_NE(survivor.excuse, Excuse::none) << survivor.variant << ": " << survivor.what;
    }
  }
}

// Tells whether a case of these plans finds the mutant, where the callers promise what `modes` says.
bool caught(const Variant& variant, const Mutant& mutant, Modes modes) {
  for (const Effort effort : {Effort::quick, Effort::full}) {
    for (NamedCase& each : cases(variant, effort)) {
      for (ScriptedCall& call : each.subject.calls)
        if (call.plans == variant.plans) call.modes = modes;
      each.subject.replacement = &mutant.replacement;
      if (!check(each.subject, 1).ok()) return true;
    }
  }
  return false;
}

// A wait for an entry or for a return is missed where the mode asks for it. Waits for lines and slots belong to the ring of
// tickets, which all modes share.
TEST(Modes, AMissingWaitIsFoundInTheModesThatNeedIt) {
  int entries = 0, returns = 0;
  for (const Variant& variant : relaxed_rows(3, kMysync)) {
    for (int rank = 0; rank < variant.ranks; ++rank) {
      for (const Mutant& mutant : mutants(variant, rank)) {
        if (mutant.mutation != Mutation::omit) continue;
        const Step& step = (*variant.plans)[static_cast<std::size_t>(rank)].steps[static_cast<std::size_t>(mutant.step)];
        const bool enters = step.kind == Kind::await && step.area == plan::kPublishArea;
        const bool returns_early = step.kind == Kind::await_done || (step.kind == Kind::await && !enters);
        if (!enters && !returns_early) continue;
        ++(enters ? entries : returns);
        for (const Modes modes : {kMysync, kInNosync, kOutNosync, kNosync}) {
          const bool needed = (enters ? modes.in : modes.out) == Sync::mine;
          EXPECT_EQ(caught(variant, mutant, modes), needed) << variant.name() << ", " << mutant.what << ", " << text_of(modes);
        }
      }
    }
  }
  EXPECT_GT(entries, 0);
  EXPECT_GT(returns, 0);
}

// A plan without synchronisation breaks every promise but the weakest.
TEST(Modes, ARelaxedPlanFailsUnderAStricterMode) {
  for (const Modes built : kModes) {
    for (const Variant& variant : relaxed_rows(3, built)) {
      for (const Modes promised : kModes) {
        bool fails = false;
        for (NamedCase& each : cases(variant, Effort::quick)) {
          for (ScriptedCall& call : each.subject.calls)
            if (call.plans == variant.plans) call.modes = promised;
          fails |= !check(each.subject, 1).ok();
        }
        const bool too_weak = (built.placed && !promised.placed) || (built.in == Sync::none && promised.in == Sync::mine) ||
                              (built.out == Sync::none && promised.out == Sync::mine);
        EXPECT_EQ(fails, too_weak) << variant.name() << " where " << text_of(promised) << " is asked for";
      }
    }
  }
}

// ALLSYNC is a plan without synchronisation between two barriers. Without one of them, a rank goes on too soon.
TEST(Modes, AllsyncNeedsBothBarriers) {
  for (const Variant& variant : relaxed_rows(4, kNosync)) {
    Variant barrier = variant;
    barrier.row = algorithms::find(Collective::barrier, "dissemination");
    barrier.carrier = Carrier::line;
    barrier.modes = kMysync;
    barrier.plans = build_plans(barrier);
    ScriptedCall fenced = call_of(variant, 1, false);
    fenced.fenced_in = fenced.fenced_out = true;
    Case subject{variant.ranks, {}, 2, 2, {call_of(barrier, 1, false), fenced, call_of(barrier, 1, false)}, nullptr};
    EXPECT_TRUE(check(subject).ok()) << variant.name();
    for (const std::size_t missing : {0, 2}) {
      Case spoilt = subject;
      spoilt.calls[missing] = call_of(variant, 1, false);
      EXPECT_FALSE(check(spoilt).ok()) << variant.name() << " without barrier " << missing;
    }
  }
}

}  // namespace
}  // namespace copse::analysis
