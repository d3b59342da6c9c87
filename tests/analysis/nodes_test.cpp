// Many nodes, where what goes from node to node in rounds is passed on several times. The sweep meets few of these plans.
#include <gtest/gtest.h>

#include <utility>

#include "analysis/cases.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

constexpr std::pair<int, int> kSizes[] = {{18, 9}, {40, 20}};  // ranks and nodes

class OnManyNodes : public RowTest {};

void expect_proved(const Variant& variant) {
  bool checked = false;
  for (const NamedCase& each : cases(variant, Effort::quick)) {
    if (each.mixed) continue;
    checked = true;
    for (const Finding& finding : check(each.subject).findings) ADD_FAILURE() << each.name << "\n  " << to_text(finding);
  }
  EXPECT_TRUE(checked) << variant.name();
}

TEST_P(OnManyNodes, IsProvedWithSmallRadices) {
  for (const auto& [ranks, nodes] : kSizes) {
    for (Variant& variant : variants_on(*GetParam(), ranks, nodes)) {
      for (const int radix : {2, 3, 4}) {
        variant.radix = 2;
        if (HasFailure() || (radix != 2 && !differs(variant, radix))) continue;
        variant.radix = radix;
        variant.plans = build_plans(variant);
        expect_proved(variant);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, OnManyNodes, testing::ValuesIn(rows()), label);

}  // namespace
}  // namespace copse::analysis
