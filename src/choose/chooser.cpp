// Applies the rules and the user's overrides.
#include "choose/chooser.hpp"

#include <algorithm>
#include <span>

#include "choose/recorded.hpp"
#include "choose/rules.hpp"
#include "choose/settling.hpp"
#include "choose/table.hpp"

namespace copse::choose {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

namespace {

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
      if (!narrows(decision, bounds_of(rule, situation), bytes)) continue;
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
    static_cast<void>(settle_carrier(standard, situation, bytes, needs));
    decision = standard;
  }
  fragment(decision, settings.fragment);
  return decision;
}

bool may_delegate(const Settings& settings) {
  const auto forced = [](const Forced& each) { return each.algorithm->delegates(); };
  const auto stands = [](const Rule& rule) {
    return rule.algorithm != kByMpi && algorithms::every()[static_cast<std::size_t>(rule.algorithm)].delegates();
  };
  if (std::any_of(settings.forced.begin(), settings.forced.end(), forced)) return true;
  return settings.table != nullptr && std::any_of(settings.table->rules.begin(), settings.table->rules.end(), stands);
}

Resolution resolve(const Settings& settings, const Situation& situation, Collective collective, std::size_t count,
                   std::size_t element_bytes, Needs needs) {
  const Decision decision = choose(settings, situation, collective, count * element_bytes, needs);
  return {decision, cut(rings_for(situation.oversubscribed, situation.ranks).slots, decision, count, element_bytes)};
}

std::optional<Decision> without_sizes(const Settings& settings, const Situation& situation, Collective collective) {
  const Forced* const forced = settings.forced_for(collective);
  for (const Algorithm& row : algorithms::all()) {
    if (row.collective != collective || !row.rides() || (forced != nullptr && forced->algorithm != &row)) continue;
    Decision decision;
    decision.algorithm = &row;
    for (const Carrier carrier : {Carrier::slot, Carrier::get, Carrier::put})
      if (row.carries(carrier)) decision.carrier = carrier;
    if (forced != nullptr && forced->carrier.value_or(decision.carrier) != decision.carrier) continue;
    const bool letters = decision.carrier == Carrier::slot;  // they must reach all ranks
    if (letters ? situation.nodes > 1 : !situation.anywhere) continue;
    decision.footprint = footprint_of(situation, decision);
    decision.ride_bytes = longest_ride(situation, decision);
    if (decision.footprint.slots) decision.to = longest_of_all(decision);
    return decision;
  }
  return std::nullopt;
}

}  // namespace copse::choose
