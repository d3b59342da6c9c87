// Many nodes, where what goes from node to node in rounds is passed on several times. The sweep meets few of these plans.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

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

// Returns the variant without a carrier, a radix and plans.
Variant variant_on(const algorithms::Algorithm& row, int ranks, int nodes) {
  Variant variant;
  variant.row = &row;
  variant.ranks = ranks;
  variant.root = ranks / 2;
  variant.helpers = row.served() ? 1 : 0;
  variant.places = std::make_shared<topology::Placement>(make_placement(1, topology::Machine::from("juropa"), nodes, ranks));
  variant.placement = "cyclic on " + std::to_string(nodes) + " x juropa";
  for (const topology::Place& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
  return variant;
}

TEST_P(OnManyNodes, IsProvedWithSmallRadices) {
  for (const auto& [ranks, nodes] : kSizes) {
    Variant variant = variant_on(*GetParam(), ranks, nodes);
    for (const plan::Carrier carrier : {plan::Carrier::line, plan::Carrier::slot, plan::Carrier::get, plan::Carrier::put}) {
      if (!GetParam()->carries(carrier)) continue;
      variant.carrier = carrier;
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
