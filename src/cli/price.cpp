// copse-native price: what everything that could run a call would cost on a machine.
#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/equations.hpp"
#include "cli/helpers_table.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pricing.hpp"
#include "cli/rows.hpp"
#include "cli/winners.hpp"

namespace copse::cli {
namespace {

using algorithms::Collective;

constexpr int kHelpedRanks = 512;  // the paper's

constexpr const char* kHelp =
    "usage: copse price COLLECTIVE BYTES[K|M] [options]\n"
    "Prices every algorithm and carrier that could run a message, or blocks, of that many bytes. For an allreduce on one\n"
    "node, the output also shows HMPI's equations.\n"
    "  --machine M        a recorded machine (default ig; --machines lists them), or a file: machine.json\n"
    "  -n, --ranks N      default: one for each core of each node\n"
    "  --nodes N          default 1\n"
    "  --layout L         block (the default), cyclic or random\n"
    "  --reach R          staged (common memory only), kernel, or direct (threads, the shared heap; the default)\n"
    "  --algorithm A      only this algorithm\n"
    "  --operation O      of a reduction: sum (the default), prod, min, max, land, ... as in copse/types.h\n"
    "  --type T           of its elements: double (the default), float, int32, ... The recorded machines combine all of them at\n"
    "                     one rate. A file of copse calibrate has a rate for each operator and type.\n"
    "  --strict           an operator that does not commute\n"
    "  --cold             inputs and outputs are in no cache\n"
    "  --calls N          the price of a call among N, back to back (default 3)\n"
    "  --top N            print so many (default 20)\n"
    "  --path             print the critical path of the cheapest: rank, time, part, step\n"
    "  --machines         print the recorded machines instead, and where their numbers come from\n"
    "  --winners          print instead, as JSON, what is cheapest from 8 B to 4 MiB on each recorded machine. Several\n"
    "                     collectives may be given, and no size; there are at most 32 ranks unless --ranks says more.\n"
    "                     (copse price --plot FILE.png COLLECTIVE... draws it.)\n"
    "  --rows             print instead, for src/choose/recorded/, what is clearly cheaper than what the built-in rules\n"
    "                     choose, on all recorded machines or one, for several numbers of ranks and nodes, or one\n"
    "                     of each; takes hours\n"
    "  --collective-processors\n"
    "                     print instead what helpers would cost and save, for 16 ranks and more, up to --ranks (default 512)\n"
    "  --json\n";

// Many fields: one for each option.
struct Query {
  Collective collective{};
  std::size_t bytes = 0, ranks = 0, nodes = 1, layout = 0, calls = 3, top = 20;
  std::size_t nodes_of_rows = 0;   // for --rows; 0: all
  std::string machine, algorithm;  // machine: empty: the standard one, or for --winners all
  choose::Situation situation;
  bool strict = false, cold = false, path = false, machines = false, winners = false, rows = false, helpers = false, json = false;
  std::optional<std::string> operation, type;  // if given
  Reduction reduction;
  std::vector<Collective> collectives;  // for --winners
};

bool set_switch(Query& query, std::string_view option) {
  const std::pair<std::string_view, bool*> kSwitches[] = {
      {"--strict", &query.strict},   {"--cold", &query.cold}, {"--path", &query.path}, {"--machines", &query.machines},
      {"--winners", &query.winners}, {"--rows", &query.rows}, {"--json", &query.json}, {"--collective-processors", &query.helpers}};
  for (const auto& [name, target] : kSwitches)
    if (name == option) return *target = true;
  return false;
}

// Sets the operator and the type of the reductions among the collectives that are asked about.
void set_reduction(Query& query, std::span<const Collective> collectives) {
  if (!query.operation && !query.type) return;
  const auto reduces = [](Collective collective) { return algorithms::traits_of(collective).reduces; };
  if (std::none_of(collectives.begin(), collectives.end(), reduces))
    refuse("--operation and --type are for collectives that reduce; " + std::string(algorithms::name_of(collectives.front())) +
           " does not");
  query.reduction = reduction_of(query.operation.value_or(query.reduction.operation), query.type.value_or(query.reduction.type));
}

// Reads what --winners asks. One node is priced, and what wins is chosen among all ways.
void parse_winners(Query& query, const std::vector<std::string_view>& words, const std::vector<std::string_view>& options) {
  for (const std::string_view idle :
       {"--nodes", "--layout", "--algorithm", "--calls", "--top", "--path", "--collective-processors"})
    if (std::find(options.begin(), options.end(), idle) != options.end())
      refuse(std::string(idle) + " changes nothing with --winners (--plot); leave it out");
  for (const std::string_view word : words) query.collectives.push_back(collective_in(word));
  if (words.empty())
    query.collectives = {Collective::broadcast, Collective::allreduce, Collective::allgather, Collective::alltoall};
  set_reduction(query, query.collectives);
}

Query parse(Arguments arguments) {
  Query query;
  set_reach(query.situation, "direct");
  std::vector<std::string_view> words, options;
  for (Words given(arguments); given.next();) {
    const std::string_view option = given.word();
    const auto value = [&] { return given.value(); };
    if (option.starts_with("-")) options.push_back(option);
    if (set_switch(query, option)) continue;
    if (option == "-n" || option == "--ranks") query.ranks = number_in(option, value(), 2, kRanksMost);
    else if (option == "--nodes") query.nodes = query.nodes_of_rows = number_in(option, value(), 1, kRanksMost);
    else if (option == "--machine") query.machine = value();
    else if (option == "--layout") query.layout = index_in(option, value(), {"block", "cyclic", "random"});
    else if (option == "--reach") set_reach(query.situation, value());
    else if (option == "--algorithm") query.algorithm = value();
    else if (option == "--operation") query.operation = value();
    else if (option == "--type") query.type = value();
    else if (option == "--calls") query.calls = number_in(option, value(), 1, 1000);
    else if (option == "--top") query.top = number_in(option, value(), 1, 1000000);
    else if (option.starts_with("-")) refuse("unknown option '" + std::string(option) + "'; see --help");
    else words.push_back(option);
  }
  if (query.machines || query.rows) return query;
  if (query.winners) {
    parse_winners(query, words, options);
    return query;
  }
  if (words.size() != 2 && !(words.size() == 1 && words[0] == "barrier"))
    refuse("expected a collective and a size, or --plot FILE.png for who wins where on all recorded machines; see --help");
  query.collective = collective_in(words[0]);
  if (words.size() > 1) query.bytes = number_in("size", words[1], 0, kBytesMost);
  if (query.collective == Collective::barrier && query.bytes > 0) refuse("a barrier has no message");
  set_reduction(query, std::array{query.collective});
  if (query.type && query.bytes % query.reduction.element_bytes != 0)
    refuse("the size is no multiple of " + std::to_string(query.reduction.element_bytes) + ", the bytes of an element (--type)");
  return query;
}

std::string level_text(topology::Level level) { return std::string(topology::level_name(level)); }

bool has_level(price::Part part) {
  return part == price::Part::signals || part == price::Part::copies || part == price::Part::reductions ||
         part == price::Part::kernel;
}

// Places the ranks on the machine.
topology::Placement place(Query& query, const price::Parameters& machine) {
  const int nodes = static_cast<int>(query.nodes), cores = nodes * static_cast<int>(machine.machine.cores().size());
  const int ranks = query.ranks > 0 ? static_cast<int>(query.ranks) : cores;
  if (nodes > ranks) refuse("--nodes: there are more nodes than ranks");
  query.situation.nodes = nodes;
  query.situation.ranks = ranks;
  query.situation.oversubscribed = ranks > cores;
  return analysis::make_placement(static_cast<int>(query.layout), machine.machine, nodes, ranks);
}

PricedCall call_of(const Query& query) {
  return {query.collective, query.bytes, query.strict, query.cold, static_cast<int>(query.calls), price::kTooLong, query.reduction};
}

// Asks what everything that could run the call costs.
std::vector<Priced> rows_of(const Query& query, const price::Parameters& machine, const topology::Placement& places) {
  const Pricer pricer(machine, query.situation, places);
  constexpr int kRadices[] = {2, 4, 8};
  return pricer.all(call_of(query), kRadices, query.algorithm);
}

void print_path(const price::Price& price) {
  std::printf("\nthe critical path, from us to us, rank, part, step:\n");
  for (const price::Stretch& stretch : price.path)
    std::printf("%11.3f %11.3f %6d  %-11s %s\n", stretch.from / 1e3, stretch.to / 1e3, stretch.rank, price::name_of(stretch.part),
                stretch.what.c_str());
}

std::string rate_text(const Query& query, const price::Parameters& machine) {
  const auto& [operation, type, bytes] = query.reduction;
  if (!algorithms::traits_of(query.collective).reduces) return {};
  return ", which combines " + type + " by " + operation + " at " + with_format("%.3g", machine.reduction_rate(operation, type)) +
         " GB/s";
}

void print(const Query& query, const price::Parameters& machine, const std::vector<Priced>& rows) {
  std::vector<std::vector<std::string>> table{{"algorithm", "fragment", "time", "over the best"}};
  for (std::size_t i = 0; i < std::min(rows.size(), query.top); ++i)
    table.push_back({name_of(rows[i].decision),
                     rows[i].decision.fragment_bytes == 0 ? "-" : std::to_string(rows[i].decision.fragment_bytes),
                     time_text(rows[i].price.ns), with_format("%.2f", rows[i].price.ns / rows.front().price.ns)});
  print_table(table);
  const price::Price& best = rows.front().price;
  std::printf("\n%d ranks on %d x %s%s. On its critical path, %s spends\n", query.situation.ranks, query.situation.nodes,
              query.machine.c_str(), rate_text(query, machine).c_str(), name_of(rows.front().decision).c_str());
  for (const auto& share : best.shares())
    std::printf("  %5.1f %%  %s%s\n", 100 * share.ns / best.ns, price::name_of(share.part),
                has_level(share.part) ? (" (" + level_text(share.level) + ")").c_str() : "");
  if (query.path) print_path(best);
}

std::string json_of(const Priced& row) {
  std::vector<std::string> shares;
  for (const auto& share : row.price.shares())
    shares.push_back("{\"part\": " + quoted(price::name_of(share.part)) +
                     ", \"level\": " + (has_level(share.part) ? quoted(level_text(share.level)) : "null") +
                     ", \"ns\": " + with_format("%.3f", share.ns) + "}");
  return "{\"algorithm\": " + quoted(row.decision.algorithm->name) +
         ", \"carrier\": " + quoted(plan::name_of(row.decision.carrier)) + ", \"radix\": " + std::to_string(row.decision.radix) +
         ", \"fragment_bytes\": " + std::to_string(row.decision.fragment_bytes) + ", \"ns\": " + with_format("%.3f", row.price.ns) +
         ", \"shares\": " + json_list(shares) + "}";
}

int print_machines(bool json) {
  std::vector<std::string> objects;
  for (const price::Recorded& each : price::recorded()) {
    const price::Parameters machine = price::parameters_of(std::string(each.name));
    std::vector<std::string> sources;
    for (const std::string& source : machine.sources) sources.push_back(quoted(source));
    objects.push_back("{\"name\": " + quoted(machine.name) + ", \"title\": " + quoted(machine.title) +
                      ", \"sources\": " + json_list(sources) + "}");
    if (json) continue;
    std::printf("%s: %s\n", machine.name.c_str(), machine.title.c_str());
    for (const std::string& source : machine.sources) std::printf("    %s\n", source.c_str());
  }
  if (json) std::printf("%s\n", json_list(objects).c_str());
  return 0;
}

int print_winners(const Query& query) {
  WinnersQuery winners;
  winners.collectives = query.collectives;
  if (!query.machine.empty()) winners.machines = {query.machine};
  for (const price::Recorded& each : price::recorded())
    if (query.machine.empty()) winners.machines.emplace_back(each.name);
  winners.ranks = static_cast<int>(query.ranks);
  winners.situation = query.situation;
  winners.call = call_of(query);
  print_winners(winners);
  return 0;
}

int print_rows(const Query& query) {
  RowsQuery rows;
  if (!query.machine.empty()) rows.machines = {query.machine};
  for (const price::Recorded& each : price::recorded())
    if (query.machine.empty()) rows.machines.emplace_back(each.name);
  rows.ranks = static_cast<int>(query.ranks);
  rows.nodes = static_cast<int>(query.nodes_of_rows);
  print_rows(rows);
  return 0;
}

}  // namespace

int price_calls(Arguments arguments) {
  if (helped(arguments, kHelp)) return 0;
  Query query = parse(arguments);
  if (query.machines) return print_machines(query.json);
  if (query.winners) return print_winners(query);
  if (query.rows) return print_rows(query);
  if (query.machine.empty()) query.machine = "ig";
  const price::Parameters machine = price::parameters_of(query.machine);
  if (query.helpers) {
    print_helpers(call_of(query), machine, query.ranks > 0 ? static_cast<int>(query.ranks) : kHelpedRanks, query.json);
    return 0;
  }
  const topology::Placement places = place(query, machine);
  const std::vector<Priced> rows = rows_of(query, machine, places);
  if (rows.empty())
    refuse(query.algorithm.empty() ? "nothing can run this call"
                                   : "no algorithm called '" + query.algorithm + "' can run this call; see copse explain");
  if (query.json) {
    std::vector<std::string> objects;
    for (const Priced& row : rows) objects.push_back(json_of(row));
    std::printf("%s\n", json_list(objects).c_str());
  } else {
    print(query, machine, rows);
    if (query.collective == Collective::allreduce && !query.strict) print_equations(machine, places, query.bytes, rows);
  }
  return 0;
}

}  // namespace copse::cli
