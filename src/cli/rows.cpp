// Compares what the rules choose with what the price finds, on all processors.
#include "cli/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/variants.hpp"
#include "choose/chooser.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pricing.hpp"
#include "cli/workers.hpp"
#include "shape/hierarchy.hpp"

namespace copse::cli {
namespace {

using algorithms::Collective;
using topology::Level;

constexpr double kClearly = 1.25;  // what the rules choose must cost so many times as much: the price errs, too
constexpr double kTie = 1.02;      // if ways differ by less, the first one in the registry wins: it is the simplest
constexpr int kRanks[] = {4, 8, 16, 32, 64};
constexpr int kReaders = 12;       // the most readers of a line: the price does not know that more readers hold one another up
constexpr int kAlone = 16;  // for more ranks, calls back to back are not priced, because that takes too long
// Nodes of a recorded cluster, and ranks on each.
constexpr std::pair<int, int> kClusters[] = {{2, 4}, {2, 8}, {4, 8}};
// Sums must not depend on what a trial has found about the kernel. So reductions have no rows for `kernel`, and their rows for
// `staged` hold for both.
constexpr const char* kReaches[] = {"staged", "kernel", "direct"};
constexpr const char* kReachWords[] = {"staged", "kernel", "loads"};

// Sizes that have one row, and the size whose price decides.
struct Sizes {
  std::size_t from, to, priced;
};
constexpr Sizes kSizes[] = {{0, 120, 32},
                            {121, 1024, 512},
                            {1025, 4096, 2048},
                            {4097, 16384, 8192},
                            {16385, 65536, 32768},
                            {65537, 262144, 131072},
                            {262145, 1048576, 524288},
                            {1048577, std::numeric_limits<std::uint32_t>::max(), 2097152}};

struct Row {
  Sizes sizes;
  choose::Decision way;
  double gain;
};

bool same(const choose::Decision& a, const choose::Decision& b) {
  return is_same_way(a, b) && a.radix == b.radix && a.fragment_bytes == b.fragment_bytes;
}

// A way and its cost: the price of a call alone, plus the price of a call among several back to back. Such a call may end on a
// rank before all ranks are done.
struct Costed {
  choose::Decision way;
  double ns = price::kTooLong;
};

// Returns how many ranks wait for one line at most.
int most_readers(const analysis::Variant& variant) {
  std::map<std::pair<int, int>, int> readers;
  for (const plan::Plan& plan : *variant.plans) {
    std::set<std::pair<int, int>> lines;
    for (const plan::Step& step : plan.steps)
      if (step.kind == plan::Kind::await) lines.insert({step.peer, step.area});
    for (const auto& line : lines) ++readers[line];
  }
  int most = 0;
  for (const auto& [line, count] : readers) most = std::max(most, count);
  return most;
}

double cost_of(const Pricer& pricer, PricedCall call, const choose::Decision& way, const analysis::Variant& variant) {
  call.calls = 1;
  double ns = pricer.price(call, way, variant).ns;
  if (pricer.situation().ranks > kAlone || ns >= call.most) return ns;
  call.calls = 3;
  call.most -= ns;
  return ns + pricer.price(call, way, variant).ns;
}

bool is_in_place(plan::Carrier carrier) { return carrier == plan::Carrier::get || carrier == plan::Carrier::put; }

Costed cheapest(const Pricer& pricer, PricedCall call, const choose::Decision& ruled) {
  constexpr int kRadices[] = {2, 4, 8};  // 8: of leaders on a node
  constexpr std::size_t kFragments[] = {0, 32768};
  const choose::Situation& situation = pricer.situation();
  std::vector<choose::Decision> ways = pricer.ways(call, std::span(kRadices).first(situation.nodes > 1 ? 3 : 2), kFragments);
  // Leaves out ways for sizes that not all ranks know, and ways that need a collective that the wire may not have.
  std::erase_if(ways, [](const choose::Decision& way) { return way.algorithm->rides() || way.algorithm->delegates(); });
  // These rows are for ranks that have found the kernel's copy cheap, whatever it costs on the recorded machine.
  if (situation.addressable && !situation.direct && is_in_place(ruled.carrier))
    std::erase_if(ways, [](const choose::Decision& way) { return !is_in_place(way.carrier); });
  // Single copies come first: they are cheap for long messages, so that the walks of slots, which take the longest, end early.
  std::stable_sort(ways.begin(), ways.end(), [](const auto& a, const auto& b) {
    return std::tuple(b.carrier, a.algorithm, a.radix) < std::tuple(a.carrier, b.algorithm, b.radix);
  });
  Costed best;
  double least = price::kTooLong;
  analysis::Variant variant;
  bool fits = false;
  for (const choose::Decision& way : ways) {
    if (variant.row != way.algorithm || variant.carrier != way.carrier || variant.radix != way.radix) {
      variant = pricer.variant_of(way);
      fits = variant.plans && most_readers(variant) <= kReaders;
    }
    if (!fits) continue;
    call.most = least * kTie;
    const double ns = cost_of(pricer, call, way, variant);
    const bool ties = ns <= least * kTie && best.ns <= ns * kTie;
    if (ties ? way.algorithm < best.way.algorithm : ns < least) best = {way, ns};
    least = std::min(least, ns);
  }
  return best;
}

std::vector<Row> rows_of(const Pricer& pricer, Collective collective) {
  std::vector<Row> rows;
  const int ranks = pricer.situation().ranks;
  for (const Sizes& sizes : kSizes) {
    const bool moves = algorithms::traits_of(collective).moves_data;
    const PricedCall call{collective, moves ? sizes.priced : 0, false, false, 1};
    choose::Decision ruled =
        choose::choose({}, pricer.situation(), collective, call.bytes, choose::needs_of(collective, ranks, 8, false));
    analysis::Variant variant = pricer.variant_of(ruled);
    if (!variant.plans) {  // the radix means nothing to it
      ruled.radix = 2;
      variant = pricer.variant_of(ruled);
    }
    const double by_rule = cost_of(pricer, call, ruled, variant);
    const Costed best = cheapest(pricer, call, ruled);
    const Sizes here = moves ? sizes : Sizes{0, kSizes[std::size(kSizes) - 1].to, 0};
    if (best.ns * kClearly < by_rule) {
      const double gain = by_rule / best.ns;
      if (!rows.empty() && rows.back().sizes.to + 1 == here.from && same(rows.back().way, best.way)) {
        rows.back().sizes.to = here.to;
        rows.back().gain = std::max(rows.back().gain, gain);
      } else {
        rows.push_back({here, best.way, gain});
      }
    }
    if (!moves) break;
  }
  return rows;
}

// A number of ranks for which prices are asked, and the numbers of ranks for which its rows hold.
struct Ranks {
  int priced;
  std::string from, to;
};
std::vector<Ranks> ranks_on(int cores) {
  std::set<int> numbers;
  for (const int ranks : kRanks)
    if (ranks <= cores) numbers.insert(ranks);
  if (cores >= kRanks[0] && cores <= kRanks[std::size(kRanks) - 1]) numbers.insert(cores);
  std::vector<Ranks> result;
  int from = 3;
  for (auto at = numbers.begin(); at != numbers.end(); ++at) {
    const auto next = std::next(at);
    // Beyond the last number, prices say nothing about more ranks than the machine has cores.
    const int to = next != numbers.end() ? static_cast<int>(std::sqrt(static_cast<double>(*at) * *next))
                   : *at == cores        ? cores * 5 / 4
                                         : 0;
    result.push_back({*at, std::to_string(from), to == 0 ? "on" : std::to_string(to)});
    from = to + 1;
  }
  return result;
}

std::string text_of(const Row& row, const Ranks& ranks, const char* reach) {
  const auto end = [](std::size_t to) { return to == kSizes[std::size(kSizes) - 1].to ? "on" : std::to_string(to); };
  const char* const pieces = row.way.fragment_bytes == 0 ? "whole" : "staged";
  return "ROW(" + std::string(algorithms::name_of(row.way.algorithm->collective)) + ", " + std::to_string(row.sizes.from) + ", " +
         end(row.sizes.to) + ", " + ranks.from + ", " + ranks.to + ", " + reach + ", " + std::string(row.way.algorithm->name) +
         ", " + plan::name_of(row.way.carrier) + ", " + std::to_string(row.way.radix) + ", " + pieces + ")  // " +
         with_format("%.2f", row.gain) + "\n";
}

// A machine, or several nodes of it.
struct Section {
  const price::Parameters* machine;
  int nodes, ranks;  // ranks that fill the machine, or that are on each node
};

std::string head_of(const Section& section) {
  const std::string& name = section.machine->name;
  const topology::Placement full = analysis::make_placement(0, section.machine->machine, 1, section.ranks);
  std::string text = section.nodes > 1
                         ? "CLUSTER(\"" + name + "\", " + std::to_string(section.nodes)
                         : "// What is clearly cheaper by price than the built-in rules on " + name +
                               ". Written by\n// `copse-native price --rows --machine " + name + "`.\nMACHINE(\"" + name + "\"";
  for (const int number :
       {shape::groups(full, Level::package), shape::groups(full, Level::numa), shape::groups(full, Level::l3), section.ranks})
    text += ", " + std::to_string(number);
  return text + ")\n";
}

struct Task {
  std::size_t section;
  Ranks ranks;
  std::size_t reach;
  Collective collective;
  std::string text;
};

// Returns what went wrong.
std::string carry_out(Task& task, const Section& section) {
  choose::Situation situation;
  set_reach(situation, kReaches[task.reach]);
  try {
    topology::Placement places = analysis::make_placement(0, section.machine->machine, section.nodes, task.ranks.priced);
    situation.nodes = section.nodes;
    situation.numa = shape::groups(places, Level::numa) > section.nodes;
    const Pricer pricer(*section.machine, situation, std::move(places));
    for (const Row& row : rows_of(pricer, task.collective)) task.text += text_of(row, task.ranks, kReachWords[task.reach]);
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

void print_rows(const RowsQuery& query) {
  std::vector<price::Parameters> machines;
  for (const std::string& name : query.machines) machines.push_back(price::parameters_of(name));
  std::vector<Section> sections;
  std::vector<Task> all;
  const auto add = [&](const Section& section, const Ranks& ranks) {
    if ((query.ranks != 0 && query.ranks != ranks.priced) || (query.nodes != 0 && query.nodes != section.nodes)) return;
    for (std::size_t reach = 0; reach < std::size(kReaches); ++reach) {
      for (int number = 0; number < algorithms::kCollectives; ++number) {
        const auto collective = static_cast<Collective>(number);
        const algorithms::Traits& traits = algorithms::traits_of(collective);
        if (traits.permutes || traits.along_edges) continue;  // what they cost depends on who gives to whom
        if (reach != 1 || (section.machine->kernel && !traits.reduces))
          all.push_back({sections.size() - 1, ranks, reach, collective, {}});
      }
    }
  };
  for (const price::Parameters& machine : machines) {
    sections.push_back({&machine, 1, static_cast<int>(machine.machine.cores().size())});
    for (const Ranks& ranks : ranks_on(sections.back().ranks)) add(sections.back(), ranks);
    for (const auto& [nodes, ranks] : kClusters) {
      if (!machine.network || ranks > static_cast<int>(machine.machine.cores().size())) continue;
      sections.push_back({&machine, nodes, ranks});
      add(sections.back(), {nodes * ranks, "3", "on"});
    }
  }
  if (all.empty()) throw std::runtime_error("no file has rows for so many ranks and nodes; --ranks counts those of all nodes");
  std::vector<std::size_t> order(all.size());  // the long ones first
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return all[a].ranks.priced > all[b].ranks.priced; });
  Tasks tasks;
  tasks.count = all.size();
  tasks.where = [&](std::size_t number) { return sections[all[order[number]].section].machine->name; };
  tasks.run = [&](std::size_t number) { return carry_out(all[order[number]], sections[all[order[number]].section]); };
  if (const std::string failed = run(tasks); !failed.empty()) throw std::runtime_error(failed);
  for (std::size_t section = 0; section < sections.size(); ++section) {
    std::fputs(head_of(sections[section]).c_str(), stdout);
    for (const Task& task : all)
      if (task.section == section) std::fputs(task.text.c_str(), stdout);
  }
}

}  // namespace copse::cli
