// Follows rules, and finds what can run a size.
#include "choose/settling.hpp"

#include <algorithm>
#include <array>

#include "choose/cutting.hpp"
#include "choose/rules.hpp"

namespace copse::choose {

using algorithms::Collective;
using plan::Carrier;

bool narrows(Decision& decision, const Bounds& bounds, std::size_t bytes) {
  if (bounds.hold(bytes)) {
    decision.from = std::max(decision.from, bounds.from);
    decision.to = std::min(decision.to, bounds.to);
    return true;
  }
  if (bytes < bounds.from) decision.to = std::min(decision.to, bounds.from - 1);
  if (bytes > bounds.to) decision.from = std::max(decision.from, bounds.to + 1);
  return false;
}

void follow(Decision& decision, const Rule& rule, const Situation& situation) {
  decision.rule = &rule;
  decision.algorithm = &algorithms::every()[static_cast<std::size_t>(rule.algorithm)];
  decision.carrier = rule.carrier;
  decision.radix = rule.radix;
  decision.fragment_bytes = fragment_bytes_of(rule, situation);
}

Bounds bounds_of(const Rule& rule, const Situation& situation) {
  Bounds bounds = rule.bytes.of_one(situation.ranks);
  if (rule.algorithm == kByMpi || !algorithms::traits_of(rule.collective).along_edges) return bounds;
  Decision decision;
  follow(decision, rule, situation);
  if (decision.algorithm->alike()) bounds.to = std::min(bounds.to, kLargestSlot / footprint_of(situation, decision).pack);
  return bounds;
}

Decision by_rule(const Situation& situation, Collective collective, std::size_t bytes, Needs needs, Decision decision) {
  const Facts facts = facts_of(situation, collective, needs);
  for (const Rule& rule : rules()) {
    if (!rule.applies(collective, situation.ranks, facts)) continue;
    if (!narrows(decision, bounds_of(rule, situation), bytes)) continue;
    follow(decision, rule, situation);
    break;
  }
  return decision;
}

algorithms::Request request_for(const Situation& situation, const Decision& decision) {
  algorithms::Request request;
  request.collective = decision.algorithm->collective;
  request.ranks = situation.ranks;
  request.helpers = situation.helpers;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.places = situation.places;
  if (situation.graph != nullptr && situation.graph->ranks() == situation.ranks) request.graph = situation.graph;
  return request;
}

algorithms::Footprint footprint_of(const Situation& situation, const Decision& decision) {
  return decision.algorithm->footprint(request_for(situation, decision));
}

std::size_t longest_ride(const Situation& situation, const Decision& decision) {
  Needs needs;
  needs.untold = decision.carrier != Carrier::slot;
  needs.strict = true;  // blocks that ride may differ in size
  std::size_t bytes = 0;
  while (bytes < kLargestSlot) {
    const Decision next = by_rule(situation, decision.algorithm->collective, bytes + 1, needs);
    if (next.carrier == Carrier::get || next.carrier == Carrier::put) break;
    bytes = std::min(next.to, kLargestSlot);
  }
  return bytes * decision.footprint.pack;
}

bool settle(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs) {
  const Carrier carrier = decision.carrier;
  if (!decision.algorithm->carries(carrier)) return false;
  if (decision.algorithm->delegates() && (!situation.delegates || needs.alien)) return false;
  decision.footprint = footprint_of(situation, decision);
  const std::size_t least = needs.wide ? kLargestSlot / static_cast<std::size_t>(situation.callers()) + 1 : 1;  // of an element
  if (decision.footprint.slots && decision.footprint.pack > 1 && decision.footprint.pack * least > kLargestSlot) return false;
  if (decision.algorithm->rides()) decision.ride_bytes = longest_ride(situation, decision);
  if (decision.footprint.slots && decision.algorithm->rides()) return narrows(decision, {0, longest_of_all(decision)}, bytes);
  if (carrier == Carrier::line) return narrows(decision, {0, plan::kLinePayloadBytes / decision.footprint.pack}, bytes);
  return carrier == Carrier::slot || situation.addressable;
}

bool settle_carrier(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs) {
  const std::array carriers = {decision.carrier, Carrier::slot, Carrier::get, Carrier::put, Carrier::line};
  return std::any_of(carriers.begin(), carriers.end(), [&](Carrier carrier) {
    decision.carrier = carrier;
    return settle(decision, situation, bytes, needs);
  });
}

void fragment(Decision& decision, const Fragmentation& by_user) {
  if (!decision.algorithm->fragments || decision.carrier == Carrier::line) {
    decision.fragment_bytes = 0;
    return;
  }
  switch (by_user.mode) {
    case Fragmentation::Mode::chosen: break;
    case Fragmentation::Mode::none: decision.fragment_bytes = 0; break;
    case Fragmentation::Mode::fixed: decision.fragment_bytes = by_user.bytes; break;
    case Fragmentation::Mode::halves: decision.halves = true; break;
  }
}

}  // namespace copse::choose
