// A question about one way of a call on a machine, with its plans.
#pragma once

#include <memory>
#include <string_view>

#include "price/price.hpp"

namespace copse::price {

// Without a number of ranks, there is one for each core.
inline Question question_of(const Parameters& machine, algorithms::Collective collective, std::string_view name,
                            plan::Carrier carrier, std::size_t bytes, int ranks = 0, int nodes = 1) {
  Question question;
  analysis::Variant& variant = question.variant;
  variant.row = algorithms::find(collective, name);
  variant.carrier = carrier;
  variant.ranks = ranks == 0 ? static_cast<int>(machine.machine.cores().size()) : ranks;
  variant.places = std::make_shared<topology::Placement>(analysis::make_placement(0, machine.machine, nodes, variant.ranks));
  if (nodes > 1)
    for (const topology::Place& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
  variant.plans = analysis::build_plans(variant);
  question.bytes = bytes;
  return question;
}

}  // namespace copse::price
