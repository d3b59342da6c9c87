// Lists what else could run.
#include "choose/alternatives.hpp"

#include <algorithm>

#include "choose/chooser.hpp"
#include "choose/recorded.hpp"
#include "choose/rules.hpp"
#include "choose/settling.hpp"

namespace copse::choose {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

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

}  // namespace copse::choose
