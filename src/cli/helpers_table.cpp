// Prices a call with and without helpers, by the number of ranks and by the ranks for each helper.
#include "cli/helpers_table.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "choose/chooser.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"

namespace copse::cli {
namespace {

constexpr int kForEach = 8;  // ranks for each helper; the paper's best

// Ranks on whole nodes, in blocks, and the helpers spread over the nodes (CDCP Figure 4).
topology::Placement places_of(const price::Parameters& machine, int ranks, int helpers) {
  const int cores = static_cast<int>(machine.machine.cores().size()), all = ranks + helpers;
  const int nodes = (all + cores - 1) / cores;
  const topology::Placement grid = analysis::make_placement(0, machine.machine, nodes, nodes * cores);
  std::vector<int> free(static_cast<std::size_t>(nodes), cores);  // of each node
  topology::Placement callers, last;
  for (int i = 0; i < helpers; ++i) {
    const int node = i * nodes / helpers;
    last.push_back(grid[static_cast<std::size_t>(node * cores + --free[static_cast<std::size_t>(node)])]);
  }
  for (int node = 0; node < nodes; ++node)
    for (int core = 0; core < free[static_cast<std::size_t>(node)] && static_cast<int>(callers.size()) < ranks; ++core)
      callers.push_back(grid[static_cast<std::size_t>(node * cores + core)]);
  callers.insert(callers.end(), last.begin(), last.end());
  return callers;
}

struct Cell {
  int ranks = 0, helpers = 0;
  double latency = 0, overhead = 0;  // ns
};

// `situation` says how ranks reach one another's buffers.
Cell priced(const PricedCall& call, const price::Parameters& machine, choose::Situation situation, int ranks, int helpers) {
  const topology::Placement places = places_of(machine, ranks, helpers);
  situation.ranks = ranks + helpers;
  situation.helpers = helpers;
  situation.nodes = places.back().at(topology::Level::node) + 1;
  for (const topology::Place& place : places) situation.nodes = std::max(situation.nodes, place.at(topology::Level::node) + 1);
  const Pricer pricer(machine, situation, places);
  const choose::Needs needs = choose::needs_of(call.collective, ranks, call.reduction.element_bytes, false);
  const choose::Decision decision = choose::choose({}, pricer.situation(), call.collective, call.bytes, needs);
  const price::Price price = pricer.price(call, decision);
  return {ranks, helpers, price.ns, price.overhead_ns};
}

std::string ratio_text(const Cell& cell) { return "1:" + std::to_string(cell.ranks / cell.helpers); }

BreakEven break_even(const Cell& with, const Cell& without) {
  const double gain = 1 - with.latency / without.latency, share = static_cast<double>(with.helpers) / with.ranks;
  return {share, gain <= 0 ? -1 : share / gain};
}

// Returns members of a JSON object.
std::string json_of(const BreakEven& pays) {
  return "\"pays_from_overlapping\": " + with_format("%.6f", pays.overlapping) +
         ", \"pays_from_waiting\": " + (pays.waiting < 0 ? "null" : with_format("%.6f", pays.waiting));
}

std::string share_text(double share) { return share < 0 ? "-" : with_format("%.3f", share); }

std::vector<std::string> row(const Cell& with, const Cell& without) {
  return {std::to_string(with.ranks),  std::to_string(with.helpers), ratio_text(with),
          time_text(without.latency),  time_text(with.latency),      with_format("%.2f", without.latency / with.latency),
          time_text(without.overhead), time_text(with.overhead),     share_text(break_even(with, without).waiting)};
}

std::string json_of(const Cell& with, const Cell& without) {
  const auto part = [](const Cell& cell) {
    return "{\"latency_ns\": " + with_format("%.3f", cell.latency) + ", \"overhead_ns\": " + with_format("%.3f", cell.overhead) +
           "}";
  };
  return "{\"ranks\": " + std::to_string(with.ranks) + ", \"helpers\": " + std::to_string(with.helpers) +
         ", \"without\": " + part(without) + ", \"with\": " + part(with) + ", " + json_of(break_even(with, without)) + "}";
}

}  // namespace

void print_helpers(const PricedCall& call, const price::Parameters& machine, int ranks, bool json) {
  choose::Situation direct;
  direct.addressable = direct.direct = direct.anywhere = true;
  std::vector<std::vector<std::string>> table{
      {"ranks", "helpers", "ratio", "latency", "with helpers", "gain", "overhead", "with helpers", "pays from"}};
  std::vector<std::string> objects;
  const auto add = [&](int callers, int helpers, const Cell& without) {
    const Cell with = priced(call, machine, direct, callers, helpers);
    table.push_back(row(with, without));
    objects.push_back(json_of(with, without));
  };
  const int most = static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)));
  if (const std::size_t element = call.reduction.element_bytes; !choose::can_be_served(call.collective, most, element))
    refuse("helpers do not serve " + std::to_string(most) + " ranks that give one another blocks of elements of " +
           std::to_string(element) + " bytes; ask for fewer ranks (--ranks) or another type (--type)");
  for (int callers = std::min(16, most); callers < most; callers *= 2)
    add(callers, std::max(1, callers / kForEach), priced(call, machine, direct, callers, 0));
  const Cell without = priced(call, machine, direct, most, 0);
  for (int helpers = 1; helpers <= most / 2; helpers *= 2) add(most, helpers, without);
  if (json) {
    std::printf("%s\n", json_list(objects).c_str());
    return;
  }
  print_table(table);
  std::printf(
      "\n%s of %zu bytes on %s, whose nodes have %zu cores. Helpers have processors of their own, spread over the nodes. Latency: "
      "from\n"
      "one call to the next. Overhead: what a rank does itself. Pays from: the calls' share of the computation from which the "
      "program\n"
      "gains although the helpers do not compute; if the calls overlap with it, from the ratio on.\n",
      std::string(algorithms::name_of(call.collective)).c_str(), call.bytes, machine.name.c_str(), machine.machine.cores().size());
}

std::optional<HelpersAdvice> advise_on_helpers(const PricedCall& call, const price::Parameters& machine,
                                               const choose::Situation& situation) {
  const int ranks = situation.ranks;
  const auto rows = algorithms::every();
  if (std::none_of(rows.begin(), rows.end(), [&](const auto& row) { return row.collective == call.collective && row.served(); }) ||
      !choose::can_be_served(call.collective, ranks, call.reduction.element_bytes))
    return std::nullopt;
  const int left = static_cast<int>(machine.machine.cores().size()) - ranks;
  if (left < 1 || situation.oversubscribed) return HelpersAdvice{};
  const Cell without = priced(call, machine, situation, ranks, 0);
  const Cell with = priced(call, machine, situation, ranks, std::min(left, std::max(1, ranks / kForEach)));
  return HelpersAdvice{with.helpers, with.latency, with.overhead, without.latency, without.overhead, break_even(with, without)};
}

std::string HelpersAdvice::text() const {
  if (helpers == 0) return "none: each processor of the node has a rank";
  const std::string times = "with " + std::to_string(helpers) + ", a rank's own work is " + time_text(overhead) + ", not " +
                            time_text(without_overhead) + ", and a call takes " + time_text(latency) + ", not " +
                            time_text(without_latency);
  if (overhead >= without_overhead) return times + ".\n           They would not pay";
  const auto from = [](double share) { return with_format("%.1f", 100 * share) + " %"; };
  return times + ".\n           They pay if such calls take more than " + from(pays.overlapping) +
         " of the time that the program computes, and overlap with it.\n           " +
         (pays.waiting < 0 ? "If nothing overlaps, they never do"
                           : "If nothing overlaps, they pay from " + from(pays.waiting) + " on");
}

std::string HelpersAdvice::json() const {
  if (helpers == 0) return "null";
  const auto number = [](double value) { return with_format("%.3f", value); };
  return "{\"helpers\": " + std::to_string(helpers) + ", \"latency_ns\": " + number(latency) +
         ", \"overhead_ns\": " + number(overhead) + ", \"without_latency_ns\": " + number(without_latency) +
         ", \"without_overhead_ns\": " + number(without_overhead) + ", " + json_of(pays) + "}";
}

}  // namespace copse::cli
