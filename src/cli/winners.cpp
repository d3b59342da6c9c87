// Finds the winners, on all processors.
#include "cli/winners.hpp"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/workers.hpp"

namespace copse::cli {
namespace {

using algorithms::Collective;

constexpr int kMostRanks = 32;  // unless the user says more, for which prices take much longer
constexpr std::size_t kLeast = 8, kMost = std::size_t{4} << 20;

// A way that was the cheapest so far for some size.
struct Winner {
  std::size_t bytes = 0;
  choose::Decision decision;
  double ns = price::kTooLong;
};

// Some algorithms do the same on one node. Of algorithms that differ by less than this, the first in the registry wins, which is
// the simplest.
constexpr double kTie = 1.001;

std::vector<std::size_t> sizes_of(const PricedCall& call) {
  const algorithms::Traits& traits = algorithms::traits_of(call.collective);
  if (!traits.moves_data) return {0};
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = kLeast; bytes < kMost; bytes *= 4)
    if (!traits.reduces || bytes % call.reduction.element_bytes == 0) sizes.push_back(bytes);
  sizes.push_back(kMost);
  return sizes;
}

// Prices a way for all sizes before it goes on to the next way, because the plans of a way are the same for all sizes. Single
// copies come first: they are cheap for long messages, so that the walks of slots, which take the longest, end early. Only a call
// alone is priced, and only radix 2, because more calls or radices would take several times as long.
std::vector<Winner> winners_of(const Pricer& pricer, PricedCall call) {
  constexpr int kRadices[] = {2};
  constexpr std::size_t kFragments[] = {0, 32768};
  struct Question {
    std::size_t winner;
    choose::Decision way;
  };
  std::vector<Winner> winners;
  std::vector<Question> questions;
  call.calls = 1;
  for (const std::size_t bytes : sizes_of(call)) {
    winners.push_back({bytes, {}, price::kTooLong});
    call.bytes = bytes;
    const std::vector<choose::Decision> ways = pricer.ways(call, kRadices, kFragments);
    if (ways.empty()) refuse("nothing can run " + std::string(algorithms::name_of(call.collective)));
    for (const choose::Decision& way : ways) questions.push_back({winners.size() - 1, way});
  }
  std::stable_sort(questions.begin(), questions.end(), [](const Question& a, const Question& b) {
    return std::pair(b.way.carrier, a.way.algorithm) < std::pair(a.way.carrier, b.way.algorithm);
  });
  std::optional<analysis::Variant> variant;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const auto& [number, way] = questions[i];
    if (i == 0 || !is_same_way(way, questions[i - 1].way)) variant = pricer.variant_of(way);
    Winner& winner = winners[number];
    call.bytes = winner.bytes;
    call.most = winner.ns * kTie;
    const double ns = pricer.price(call, way, *variant).ns;
    const bool ties = ns <= winner.ns * kTie && ns * kTie >= winner.ns;
    if (ties ? way.algorithm < winner.decision.algorithm : ns < winner.ns) winner = {winner.bytes, way, ns};
  }
  return winners;
}

std::string json_of(const price::Parameters& machine, int ranks, Collective collective, const std::vector<Winner>& winners) {
  std::vector<std::string> objects;
  for (const Winner& winner : winners)
    objects.push_back("{\"bytes\": " + std::to_string(winner.bytes) + ", \"algorithm\": " +
                      quoted(winner.decision.algorithm->name) + ", \"carrier\": " + quoted(plan::name_of(winner.decision.carrier)) +
                      ", \"fragment_bytes\": " + std::to_string(winner.decision.fragment_bytes) +
                      ", \"ns\": " + with_format("%.3f", winner.ns) + "}");
  return "{\"machine\": " + quoted(machine.name) + ", \"title\": " + quoted(machine.title) +
         ", \"ranks\": " + std::to_string(ranks) + ", \"collective\": " + quoted(algorithms::name_of(collective)) +
         ", \"blocks\": " + (algorithms::traits_of(collective).has_blocks() ? "true" : "false") +
         ", \"winners\": " + json_list(objects) + "}";
}

}  // namespace

void print_winners(const WinnersQuery& query) {
  std::vector<price::Parameters> machines;
  for (const std::string& name : query.machines) machines.push_back(price::parameters_of(name));
  const std::size_t calls = query.collectives.size();
  std::vector<std::string> objects(machines.size() * calls);
  std::vector<std::size_t> order(objects.size());
  const auto ranks_on = [&](const price::Parameters& machine) {
    return query.ranks > 0 ? query.ranks : std::min(kMostRanks, static_cast<int>(machine.machine.cores().size()));
  };
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return ranks_on(machines[a / calls]) > ranks_on(machines[b / calls]); });
  Tasks tasks;
  tasks.count = order.size();
  tasks.where = [&](std::size_t task) { return machines[order[task] / calls].name; };
  tasks.run = [&](std::size_t task) -> std::string {
    const std::size_t number = order[task];
    const price::Parameters& machine = machines[number / calls];
    const int ranks = ranks_on(machine);
    choose::Situation situation = query.situation;
    situation.oversubscribed = ranks > static_cast<int>(machine.machine.cores().size());
    try {
      const Pricer pricer(machine, situation, analysis::make_placement(0, machine.machine, 1, ranks));
      PricedCall call = query.call;
      call.collective = query.collectives[number % calls];
      objects[number] = json_of(machine, ranks, call.collective, winners_of(pricer, call));
      return {};
    } catch (const std::exception& error) {
      return machine.name + " has no price for these calls: " + error.what();
    }
  };
  if (const std::string failed = run(tasks); !failed.empty()) throw std::invalid_argument(failed);
  std::printf("%s\n", json_list(objects).c_str());
}

}  // namespace copse::cli
