// Variants of very many ranks, which sit in blocks on as many nodes as give each rank a core.
#pragma once

#include <memory>
#include <string>

#include "analysis/variants.hpp"

namespace copse::analysis {

// The variant has one helper for each node if the algorithm needs helpers. It has no plans.
inline Variant variant_of(const algorithms::Algorithm& row, plan::Carrier carrier, int ranks, const topology::Machine& machine) {
  const int cores = static_cast<int>(machine.cores().size()), nodes = (ranks + cores - 1) / cores;
  Variant variant;
  variant.row = &row;
  variant.ranks = ranks;
  variant.helpers = row.served() ? nodes : 0;
  variant.carrier = carrier;
  variant.places = std::make_shared<topology::Placement>(make_placement(0, machine, nodes, ranks));
  variant.placement = "block on " + std::to_string(nodes) + " x " + machine.name();
  for (const auto& place : *variant.places)
    if (nodes > 1) variant.nodes.push_back(place.at(topology::Level::node));
  return variant;
}

// On nodes like ig, of 48 cores.
inline Variant variant_of(const algorithms::Algorithm& row, plan::Carrier carrier, int ranks) {
  static const topology::Machine machine = topology::Machine::from("ig");
  return variant_of(row, carrier, ranks, machine);
}

// Returns why the variant has no plans (Algorithm::refusal).
inline std::string refusal_of(const Variant& variant) {
  algorithms::Request request;
  request.ranks = variant.ranks;
  request.helpers = variant.helpers;
  request.carrier = variant.carrier;
  request.radix = variant.radix;
  request.places = variant.places.get();
  return variant.row->refusal(request);
}

}  // namespace copse::analysis
