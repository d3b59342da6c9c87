// The rows of the registry as parameters of a test, and variants of them that do not depend on what else is registered.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "analysis/variants.hpp"

namespace copse::analysis {

using RowTest = testing::TestWithParam<const algorithms::Algorithm*>;

// The collective and the algorithm, as the name of a test.
inline std::string label(const testing::TestParamInfo<const algorithms::Algorithm*>& info) {
  return std::string(name_of(info.param->collective)).append("_").append(info.param->name);
}

inline std::vector<const algorithms::Algorithm*> rows(std::span<const algorithms::Algorithm> among = algorithms::every()) {
  std::vector<const algorithms::Algorithm*> result;
  for (const auto& row : among) result.push_back(&row);
  return result;
}

// Returns a variant of radix 2 for each carrier.
inline std::vector<Variant> variants_on(const algorithms::Algorithm& row, int ranks, int nodes) {
  Variant variant;
  variant.row = &row;
  variant.ranks = ranks;
  variant.root = ranks / 2;
  variant.helpers = row.served() ? 1 : 0;
  variant.places = std::make_shared<topology::Placement>(make_placement(1, topology::Machine::from("juropa"), nodes, ranks));
  variant.placement = "cyclic on " + std::to_string(nodes) + " x juropa";
  for (const topology::Place& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
  std::vector<Variant> result;
  for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
    variant.carrier = static_cast<plan::Carrier>(carrier);
    if (!row.carries(variant.carrier)) continue;
    variant.plans = build_plans(variant);
    result.push_back(variant);
  }
  return result;
}

}  // namespace copse::analysis
