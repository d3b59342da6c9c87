// copse-native explain: shows what would run, and by which rule, without a communicator.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "choose/chooser.hpp"
#include "choose/recorded.hpp"
#include "choose/table.hpp"
#include "cli/helpers_table.hpp"
#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pricing.hpp"
#include "cli/scene.hpp"
#include "communicator/card.hpp"
#include "topology/layout.hpp"
#include "topology/machine.hpp"

namespace copse::cli {
namespace {

using algorithms::Collective;

constexpr const char* kHelp =
    "usage: copse explain COLLECTIVE [BYTES[K|M]] [options]\n"
    "Shows what would run for a message, or for blocks, of that many bytes; without a size, for all sizes. The\n"
    "variables COPSE_ALGORITHM, COPSE_FRAGMENT and COPSE_TUNING apply. For one size, it also says what that would cost on\n"
    "a machine, what the three cheapest other ways would (copse price lists all), and whether helpers\n"
    "(copse run --collective-processors) would pay.\n"
    "  --machine M      the machine, as for copse price: recorded, or machine.json. The ranks fill it, which says whether\n"
    "                   they take turns or sit in several regions. By default, they sit as the options say on epyc or grace,\n"
    "                   and the rules by price are those of the recorded machine that is most like this one\n"
    "  -n, --ranks N    default 8\n"
    "  --nodes N        default 1; the ranks fill them in blocks\n"
    "  --reach R        staged (common memory only), kernel (the default), or direct (threads, the shared heap)\n"
    "  --dear-kernel    assume that the kernel's copy was measured to cost more than slots\n"
    "  --turns          there are more ranks than processors\n"
    "  --numa           the ranks of a node sit in several NUMA regions\n"
    "  --strict         an operator that does not commute\n"
    "  --ragged         blocks of different sizes, which not every rank knows (gatherv, scatterv, alltoallv, those of neighbours)\n"
    "  --placed         every rank knows where all buffers lie (UPC)\n"
    "  --early          and ranks may touch one another's buffers at once (UPC's NOSYNC)\n"
    "  --element B      bytes of an element that is reduced (default 1)\n"
    "  --mpi            in an MPI program, where a tuning table may pass calls on\n"
    "  --json           with prices only if a machine is named\n";

struct Query {
  choose::Settings settings;
  choose::Situation situation;
  topology::Placement places;
  Collective collective{};
  std::optional<std::size_t> bytes;
  std::size_t element = 1;
  choose::Needs needs;  // only what options say
  bool ragged = false, json = false;
  bool alike = false;  // among neighbours, whose blocks may be of one size
  std::string machine;         // empty: a usual one
  std::optional<Scene> scene;  // for prices
};

Query parse(Arguments arguments) {
  Query query;
  choose::Situation& situation = query.situation;
  situation.ranks = 8;
  set_reach(situation, "kernel");
  std::vector<std::string_view> words;
  for (Words given(arguments); given.next();) {
    const std::string_view option = given.word();
    const auto value = [&] { return given.value(); };
    if (option == "-n" || option == "--ranks") situation.ranks = static_cast<int>(number_in(option, value(), 2, kRanksMost));
    else if (option == "--nodes") situation.nodes = static_cast<int>(number_in(option, value(), 1, kRanksMost));
    else if (option == "--reach") set_reach(situation, value());
    else if (option == "--machine") query.machine = value();
    else if (option == "--dear-kernel") situation.costs.kernel = 2 * (situation.costs.write + situation.costs.read);
    else if (option == "--turns") situation.oversubscribed = true;
    else if (option == "--numa") situation.numa = true;
    else if (option == "--mpi") situation.mpi = true;
    else if (option == "--strict") query.needs.strict = true;
    else if (option == "--ragged") query.ragged = true;
    else if (option == "--placed") query.needs.placed = true;
    else if (option == "--early") query.needs.placed = query.needs.early = true;
    else if (option == "--element") query.element = number_in(option, value(), 1, choose::kLargestSlot);
    else if (option == "--json") query.json = true;
    else if (option.starts_with("-")) refuse("unknown option '" + std::string(option) + "'; see --help");
    else words.push_back(option);
  }
  if (words.empty() || words.size() > 2) refuse("expected a collective, and perhaps a size; see --help");
  query.collective = collective_in(words[0]);
  if (words.size() > 1) query.bytes = number_in("size", words[1], 0, kBytesMost);
  if (query.bytes && *query.bytes % query.element != 0) refuse("the size is not a multiple of the element size (--element)");
  if (query.collective == Collective::barrier && query.bytes.value_or(0) > 0) refuse("a barrier has no message");
  const algorithms::Traits& traits = algorithms::traits_of(query.collective);
  if (query.ragged && (!traits.has_blocks() || traits.sizes_known()))
    refuse("--ragged: every rank knows all sizes of this collective; gather, scatter and alltoall have calls where some do not");
  query.alike = traits.along_edges && !query.ragged && (situation.nodes > 1 || !query.settings.forced.empty());
  query.ragged |= traits.along_edges;
  query.needs.strict |= query.ragged && traits.pairs();
  if (query.ragged) situation.mpi = false;  // no table passes such calls on
  situation.delegates = situation.nodes > 1;
  if (situation.nodes > situation.ranks) refuse("--nodes: there are more nodes than ranks");
  return query;
}

// Places the ranks in blocks on the nodes and, with --numa, on two regions of each node.
topology::Placement placement_of(const choose::Situation& situation) {
  topology::Placement places(static_cast<std::size_t>(situation.ranks));
  const auto ranks = static_cast<std::int64_t>(situation.ranks);
  for (std::int32_t rank = 0; rank < situation.ranks; ++rank) {
    topology::Place& place = places[static_cast<std::size_t>(rank)];
    const auto node = static_cast<std::int32_t>(std::int64_t{rank} * situation.nodes / ranks);
    const auto half = static_cast<std::int32_t>(std::int64_t{rank} * situation.nodes * 2 / ranks);
    for (const topology::Level level : topology::kAllLevels) place.at(level) = rank;
    for (const topology::Level level : {topology::Level::node, topology::Level::board}) place.at(level) = node;
    for (const topology::Level level : {topology::Level::package, topology::Level::numa})
      place.at(level) = situation.numa ? half : node;
  }
  return places;
}

// Returns the recorded machine whose rows count: the one that is most like the user's machine, or otherwise most like this one. On
// several nodes, the ranks sit as the options say.
int like_which(const Query& query) {
  const choose::Situation& situation = query.situation;
  if (situation.oversubscribed) return choose::kLikeNone;
  if (!query.machine.empty() || situation.nodes > 1) return choose::most_like(query.places);
  const std::string& described = query.settings.topology;
  const auto machine = described.empty() ? topology::Machine::discover() : topology::Machine::from(described);
  const auto cores = static_cast<int>(machine.cores().size());
  return situation.ranks > cores ? choose::kLikeNone : choose::most_like(topology::place_block(machine, 1, situation.ranks));
}

// The decision for a range of sizes. The answer for a single size also has the cut.
struct Answer {
  choose::Decision decision;
  std::optional<choose::Cut> cut;
  std::string before;  // not empty: what tells the ranks the sizes first

  [[nodiscard]] std::string algorithm() const { return decision.outside ? "mpi" : name_of(decision); }
  [[nodiscard]] bool ends() const { return decision.to < choose::Bounds{}.to; }
  [[nodiscard]] std::string fragments() const {
    if (decision.halves) return "halves, above " + std::to_string(choose::kHalvesAbove);
    return decision.fragment_bytes == 0 ? "-" : std::to_string(decision.fragment_bytes);
  }
  // Names the rule, and what overrides it: the user's choice, or a line that is too small.
  [[nodiscard]] std::string why(const choose::Settings& settings) const {
    if (decision.rule == nullptr)
      return "not every rank knows the sizes; blocks of up to " + std::to_string(longest_of_all(decision)) +
             " bytes ride with a signal";
    const choose::Rule& rule = *decision.rule;
    const std::string by_rule = std::string(rule.file) + ":" + std::to_string(rule.line) + ": " + choose::case_of(rule);
    if (decision.forced) return "COPSE_ALGORITHM; the rest by " + by_rule;
    if (decision.outside) return by_rule;
    return by_rule + (rule.carrier == decision.carrier ? "" : std::string("; too large for a ") + plan::name_of(rule.carrier)) +
           (settings.forced_for(rule.collective) == nullptr ? "" : "; the choice of COPSE_ALGORITHM cannot run here");
  }
  // What was measured, if the row of a table says so.
  [[nodiscard]] std::string measured(const choose::Settings& settings) const {
    return settings.table == nullptr || decision.forced || decision.rule == nullptr ? std::string()
                                                                                    : settings.table->reason_of(*decision.rule);
  }
  [[nodiscard]] std::string rule_json() const {
    if (decision.rule == nullptr) return ", \"rule\": null, \"file\": null, \"case\": null";
    return ", \"rule\": " + std::to_string(decision.rule->line) + ", \"file\": " + quoted(decision.rule->file) +
           ", \"case\": " + quoted(choose::case_of(*decision.rule));
  }
  [[nodiscard]] std::string json(const choose::Settings& settings) const {
    const std::string reason = measured(settings);
    std::string text =
        "\"by_mpi\": " + std::string(decision.outside ? "true" : "false") + ", \"from\": " + std::to_string(decision.from) +
        ", \"to\": " + (ends() ? std::to_string(decision.to) : "null") + ", \"algorithm\": " + quoted(decision.algorithm->name) +
        ", \"carrier\": " + quoted(plan::name_of(decision.carrier)) + ", \"radix\": " + std::to_string(decision.radix) +
        ", \"fragment_bytes\": " + std::to_string(decision.fragment_bytes) +
        ", \"halves\": " + (decision.halves ? "true" : "false") + ", \"pack\": " + std::to_string(decision.footprint.pack) +
        ", \"slots\": " + (decision.footprint.slots ? "true" : "false") + ", \"forced\": " + (decision.forced ? "true" : "false") +
        ", \"before\": " + (before.empty() ? "null" : quoted(before)) + rule_json() +
        ", \"measured\": " + (reason.empty() ? "null" : quoted(reason));
    if (cut)
      text +=
          ", \"fragment_count\": " + std::to_string(cut->fragment_count) + ", \"slot_class\": " + std::to_string(cut->slot_class);
    return text;
  }
};

// What an answer costs by the price, and what the next ways would cost.
struct Prices {
  std::string machine, seats;  // where
  std::string why_not;         // not empty: there are no prices
  Priced chosen;
  std::vector<Priced> next;  // the cheapest other algorithms and carriers
  std::optional<HelpersAdvice> helpers;

  [[nodiscard]] std::string json() const {
    if (!why_not.empty()) return "null";
    const auto one = [](const Priced& way) {
      return "\"run\": " + quoted(name_of(way.decision)) + ", \"fragment_bytes\": " + std::to_string(way.decision.fragment_bytes) +
             ", \"ns\": " + with_format("%.3f", way.price.ns);
    };
    std::vector<std::string> others;
    for (const Priced& way : next) others.push_back("{" + one(way) + "}");
    return "{\"machine\": " + quoted(machine) + ", " + one(chosen) + ", \"next\": " + json_list(others) +
           ", \"helpers\": " + (helpers ? helpers->json() : "null") + "}";
  }
};

// Returns the cheapest ways that are not the chosen one, each algorithm once by each carrier.
std::vector<Priced> next_of(const std::vector<Priced>& all, const choose::Decision& chosen) {
  constexpr std::size_t kNext = 3;
  std::vector<Priced> result;
  for (const Priced& way : all) {
    const auto is_there = [&](const Priced& other) { return is_same_way(other.decision, way.decision); };
    if (is_same_way(way.decision, chosen) || std::any_of(result.begin(), result.end(), is_there)) continue;
    result.push_back(way);
    if (result.size() == kNext) break;
  }
  return result;
}

Prices prices_of(const Query& query, const choose::Decision& chosen) {
  Prices prices;
  if (query.ragged) prices.why_not = "not every rank knows the sizes";
  if (query.ragged && chosen.algorithm->alike()) prices.why_not = "it depends on who is whose neighbour";
  if (query.needs.placed) prices.why_not = "prices are those of calls in which ranks tell one another where their buffers lie";
  if (!prices.why_not.empty()) return prices;
  if (!query.scene) {
    prices.why_not = "so many ranks have no price unless you name a machine (--machine)";
    return prices;
  }
  const Scene& scene = *query.scene;
  prices.machine = scene.machine.name;
  prices.seats = scene.seats;
  const Pricer pricer(scene.machine, query.situation, scene.places);
  const PricedCall call{query.collective, *query.bytes, query.needs.strict};
  try {
    prices.chosen = {chosen, pricer.price(call, chosen)};
    constexpr int kRadices[] = {2};  // others would make whoever asks wait, and are seldom among the first
    prices.next = next_of(pricer.all(call, kRadices), chosen);
    if (!query.needs.strict && query.situation.nodes == 1) prices.helpers = advise_on_helpers(call, scene.machine, query.situation);
  } catch (const std::invalid_argument& lacking) {
    prices.why_not = lacking.what();
  }
  return prices;
}

// Returns the answers for calls that an algorithm makes because their blocks are of one size, from blocks without data up to the
// first size without such an answer.
std::vector<Answer> answers_to_alike(const Query& query) {
  std::vector<Answer> answers;
  choose::Needs needs = choose::needs_of(query.collective, query.situation.ranks, query.element, false);
  for (std::size_t bytes = query.bytes.value_or(0); query.alike;) {
    const auto [decision, cut] =
        choose::resolve(query.settings, query.situation, query.collective, bytes / query.element, query.element, needs);
    if (!decision.algorithm->alike()) break;
    answers.push_back({decision, cut, {}});
    if (query.bytes || !answers.back().ends()) break;
    answers.back().cut.reset();
    bytes = decision.to + 1;
  }
  return answers;
}

std::vector<Answer> answers_to(const Query& query) {
  std::vector<Answer> answers = answers_to_alike(query);
  if (!answers.empty() && (query.bytes || !answers.back().ends())) return answers;
  const choose::Situation& situation = query.situation;
  std::string before;
  if (query.ragged) {
    before = "an allgather of the sizes, 8 bytes from each rank";
    if (auto decision = choose::without_sizes(query.settings, situation, query.collective)) {
      if (!answers.empty()) decision->from = answers.back().decision.to + 1;
      answers.push_back({*decision, {}, {}});
      if (query.bytes.value_or(0) <= decision->to && (query.bytes || !answers.back().ends())) return answers;
      before = std::string(decision->algorithm->name) + ", which tells the sizes";
    }
  }
  choose::Needs needs = choose::needs_of(query.collective, situation.ranks, query.element, query.needs.strict);
  needs.placed = query.needs.placed;
  needs.early = query.needs.early;
  if (query.bytes) {
    const auto [decision, cut] =
        choose::resolve(query.settings, situation, query.collective, *query.bytes / query.element, query.element, needs);
    return {{decision, cut, before}};
  }
  for (std::size_t bytes = answers.empty() ? 0 : answers.back().decision.to + 1;;) {
    answers.push_back({choose::choose(query.settings, situation, query.collective, bytes, needs), {}, before});
    answers.back().decision.from = bytes;  // the sizes below have another answer
    if (!answers.back().ends() || query.collective == Collective::barrier) return answers;
    bytes = answers.back().decision.to + 1;
  }
}

void print_prices(const Prices& prices, bool by_mpi) {
  if (!prices.why_not.empty()) {
    std::printf("price      none: %s\n", prices.why_not.c_str());
    return;
  }
  std::printf("\nby price, on %s, %s:\n", prices.machine.c_str(), prices.seats.c_str());
  std::vector<std::vector<std::string>> table{{"way", "fragment", "time", "over the chosen one"}};
  const auto add = [&](const Priced& way) {
    const std::size_t fragment = way.decision.fragment_bytes;
    table.push_back({name_of(way.decision), fragment == 0 ? "-" : std::to_string(fragment), time_text(way.price.ns),
                     with_format("%.2f", way.price.ns / prices.chosen.price.ns)});
  };
  add(prices.chosen);
  for (const Priced& way : prices.next) add(way);
  if (by_mpi) table[1].back() += ", without the MPI, whose own collective has no price";
  print_table(table);
  if (prices.helpers) std::printf("\nhelpers    %s.\n", prices.helpers->text().c_str());
}

void print_one(const Query& query, const Answer& answer) {
  const choose::Decision& decision = answer.decision;
  if (decision.rule == nullptr) {
    std::printf("%s\nbecause    %s\n", answer.algorithm().c_str(), answer.why(query.settings).c_str());
    return;
  }
  const std::size_t count = *query.bytes / query.element;
  std::printf("%s\n", answer.algorithm().c_str());
  const std::size_t each = answer.cut->fragment_count == 0 ? count : std::min(count, answer.cut->fragment_count);
  const std::size_t fragments = each == 0 ? 1 : (count + each - 1) / each;
  const bool uneven = each > 0 && count % each != 0;
  std::printf("fragments  %zu, of %zu bytes%s\n", fragments, each * query.element, uneven ? " but for the last" : "");
  if (decision.footprint.slots) {
    const plan::Rings rings = choose::rings_for(query.situation.oversubscribed, query.situation.ranks);
    const plan::SlotClass& slots = rings.slots[static_cast<std::size_t>(answer.cut->slot_class)];
    std::printf("slots      of %u bytes, %u in a ring\n", slots.bytes, slots.depth);
  }
  std::printf("because    %s\n", answer.why(query.settings).c_str());
  if (!answer.before.empty()) std::printf("first      %s\n", answer.before.c_str());
  if (const std::string reason = answer.measured(query.settings); !reason.empty()) std::printf("measured   %s\n", reason.c_str());
  std::printf("the same   from %zu bytes%s\n", decision.from,
              answer.ends() ? (" to " + std::to_string(decision.to)).c_str() : " on");
  print_prices(prices_of(query, decision), decision.outside);
}

void print_all(const Query& query, const std::vector<Answer>& answers) {
  std::vector<std::vector<std::string>> table{{"bytes", "algorithm", "fragment", "because"}};
  for (const Answer& answer : answers)
    table.push_back(
        {std::to_string(answer.decision.from) + (answer.ends() ? " - " + std::to_string(answer.decision.to) : " and more"),
         answer.algorithm(), answer.fragments(),
         answer.why(query.settings) + (answer.before.empty() ? "" : "; first " + answer.before)});
  print_table(table);
}

}  // namespace

int explain(Arguments arguments) {
  if (helped(arguments, kHelp)) return 0;
  Query query = parse(arguments);
  std::string mistake;
  const auto settings = choose::read_settings(environ, mistake);
  if (!settings) throw std::runtime_error(mistake);
  query.settings = *settings;
  if (query.machine.empty()) mistake = communicator::file_mistake(query.settings);
  if (!mistake.empty()) throw std::runtime_error(mistake);
  if (query.machine.empty()) {
    if (!query.json) query.scene = usual_scene(query.situation);  // programs ask often, and seldom for prices
    query.places = placement_of(query.situation);
  } else {
    query.scene = scene_on(query.machine, query.situation);
    query.places = query.scene->places;
  }
  query.situation.places = &query.places;
  query.situation.like = like_which(query);
  const std::vector<Answer> answers = answers_to(query);
  if (query.json) {
    std::vector<std::string> objects;
    for (const Answer& answer : answers)
      objects.push_back("{" + answer.json(query.settings) +
                        (query.bytes && query.scene ? ", \"price\": " + prices_of(query, answer.decision).json() : "") + "}");
    std::printf("%s\n", json_list(objects).c_str());
  } else if (query.bytes) {
    print_one(query, answers.front());
  } else {
    print_all(query, answers);
  }
  return 0;
}

}  // namespace copse::cli
