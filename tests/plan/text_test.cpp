// The text of a plan tells it from every other plan.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "../analysis/rows.hpp"
#include "analysis/mutate.hpp"
#include "plan/plan.hpp"

namespace copse::plan {
namespace {

constexpr std::uint64_t kSample = 2;  // sampled combinations of placement, root and radix

// Returns the plan with its lists of peers in the order in which its steps use them.
Plan in_order(const Plan& plan) {
  Plan result = plan;
  result.peers.clear();
  for (Step& step : result.steps) {
    const auto peers = plan.peers_of(step);
    step.peers_first = peers.empty() ? 0 : static_cast<std::uint32_t>(result.peers.size());
    result.peers.insert(result.peers.end(), peers.begin(), peers.end());
  }
  return result;
}

class Row : public analysis::RowTest {};

TEST_P(Row, EachMutantHasATextOfItsOwn) {
  for (const int ranks : {2, 3, 4}) {
    for (const analysis::Variant& variant : analysis::variants(*GetParam(), ranks, kSample)) {
      for (int rank = 0; rank < ranks; ++rank) {
        std::map<std::string, Plan> plans;  // by their texts
        const auto add = [&](const Plan& plan, const std::string& what) {
          const Plan added = in_order(plan);
          EXPECT_EQ(plans.try_emplace(to_text(plan), added).first->second, added) << variant.name() << "; " << what;
        };
        add((*variant.plans)[analysis::at(rank)], "unspoilt");
        for (const analysis::Mutant& mutant : analysis::mutants(variant, rank)) add(mutant.replacement.plan, mutant.what);
        EXPECT_GT(plans.size(), 1u) << variant.name();
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, Row, testing::ValuesIn(analysis::rows()), analysis::label);

// Changes the field with this number. Fields are numbered through all structures of which the text of a plan is made. A new field
// does not compile before it has a number.
class Change {
 public:
  explicit Change(int number) : left_(number) {}
  [[nodiscard]] bool is_made() const { return left_ < 0; }

  // The plan has one section of one step.
  void in(Plan& plan) {
    auto& [rank, ranks, areas, scratches, scratch_depth, whole_scratch, one_fragment, slots, together, placed, pack, contents,
           sections, steps, peers] = plan;
    const Step& step = steps.front();
    for (std::uint32_t i = 0; i < step.peers_count; ++i) in(peers[step.peers_first + i]);
    each(rank, ranks, areas, scratches, scratch_depth, whole_scratch, one_fragment, slots, together, placed, pack, contents,
         sections.front(), steps.front());
  }

 private:
  template <class Field>
    requires(std::is_arithmetic_v<Field> || std::is_enum_v<Field>)
  void in(Field& field) {
    if (left_-- == 0) field = field == Field{} ? Field{1} : Field{};
  }
  void in(Contents& contents) {
    auto& [input, output, blocks] = contents;
    each(input, output, blocks);
  }
  void in(Section& section) {
    auto& [loop, fragments, max_lag, first, count] = section;
    each(loop, fragments, max_lag, first, count);
  }
  void in(Step& step) {
    auto& [kind, when, area, lag, portion, last, more, peer, whose, dst, dst2, a, b, peers_first, peers_count] = step;
    if (peers_count > 0) in(peers_first);  // where a list without peers lies tells nothing
    each(kind, when, area, lag, portion, last, more, peer, whose, dst, dst2, a, b, peers_count);
  }
  void in(Operand& operand) {
    auto& [space, area, rank, range, origin] = operand;
    each(space, area, rank, range, origin);
  }
  void in(Range& range) {
    auto& [first, count, of] = range;
    each(first, count, of);
  }
  template <class... Fields>
  void each(Fields&... fields) {
    (in(fields), ...);
  }

  int left_;
};

// Puts the step into the section of the plan. There is another step to which the section may be moved.
Plan with_step(Plan plan, const Step& step) {
  plan.steps = {step, step};
  plan.steps.back().lag = 9;
  plan.peers = {7, 8, 9};
  return plan;
}

void expect_all_fields_to_show(const Plan& plan) {
  const std::string text = to_text(plan);
  for (int number = 0;; ++number) {
    Plan changed = plan;
    Change change(number);
    change.in(changed);
    if (!change.is_made()) return;
    EXPECT_NE(to_text(changed), text) << "field " << number;
  }
}

TEST(PlanText, ShowsEveryFieldOfEveryKindOfStep) {
  Plan bare, filled{5, 9, 2, 3, 2, true, true, true, true, true, 4, {Extent::own, Extent::all, 9}, {}, {}, {}};
  bare.sections = {{false, LoopFragments::all, 0, 0, 1}};
  filled.sections = {{true, LoopFragments::last, 1, 0, 1}};
  for (int k = 0; k <= static_cast<int>(Kind::collect); ++k) {
    for (int s = 0; s <= static_cast<int>(Space::ride); ++s) {
      const auto kind = static_cast<Kind>(k);
      const Operand empty{static_cast<Space>(s)}, used{static_cast<Space>(s), 2, 3, {1, 2, 4}, 1};
      Step step;
      step.kind = kind;
      step.dst = step.dst2 = step.a = step.b = empty;
      expect_all_fields_to_show(with_step(bare, step));
      step = {kind, When::rides, 2, 3, 4, true, true, 5, 6, used, used, used, used, 1, 1};
      expect_all_fields_to_show(with_step(filled, step));
    }
  }
}

}  // namespace
}  // namespace copse::plan
