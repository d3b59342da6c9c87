// copse-native verify: runs the checker over the registry.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/cases.hpp"
#include "analysis/mutate.hpp"
#include "choose/settings.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/scale.hpp"
#include "cli/sweep.hpp"
#include "cli/traffic.hpp"
#include "engine/program.hpp"
#include "text/words.hpp"
#include "topology/recorded.hpp"

namespace copse::cli {
namespace {

using algorithms::Algorithm;
using analysis::Effort;

constexpr int kMostRanks = 1 << 20;
constexpr int kMostScaled = 65536;  // the most ranks of --scale by default
constexpr std::uint64_t kChallenged = 8, kAllChallenged = 64;  // combinations whose plans are mutated

constexpr const char* kHelp =
    "usage: copse verify [options]\n"
    "  --collective X   only this collective, for example broadcast\n"
    "  --algorithm Y    only this algorithm\n"
    "  --ranks A-B      numbers of ranks, also a list: 2,4,6-9 (default 1-17; with --all 1-65,96,128,257;\n"
    "                   with --mutants 2-5)\n"
    "  --all            every root, placement and radix of few ranks, large samples of more\n"
    "  --machine M      only placements on this machine: a name (below), an hwloc synthetic string, or an XML file\n"
    "  --threads N      default: as many as processors\n"
    "  --mutants        break every step of every plan, and show how often the checker finds it, by kind of step\n"
    "  --text           print the plans instead (see --root, --carrier, --radix)\n"
    "  --program        print the programs that the engine makes of the plans, likewise\n"
    "  --traffic        count steps and bytes across each level instead (see --machine, --nodes, --root, --carrier,\n"
    "                   --radix; default one rank for each core of ig)\n"
    "  --scale          build and walk all ranks' plans instead, and show what that takes (default 2, 4, ... 65536 ranks in\n"
    "                   blocks on nodes like ig; see --machine, --root, --carrier, --radix)\n"
    "  --root R --carrier line|slot|get|put --radix K   of --text and --program (else 0, slot or the first\n"
    "                   possible, 2; 4 ranks)\n"
    "                   and of --traffic and --scale (else 0, all, 2)\n"
    "  --nosync in|out|both|addresses  buffers may be touched before ranks enter, after they return, or both (UPC's NOSYNC);\n"
    "                   of the proofs, --text and --program\n"
    "  --nodes N        of --traffic, --text and --program\n"
    "  --helpers N      of --text and --program: how many of the ranks serve the others, where the algorithm wants it (1)\n"
    "  --json           the summary as JSON\n";

enum class Task : std::uint8_t { prove, text, program, traffic, mutants, scale };

// The options with which a row builds its plans.
struct PlanOptions {
  int root = 0, radix = 2, helpers = 1;
  std::optional<plan::Carrier> carrier;
  plan::Modes modes;
};

struct Options {
  std::string_view collective, algorithm;
  std::vector<int> ranks;
  Effort effort = Effort::quick;
  Task task = Task::prove;
  PlanOptions plans;
  int threads = 0, nodes = 1;
  std::string_view machine;
  bool json = false;

  [[nodiscard]] bool prints_plans() const { return task == Task::text || task == Task::program; }
};

void set_task(Options& options, Task task) {
  if (options.task != Task::prove && options.task != task)
    refuse("choose one of --text, --program, --traffic, --mutants and --scale");
  options.task = task;
}

int number(std::string_view option, std::string_view text, int least) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < least)
    refuse(std::string(option) + ": '" + std::string(text) + "' is not a number from " + std::to_string(least) + " up");
  return value;
}

plan::Carrier carrier_in(std::string_view text) {
  std::string known;
  for (int c = 0; c < plan::kCarriers; ++c) {
    const auto carrier = static_cast<plan::Carrier>(c);
    if (text == plan::name_of(carrier)) return carrier;
    known.append(known.empty() ? "" : ", ").append(plan::name_of(carrier));
  }
  refuse("--carrier: '" + std::string(text) + "' is not one of " + known);
}

plan::Modes modes_in(std::string_view text) {
  using plan::Sync;
  if (text == "in") return {Sync::none, Sync::mine, true};
  if (text == "out") return {Sync::mine, Sync::none, true};
  if (text == "both") return {Sync::none, Sync::none, true};
  if (text == "addresses") return {Sync::mine, Sync::mine, true};
  refuse("--nosync: '" + std::string(text) + "' is not one of in, out, both, addresses");
}

std::vector<int> ranks_in(std::string_view text) {
  std::vector<int> result;
  while (!text.empty()) {
    const auto comma = text.find(',');
    const auto item = text.substr(0, comma);
    const auto dash = item.find('-');
    const int first = number("--ranks", item.substr(0, dash), 1);
    const int last = dash == std::string_view::npos ? first : number("--ranks", item.substr(dash + 1), 1);
    if (last > kMostRanks) refuse("--ranks: " + std::to_string(last) + " is more than " + std::to_string(kMostRanks));
    if (last < first) refuse("--ranks: '" + std::string(item) + "' goes down; write the smaller number first, as in 2,4,6-9");
    for (int ranks = first; ranks <= last; ++ranks) result.push_back(ranks);
    text = comma == std::string_view::npos ? std::string_view{} : text.substr(comma + 1);
  }
  return result;
}

std::vector<int> default_ranks(const Options& options) {
  if (options.prints_plans()) return {4};
  if (options.task == Task::mutants) return ranks_in("2-5");
  if (options.task == Task::scale) {
    std::vector<int> doubling;
    for (int ranks = 2; ranks <= kMostScaled; ranks *= 2) doubling.push_back(ranks);
    return doubling;
  }
  return options.effort == Effort::full ? analysis::full_ranks() : ranks_in("1-17");
}

Options parse(Arguments arguments) {
  Options options;
  for (Words given(arguments); given.next();) {
    const std::string_view option = given.word();
    const auto value = [&] { return given.value(); };
    if (option == "--collective") options.collective = algorithms::name_of(collective_in(value()));
    else if (option == "--algorithm") options.algorithm = value();
    else if (option == "--ranks") options.ranks = ranks_in(value());
    else if (option == "--all") options.effort = Effort::full;
    else if (option == "--text") set_task(options, Task::text);
    else if (option == "--program") set_task(options, Task::program);
    else if (option == "--traffic") set_task(options, Task::traffic);
    else if (option == "--scale") set_task(options, Task::scale);
    else if (option == "--nodes") options.nodes = number("--nodes", value(), 1);
    else if (option == "--helpers") options.plans.helpers = number("--helpers", value(), 1);
    else if (option == "--mutants") set_task(options, Task::mutants);
    else if (option == "--json") options.json = true;
    else if (option == "--root") options.plans.root = number("--root", value(), 0);
    else if (option == "--radix") options.plans.radix = number("--radix", value(), 2);
    else if (option == "--machine") options.machine = value();
    else if (option == "--threads") options.threads = number("--threads", value(), 1);
    else if (option == "--carrier") options.plans.carrier = carrier_in(value());
    else if (option == "--nosync") options.plans.modes = modes_in(value());
    else refuse("unknown option '" + std::string(option) + "'; see --help");
  }
  if (options.ranks.empty() && options.task != Task::traffic) options.ranks = default_ranks(options);
  const bool checks = options.task == Task::prove || options.task == Task::mutants;
  if (options.plans.carrier && checks) refuse("--carrier is for --text, --program, --traffic and --scale");
  if (options.plans.modes != plan::Modes{} && options.task != Task::prove && !options.prints_plans())
    refuse("--nosync is for proofs, --text and --program");
  for (const int ranks : options.ranks)
    if (const std::string why = analysis::refusal(ranks); checks && !why.empty()) refuse("--ranks: " + why);
  if (options.plans.radix > 64) refuse("--radix must be from 2 to 64");
  return options;
}

[[noreturn]] void unknown_algorithm(std::string_view word, std::vector<std::string> known) {
  std::sort(known.begin(), known.end());
  known.erase(std::unique(known.begin(), known.end()), known.end());
  refuse(text::unknown("algorithm", word, known));
}

std::vector<const Algorithm*> rows_of(const Options& options) {
  std::vector<const Algorithm*> rows;
  std::vector<std::string> known;  // algorithms of the collective, or of all if none is named
  bool named = false;
  for (const Algorithm& row : options.task == Task::scale ? algorithms::all() : algorithms::every()) {
    if (!options.collective.empty() && options.collective != name_of(row.collective)) continue;
    known.emplace_back(row.name);
    if (!options.algorithm.empty() && options.algorithm != row.name) continue;
    named = true;
    if (!options.plans.carrier || row.carries(*options.plans.carrier)) rows.push_back(&row);
  }
  if (rows.empty() && named)
    refuse(std::string("none of these has the carrier ") + plan::name_of(*options.plans.carrier) +
           "; copse info --algorithms lists the carriers");
  if (rows.empty()) unknown_algorithm(options.algorithm, known);
  return rows;
}

// Returns the program of a plan whose ranks are on these nodes, or on one if there are none.
std::string program_text(const plan::Plan& plan, const std::vector<std::int32_t>& nodes) {
  std::vector<engine::Peer> peers(analysis::at(plan.ranks));
  int near = 0;
  for (int rank = 0; rank < plan.ranks; ++rank)
    if (nodes.empty() || nodes[analysis::at(rank)] == nodes[analysis::at(plan.rank)]) peers[analysis::at(rank)].local = near++;
  const engine::Geometry geometry;
  const auto memory = std::make_unique_for_overwrite<std::byte[]>(engine::Segment::bytes(geometry, near));
  return "rank " + std::to_string(plan.rank) + ": " +
         engine::to_text(engine::compile(plan, engine::Segment(memory.get(), geometry), peers));
}

// Spreads the ranks in blocks over nodes of one region.
void spread(analysis::Variant& variant, int nodes) {
  if (nodes > variant.ranks) refuse("--nodes must be from 1 to the number of ranks");
  const int of_node = (variant.ranks + nodes - 1) / nodes;
  const auto node = topology::Machine::from("package:1 core:" + std::to_string(of_node) + " pu:1");
  variant.places = std::make_shared<topology::Placement>(analysis::make_placement(0, node, nodes, variant.ranks));
  for (const auto& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
  variant.placement = std::to_string(nodes) + " nodes of one region";
}

int print_plans(const Options& options) {
  for (const Algorithm* row : rows_of(options)) {
    for (int ranks : options.ranks) {
      const int helpers = row->served() ? options.plans.helpers : 0;
      if (ranks < row->least_ranks()) continue;
      if (helpers >= ranks) refuse("--helpers must be below " + std::to_string(ranks) + ", the number of ranks");
      if (options.plans.root >= ranks - helpers) refuse("--root must be a rank below " + std::to_string(ranks - helpers));
      analysis::Variant variant;
      variant.row = row;
      variant.ranks = ranks;
      variant.helpers = helpers;
      variant.root = options.plans.root;
      variant.radix = options.plans.radix;
      variant.modes = options.plans.modes;
      variant.placement = "one region";
      if (options.nodes > 1) spread(variant, options.nodes);
      variant.carrier = options.plans.carrier.value_or(plan::Carrier::slot);
      for (int c = 0; !row->carries(variant.carrier); ++c) variant.carrier = static_cast<plan::Carrier>(c);
      std::printf("# %s\n", variant.name().c_str());
      const auto plans = analysis::build_plans(variant);
      for (const auto& plan : *plans)
        std::printf("%s", (options.task == Task::program ? program_text(plan, variant.nodes) : plan::to_text(plan)).c_str());
    }
  }
  return 0;
}

// Runs the mutants of all variants of the rows and numbers of ranks.
analysis::MutationTally challenge_all(const std::vector<const Algorithm*>& rows, const Options& options) {
  const std::uint64_t combinations = options.effort == Effort::full ? kAllChallenged : kChallenged;
  std::vector<std::vector<analysis::MutationTally>> tallies(rows.size(),
                                                            std::vector<analysis::MutationTally>(options.ranks.size()));
  run(each_with_ranks(rows, options.ranks, options.threads, [&](std::size_t row, std::size_t ranks) {
    analysis::MutationTally& tally = tallies[row][ranks];
    for (const auto& variant : analysis::variants(*rows[row], options.ranks[ranks], combinations)) {
      try {
        tally += analysis::challenge(variant);
      } catch (const std::logic_error& broken) {  // the variant itself is not right
        ++tally.excused[static_cast<int>(analysis::Excuse::none)];
        tally.survivors.push_back({variant.name(), broken.what(), analysis::Excuse::none});
      }
    }
    return tally.excused[static_cast<int>(analysis::Excuse::none)] == 0;
  }));
  analysis::MutationTally total;
  for (const auto& of_row : tallies)
    for (const auto& tally : of_row) total += tally;
  return total;
}

std::string as_json(const analysis::MutationCounts& counts) {
  std::string json = "{";
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i].made == 0) continue;
    json.append(json.size() > 1 ? ", " : "").append(quoted(name_of(static_cast<analysis::Mutation>(i)))).append(": [");
    json.append(std::to_string(counts[i].made)).append(", ").append(std::to_string(counts[i].caught)).append("]");
  }
  return json + "}";
}

std::string as_json(const analysis::MutationTally& total) {
  const analysis::MutantCount all = sum_of(total.by_mutation());
  std::string json = "{\"mutations\": " + as_json(total.by_mutation()) + ", \"kinds\": {";
  for (const auto& [kind, counts] : total.by_kind)
    json.append(json.back() == '{' ? "" : ", ").append(quoted(kind)).append(": ").append(as_json(counts));
  json += "}, \"survivors\": {";
  for (int i = 0; i < analysis::kExcuses; ++i) {
    json.append(i > 0 ? ", " : "").append(quoted(name_of(static_cast<analysis::Excuse>(i)))).append(": ");
    json.append(std::to_string(total.excused[i]));
  }
  return json + "}, \"made\": " + std::to_string(all.made) + ", \"caught\": " + std::to_string(all.caught) + "}";
}

void print_count(const char* indent, const std::string& name, const analysis::MutantCount& count) {
  if (count.made == 0) return;
  std::printf("%s%-28s %8llu made %6.2f %% caught\n", indent, name.c_str(), static_cast<unsigned long long>(count.made),
              100.0 * static_cast<double>(count.caught) / static_cast<double>(count.made));
}

void print_counts(const std::string& name, const analysis::MutationCounts& counts) {
  print_count("", name, sum_of(counts));
  for (std::size_t i = 0; i < counts.size(); ++i) print_count("  ", name_of(static_cast<analysis::Mutation>(i)), counts[i]);
}

int print_mutants(const Options& options) {
  const analysis::MutationTally total = challenge_all(rows_of(options), options);
  const std::uint64_t unexplained = total.excused[static_cast<int>(analysis::Excuse::none)];
  if (options.json) {
    std::printf("%s\n", as_json(total).c_str());
    return unexplained == 0 ? 0 : 1;
  }
  for (const auto& [kind, counts] : total.by_kind) print_counts(kind, counts);
  for (int i = 0; i < analysis::kExcuses; ++i) {
    const auto excuse = static_cast<analysis::Excuse>(i);
    if (total.excused[i] == 0) continue;
    std::printf("survived: %-18s %8llu\n", name_of(excuse), static_cast<unsigned long long>(total.excused[i]));
    for (const auto& survivor : total.survivors)
      if (survivor.excuse == excuse) std::printf("  %s; %s\n", survivor.variant.c_str(), survivor.what.c_str());
  }
  print_counts("all mutants", total.by_mutation());
  std::printf("%llu survivors unexplained\n", static_cast<unsigned long long>(unexplained));
  return unexplained == 0 ? 0 : 1;
}

}  // namespace

int verify(Arguments arguments) {
  for (const auto argument : arguments) {
    if (argument != "--help") continue;
    std::printf("%srecorded machines:", kHelp);
    for (const auto& machine : topology::recorded_machines()) std::printf(" %s", std::string(machine.name).c_str());
    std::printf("\n");
    return 0;
  }
  const Options options = parse(arguments);
  if (options.prints_plans()) return print_plans(options);
  if (options.task == Task::mutants) return print_mutants(options);

  std::optional<topology::Machine> machine;
  if (!options.machine.empty()) machine = topology::Machine::from(options.machine, "--machine");
  if (options.task == Task::traffic) {
    if (!machine) machine = topology::Machine::from("ig");
    if (options.ranks.size() > 1) refuse("--traffic counts for one number of ranks");
    const int ranks = options.ranks.empty() ? 0 : options.ranks.front();
    return run(Count{rows_of(options), &*machine, ranks, options.nodes, options.plans.root, options.plans.radix,
                     options.plans.carrier, options.json});
  }
  if (options.task == Task::scale) {
    if (!machine) machine = topology::Machine::from("ig");
    return run(Scale{rows_of(options), options.ranks, &*machine, options.plans.root, options.plans.radix, options.plans.carrier,
                     options.json});
  }
  return run(Sweep{rows_of(options), options.ranks, options.effort, machine ? &*machine : nullptr, options.threads, options.json,
                   options.plans.modes});
}

}  // namespace copse::cli
