// Applies the rules and the user's overrides.
#include "choose/chooser.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "choose/recorded.hpp"
#include "choose/table.hpp"

namespace copse::choose {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

// Tells whether `bytes` lies within the bounds. Narrows the sizes to which the decision applies to the sizes with the same answer.
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

// Makes the decision that the rule states.
void follow(Decision& decision, const Rule& rule, const Situation& situation) {
  decision.rule = &rule;
  decision.algorithm = &algorithms::every()[static_cast<std::size_t>(rule.algorithm)];
  decision.carrier = rule.carrier;
  decision.radix = rule.radix;
  decision.fragment_bytes = fragment_bytes_of(rule, situation);
}

// Returns the decision of the first built-in rule that applies. `decision` holds the sizes for which no earlier rule applies.
Decision by_rule(const Situation& situation, Collective collective, std::size_t bytes, Needs needs, Decision decision = {}) {
  const Facts facts = facts_of(situation, collective, needs);
  for (const Rule& rule : rules()) {
    if (!rule.applies(collective, situation.ranks, facts)) continue;
    if (!narrows(decision, rule.bytes.of_one(situation.ranks), bytes)) continue;
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
  return request;
}

algorithms::Footprint footprint_of(const Situation& situation, const Decision& decision) {
  return decision.algorithm->footprint(request_for(situation, decision));
}

// Returns the size up to which values ride. A value rides if rules.def would send its blocks through lines or slots. A value that
// does not fit in a slot cannot ride. It must go by the kernel, even if that costs more. Blocks that are packed ride together. An
// algorithm that uses only slots cannot move a value that does not ride. If there is such a value, another algorithm makes the call
// anew.
std::size_t longest_ride(const Situation& situation, const Decision& decision) {
  Needs needs;
  needs.untold = decision.carrier != Carrier::slot;
  std::size_t bytes = 0;
  while (bytes < kLargestSlot) {
    const Decision next = by_rule(situation, decision.algorithm->collective, bytes + 1, needs);
    if (next.carrier == Carrier::get || next.carrier == Carrier::put) break;
    bytes = std::min(next.to, kLargestSlot);
  }
  return bytes * decision.footprint.pack;
}

// Tells whether the decision's algorithm can run `bytes` by the decision's carrier. Sets the footprint, and the size up to which
// values ride. Narrows the decision to the sizes with the same answer.
bool settle(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs) {
  const Carrier carrier = decision.carrier;
  if (!decision.algorithm->carries(carrier)) return false;
  if (decision.algorithm->delegates() && (!situation.delegates || needs.alien)) return false;
  decision.footprint = footprint_of(situation, decision);
  const std::size_t least = needs.wide ? kLargestSlot / static_cast<std::size_t>(situation.ranks) + 1 : 1;  // of an element
  if (decision.footprint.slots && decision.footprint.pack > 1 && decision.footprint.pack * least > kLargestSlot) return false;
  if (decision.algorithm->rides()) decision.ride_bytes = longest_ride(situation, decision);
  if (decision.footprint.slots && decision.algorithm->rides()) return narrows(decision, {0, longest_of_all(decision)}, bytes);
  if (carrier == Carrier::line) return narrows(decision, {0, plan::kLinePayloadBytes / decision.footprint.pack}, bytes);
  return carrier == Carrier::slot || situation.addressable;
}

// Settles the carrier for `bytes`: the carrier that is wanted, or otherwise another carrier that the algorithm has. Returns false
// if no carrier can run `bytes`.
bool settle_carrier(Decision& decision, const Situation& situation, std::size_t bytes, Needs needs) {
  const std::array carriers = {decision.carrier, Carrier::slot, Carrier::get, Carrier::put, Carrier::line};
  return std::any_of(carriers.begin(), carriers.end(), [&](Carrier carrier) {
    decision.carrier = carrier;
    return settle(decision, situation, bytes, needs);
  });
}

// Returns the decision of the first row that applies and can run the call. After the table come the built-in rules that ask where
// buffers lie, the rows of the machine that is most like this one, and the other built-in rules. For calls whose ranks need not
// wait for one another, the table comes second, because no row of it was measured with such calls. If a row names the MPI's own
// collective, the search goes on for an algorithm, because some calls cannot be passed on. Such a row does not apply if another
// MPI was measured.
Decision by_table(const Settings& settings, const Situation& situation, Collective collective, std::size_t bytes, Needs needs) {
  const Table* const table = settings.table.get();
  const bool asks_mpi = situation.mpi && !(table != nullptr && table->is_of_another_mpi(settings.mpi));
  Decision decision;
  const Facts facts = facts_of(situation, collective, needs);
  const Rule* outside = nullptr;
  // Up to `tried` ranks, all rows are known to have plans.
  const auto find_in = [&](std::span<const Rule> rules, int tried, bool for_placed = false) {
    for (const Rule& rule : rules) {
      if (for_placed && !rule.is_for_placed()) continue;
      if (!rule.applies(collective, situation.ranks, facts) || (rule.algorithm == kByMpi && !asks_mpi)) continue;
      if (!narrows(decision, rule.bytes.of_one(situation.ranks), bytes)) continue;
      if (rule.algorithm == kByMpi) {
        if (outside == nullptr) outside = &rule;
        continue;
      }
      Decision next = decision;
      follow(next, rule, situation);
      const bool runs = (!needs.strict || next.algorithm->strict()) && settle(next, situation, bytes, needs) &&
                        (situation.ranks <= tried || next.algorithm->refusal(request_for(situation, next)).empty());
      decision.from = next.from;
      decision.to = next.to;
      if (!runs) continue;
      decision = next;
      return true;
    }
    return false;
  };
  if (needs.early && find_in(rules(), kTriedRanks, true)) return decision;
  const bool found = (table != nullptr && find_in(table->rules, 0)) || (needs.placed && find_in(rules(), kTriedRanks, true)) ||
                     find_in(recorded_rules(situation.like), kTriedRanks);
  needs.placed = needs.early = false;
  if (!found) decision = by_rule(situation, collective, bytes, needs, decision);
  if (outside == nullptr) return decision;
  decision.outside = true;
  decision.rule = outside;
  return decision;
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

}  // namespace

Decision choose(const Settings& settings, const Situation& situation, Collective collective, std::size_t bytes, Needs needs) {
  const Forced* const forced = settings.forced_for(collective);
  if (forced != nullptr) needs.placed = needs.early = false;  // a carrier that the user does not name is that of other calls
  Decision standard = by_table(settings, situation, collective, bytes, needs);
  Decision decision = standard;
  if (forced != nullptr && (!needs.strict || forced->algorithm->strict())) {
    decision.forced = true;
    decision.outside = false;
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

std::vector<Decision> candidates(const Situation& situation, Collective collective, std::size_t bytes, Needs needs,
                                 std::span<const int> radices, std::span<const std::size_t> fragments) {
  std::vector<Decision> result;
  for (const Algorithm& row : algorithms::all()) {
    if (row.collective != collective || (needs.strict && !row.strict())) continue;
    for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
      for (const int radix : radices) {
        Decision decision;
        decision.algorithm = &row;
        decision.carrier = static_cast<Carrier>(carrier);
        decision.radix = radix;
        if (!settle(decision, situation, bytes, needs) || !row.refusal(request_for(situation, decision)).empty()) continue;
        const bool cuts = row.fragments && decision.carrier != Carrier::line;
        for (const std::size_t fragment : fragments) {
          if (fragment > 0 && (!cuts || fragment >= bytes)) continue;
          // Such a fragment fills the largest slot, as a fragment of size 0 does.
          if (fragment > 0 && decision.footprint.slots && fragment * decision.footprint.pack >= kLargestSlot) continue;
          decision.fragment_bytes = fragment;
          result.push_back(decision);
        }
      }
    }
  }
  return result;
}

namespace {

// The most bytes of a fragment, unless messages are cut into halves.
std::size_t longest_fragment(const Decision& decision) {
  const std::size_t most = decision.footprint.slots ? kLargestSlot / decision.footprint.pack : Bounds{}.to;
  return decision.fragment_bytes == 0 ? most : std::min(most, decision.fragment_bytes);
}

// Tells whether both decisions cut all messages of their sizes into the same fragments.
bool are_cut_alike(const Decision& a, const Decision& b) {
  const std::size_t of_a = longest_fragment(a), of_b = longest_fragment(b);
  if (a.halves || b.halves) return a.halves == b.halves && a.footprint.slots == b.footprint.slots && of_a == of_b;
  return of_a == of_b || std::min(of_a, of_b) >= a.to;
}

}  // namespace

Bounds size_class_of(std::size_t bytes) {
  std::size_t to = plan::kLinePayloadBytes, from = 0;
  for (int i = 0; i + 1 < kSizeClasses; ++i) {
    if (bytes <= to) return {from, to};
    from = to + 1;
    to = i == 0 ? 512 : 4 * to;
  }
  return {from};
}

std::vector<Decision> by_size_class(const Settings& settings, const Situation& situation, Collective collective, Needs needs) {
  std::vector<Decision> result;
  for (std::size_t bytes = 0;; bytes = result.back().to + 1) {
    result.push_back(choose(settings, situation, collective, bytes, needs));
    Decision& decision = result.back();
    static_cast<void>(narrows(decision, size_class_of(bytes), bytes));
    if (decision.to == Bounds{}.to) return result;
  }
}

std::vector<Decision> ways(const Settings& settings, const Situation& situation, const Decision& chosen, Needs needs,
                           bool same_bits) {
  constexpr std::size_t kMost = 8;
  std::vector<Decision> result{chosen};
  if (chosen.forced || chosen.outside || !is_of_ours(*chosen.rule)) return result;
  const Collective collective = chosen.algorithm->collective;
  // Two operands in the order of the ranks are combined in one way only. In the other order the bits may differ, for instance of
  // MAX of 0 and -0.
  const bool in_order = same_bits && situation.ranks == 2 && chosen.algorithm->strict();
  const auto add = [&](Decision way) {
    const auto is_same = [&](const Decision& other) {
      return other.algorithm == way.algorithm && other.carrier == way.carrier && other.radix == way.radix;
    };
    if (result.size() == kMost || std::any_of(result.begin(), result.end(), is_same)) return;
    if (needs.strict && !way.algorithm->strict()) return;
    if (same_bits && !in_order && (way.algorithm != chosen.algorithm || way.radix != chosen.radix)) return;
    if (in_order && !way.algorithm->strict()) return;
    way.rule = chosen.rule;
    way.from = chosen.from;
    way.to = chosen.to;
    if (!settle(way, situation, chosen.from, needs) || way.from != chosen.from || way.to != chosen.to) return;
    fragment(way, settings.fragment);
    if (!way.algorithm->refusal(request_for(situation, way)).empty()) return;
    if (same_bits && !in_order && !are_cut_alike(way, chosen)) return;
    result.push_back(way);
  };
  const auto add_by = [&](const Rule& rule) {
    Decision way = chosen;
    follow(way, rule, situation);
    add(way);
  };
  add_by(*by_rule(situation, collective, chosen.from, needs).rule);
  for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
    Decision way = chosen;
    way.carrier = static_cast<Carrier>(carrier);
    add(way);
  }
  for (const std::span<const Rule> some : {rules(), recorded_rules(situation.like)}) {
    for (const Rule& rule : some) {
      if (rule.is_for_placed()) continue;  // such calls do not learn
      if (rule.collective == collective && rule.ranks.hold(static_cast<std::size_t>(situation.ranks))) add_by(rule);
    }
  }
  // Where ranks take turns, a rank that waits in the MPI may keep its processor for whole time slices.
  if (situation.mpi && !same_bits && !situation.oversubscribed) {
    result.push_back(chosen);
    result.back().outside = true;
  }
  return result;
}

bool may_delegate(const Settings& settings) {
  const auto forced = [](const Forced& each) { return each.algorithm->delegates(); };
  const auto stands = [](const Rule& rule) {
    return rule.algorithm != kByMpi && algorithms::every()[static_cast<std::size_t>(rule.algorithm)].delegates();
  };
  if (std::any_of(settings.forced.begin(), settings.forced.end(), forced)) return true;
  return settings.table != nullptr && std::any_of(settings.table->rules.begin(), settings.table->rules.end(), stands);
}

Rule rule_for(const Decision& decision, const Situation& situation) {
  Rule rule;
  rule.collective = decision.algorithm->collective;
  rule.bytes = {decision.from, decision.to};
  const auto ranks = static_cast<std::size_t>(situation.ranks);
  rule.ranks = {ranks, ranks};
  constexpr Facts kAsked = kNodes | kRegions | kTurns | kReach;
  const Facts facts = facts_of(situation, rule.collective, {});
  const Facts asked = (facts & kReach) != 0 ? kAsked | kLoads : kAsked;
  rule.with = facts & asked;
  rule.without = static_cast<Facts>(~facts & asked);
  rule.algorithm = decision.outside ? kByMpi : static_cast<int>(decision.algorithm - algorithms::all().data());
  rule.carrier = decision.carrier;
  rule.radix = decision.radix;
  if (!decision.outside && decision.fragment_bytes > 0 && decision.algorithm->fragments && decision.carrier != Carrier::line) {
    rule.pieces = Pieces::fixed;
    rule.fragment_bytes = decision.fragment_bytes;
  }
  return rule;
}

plan::Rings rings_for(bool oversubscribed, int ranks) {
  // Few lines stay in the first cache. Many lines let a root run far ahead of ranks that wait for a processor.
  if (oversubscribed) return {512, {{{256, 1024}, {64, 8192}, {16, kLargestSlot}}}};
  // A slot is filled fastest once the reader's second cache has dropped it, so the rings of few ranks come round only
  // after 2 MiB.
  const auto large = std::max(std::uint32_t{plan::kLeastDepth}, std::bit_floor(64U / static_cast<std::uint32_t>(ranks)));
  return {64, {{{32, 1024}, {16, 8192}, {large, kLargestSlot}}}};
}

Cut cut(const plan::SlotClasses& slots, const Decision& decision, std::size_t count, std::size_t element_bytes) {
  Cut cut;
  const algorithms::Footprint& footprint = decision.footprint;
  const std::size_t bytes = count * element_bytes;
  std::size_t fragment_bytes = decision.fragment_bytes;
  if (decision.halves && bytes > kHalvesAbove) fragment_bytes = (bytes + 1) / 2;
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

Resolution resolve(const Settings& settings, const Situation& situation, Collective collective, std::size_t count,
                   std::size_t element_bytes, Needs needs) {
  const Decision decision = choose(settings, situation, collective, count * element_bytes, needs);
  return {decision, cut(rings_for(situation.oversubscribed, situation.ranks).slots, decision, count, element_bytes)};
}

// A rank's blocks may ride together, with a table of their ends.
std::size_t longest_of_all(const Decision& decision) {
  const std::size_t most = std::min(decision.ride_bytes, kLargestSlot) / decision.footprint.pack;
  return most - std::min(most, sizeof(std::uint32_t));
}

std::optional<Decision> without_sizes(const Settings& settings, const Situation& situation, Collective collective) {
  // Between nodes, these algorithms send each block straight from rank to rank. That is good only for calls among neighbours.
  const bool apart = situation.nodes > 1 && !algorithms::traits_of(collective).along_edges;
  if (apart || settings.forced_for(collective) != nullptr) return std::nullopt;
  for (const Algorithm& row : algorithms::all()) {
    if (row.collective != collective || !row.rides()) continue;
    Decision decision;
    decision.algorithm = &row;
    for (const Carrier carrier : {Carrier::slot, Carrier::get, Carrier::put})
      if (row.carries(carrier)) decision.carrier = carrier;
    if (decision.carrier != Carrier::slot && !situation.anywhere) continue;
    decision.footprint = footprint_of(situation, decision);
    decision.ride_bytes = longest_ride(situation, decision);
    if (decision.footprint.slots) decision.to = longest_of_all(decision);
    return decision;
  }
  return std::nullopt;
}

}  // namespace copse::choose
