// Applies the rules and the user's overrides.
#include "choose/chooser.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace copse::choose {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

// Tells whether the bounds hold `bytes`. Narrows the sizes to which a decision applies to those with the same answer.
bool narrows(Decision &decision, const Bounds &bounds, std::size_t bytes) {
  if (bounds.hold(bytes)) {
    decision.from = std::max(decision.from, bounds.from);
    decision.to = std::min(decision.to, bounds.to);
    return true;
  }
  if (bytes < bounds.from) decision.to = std::min(decision.to, bounds.from - 1);
  if (bytes > bounds.to) decision.from = std::max(decision.from, bounds.to + 1);
  return false;
}

// Returns the decision of the first rule that applies.
Decision by_rule(const Situation &situation, Collective collective, std::size_t bytes, Needs needs) {
  const Facts facts = facts_of(situation, collective, needs);
  Decision decision;
  for (const Rule &rule : rules()) {
    if (!rule.applies(collective, situation.ranks, facts)) continue;
    if (!narrows(decision, rule.bytes.of_one(situation.ranks), bytes)) continue;
    decision.rule = &rule;
    decision.algorithm = &algorithms::all()[static_cast<std::size_t>(rule.algorithm)];
    decision.carrier = rule.carrier;
    decision.radix = rule.radix;
    decision.fragment_bytes = bytes_of(rule.pieces, situation);
    break;
  }
  return decision;
}

algorithms::Request request_for(const Situation &situation, const Decision &decision) {
  algorithms::Request request;
  request.collective = decision.algorithm->collective;
  request.ranks = situation.ranks;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.places = situation.places;
  return request;
}

algorithms::Footprint footprint_of(const Situation &situation, const Decision &decision) {
  return decision.algorithm->footprint(request_for(situation, decision));
}

// Returns the size up to which values ride. A value rides as long as the rules would not have its blocks read or written where
// they lie. A value that does not fit in a slot cannot ride. It must go by the kernel, even if that costs more. Blocks that are
// packed ride together.
std::size_t longest_ride(const Situation &situation, Collective collective, std::uint32_t pack) {
  std::size_t bytes = 0;
  while (bytes < kLargestSlot) {
    const Decision next = by_rule(situation, collective, bytes + 1, {});
    if (next.carrier == Carrier::get || next.carrier == Carrier::put) break;
    bytes = std::min(next.to, kLargestSlot);
  }
  return bytes * pack;
}

// Returns the size up to which blocks ride for certain. A rank's blocks may ride together, with a table of their ends.
std::size_t longest_of_all(const Decision &decision) {
  const std::size_t most = std::min(decision.ride_bytes, kLargestSlot) / decision.footprint.pack;
  return most - std::min(most, sizeof(std::uint32_t));
}

// Settles the carrier for `bytes`. It is the wanted one, or otherwise one that the algorithm has. Returns false if there is
// none, because the algorithm cannot run then.
bool settle_carrier(Decision &decision, const Situation &situation, std::size_t bytes, Needs needs) {
  const std::array carriers = {decision.carrier, Carrier::slot, Carrier::get, Carrier::put, Carrier::line};
  return std::any_of(carriers.begin(), carriers.end(), [&](Carrier carrier) {
    decision.carrier = carrier;
    if (!decision.algorithm->carries(carrier)) return false;
    decision.footprint = footprint_of(situation, decision);
    const std::size_t least = needs.wide ? kLargestSlot / static_cast<std::size_t>(situation.ranks) + 1 : 1;  // bytes of an element
    if (decision.footprint.slots && decision.footprint.pack > 1 && decision.footprint.pack * least > kLargestSlot) return false;
    if (decision.algorithm->rides()) decision.ride_bytes = longest_ride(situation, decision.algorithm->collective, decision.footprint.pack);
    if (decision.footprint.slots && decision.algorithm->rides()) return narrows(decision, {0, longest_of_all(decision)}, bytes);
    if (carrier == Carrier::line) return narrows(decision, {0, plan::kLinePayloadBytes / decision.footprint.pack}, bytes);
    return carrier == Carrier::slot || situation.addressable;
  });
}

void fragment(Decision &decision, const Fragmentation &by_user) {
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

}  // namespace

Decision choose(const Settings &settings, const Situation &situation, Collective collective, std::size_t bytes, Needs needs) {
  Decision standard = by_rule(situation, collective, bytes, needs);
  Decision decision = standard;
  const Forced *const forced = settings.forced_for(collective);
  if (forced != nullptr && (!needs.strict || forced->algorithm->strict())) {
    decision.forced = true;
    decision.algorithm = forced->algorithm;
    decision.radix = forced->radix.value_or(2);
    if (forced->carrier) decision.carrier = *forced->carrier;
  }
  const bool runs = settle_carrier(decision, situation, bytes, needs) &&
                    (!decision.forced || decision.algorithm->refusal(request_for(situation, decision)).empty());
  if (!runs && decision.forced) {
    standard.from = decision.from;  // the forced algorithm may be able to run other sizes
    standard.to = decision.to;
    settle_carrier(standard, situation, bytes, needs);
    decision = standard;
  }
  fragment(decision, settings.fragment);
  return decision;
}

plan::Rings rings_for(bool oversubscribed, int ranks) {
  // Few lines stay in the first cache. Many lines let a root run far ahead of ranks that wait for a processor.
  if (oversubscribed) return {512, {{{256, 1024}, {64, 8192}, {16, kLargestSlot}}}};
  // A slot is filled fastest once the reader's second cache has dropped it, so the rings of few ranks come round only
  // after 2 MiB.
  const auto large = std::max(8U, std::bit_floor(64U / static_cast<std::uint32_t>(ranks)));
  return {64, {{{32, 1024}, {16, 8192}, {large, kLargestSlot}}}};
}

Cut cut(const plan::SlotClasses &slots, const Decision &decision, std::size_t count, std::size_t element_bytes) {
  Cut cut;
  const algorithms::Footprint &footprint = decision.footprint;
  const std::size_t bytes = count * element_bytes;
  std::size_t fragment_bytes = decision.fragment_bytes;
  if (decision.halves && bytes >= kHalvesFrom) fragment_bytes = (bytes + 1) / 2;
  if (decision.carrier != Carrier::line) {
    const std::size_t most = slots.back().bytes / footprint.pack;
    if (footprint.slots && (fragment_bytes == 0 || fragment_bytes > most)) fragment_bytes = most;
    if (fragment_bytes > 0) cut.fragment_count = std::max<std::size_t>(1, fragment_bytes / element_bytes);
  }
  if (footprint.slots) {
    const std::size_t largest = cut.fragment_count == 0 ? count : std::min(count, cut.fragment_count);
    cut.slot_class = plan::class_for(slots, largest * element_bytes * footprint.pack);
  }
  return cut;
}

Resolution resolve(const Settings &settings, const Situation &situation, Collective collective, std::size_t count,
                   std::size_t element_bytes, bool strict) {
  const Needs needs = needs_of(collective, situation.ranks, element_bytes, strict);
  const Decision decision = choose(settings, situation, collective, count * element_bytes, needs);
  return {decision, cut(rings_for(situation.oversubscribed, situation.ranks).slots, decision, count, element_bytes)};
}

std::optional<Decision> without_sizes(const Settings &settings, const Situation &situation, Collective collective) {
  if (situation.nodes > 1 || settings.forced_for(collective) != nullptr) return std::nullopt;
  for (const Algorithm &row : algorithms::all()) {
    if (row.collective != collective || !row.rides()) continue;
    Decision decision;
    decision.algorithm = &row;
    for (const Carrier carrier : {Carrier::slot, Carrier::get, Carrier::put})
      if (row.carries(carrier)) decision.carrier = carrier;
    if (decision.carrier != Carrier::slot && !situation.anywhere) continue;
    decision.footprint = footprint_of(situation, decision);
    decision.ride_bytes = longest_ride(situation, collective, decision.footprint.pack);
    return decision;
  }
  return std::nullopt;
}

}  // namespace copse::choose
