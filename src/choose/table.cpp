// Reads tuning tables, and checks every row against the registry.
#include "choose/table.hpp"

#include "choose/forced.hpp"
#include "text/words.hpp"

namespace copse::choose {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;
using text::Json;
using text::Members;

constexpr std::size_t kMostBytes = std::size_t{1} << 47, kMostRanks = std::size_t{1} << 24;

// Reads `[from, to]`. The end may be null: then there is none.
Bounds bounds_in(const Json& pair, std::size_t most) {
  const std::vector<Json>& ends = pair.list();
  if (ends.size() != 2) pair.refuse("expected two numbers, [from, to], both included; null for no end");
  Bounds bounds;
  bounds.from = ends[0].whole(0, most);
  if (ends[1].kind() != Json::Kind::null) bounds.to = ends[1].whole(0, most);
  if (bounds.to < bounds.from) pair.refuse("the range ends before it begins");
  return bounds;
}

void ask(Rule& rule, Fact fact, bool yes) { (yes ? rule.with : rule.without) |= fact; }

// Reads what must be true of the ranks.
void situation_in(Members& members, Rule& rule) {
  for (const auto& [word, fact] : kSituationWords)
    if (const Json* const value = members.find(word)) ask(rule, fact, value->boolean());
  const Json* const reach = members.find("reach");
  if (reach == nullptr) return;
  const std::string& word = reach->string();
  if (word != kDirectReach && word != kKernelReach && word != kStagedReach)
    reach->refuse(text::unknown("reach", word, {kDirectReach, kKernelReach, kStagedReach}));
  ask(rule, kReach, word != kStagedReach);
  if (word != kStagedReach) ask(rule, kLoads, word == kDirectReach);
}

void fragment_in(const Json& value, Rule& rule) {
  const Algorithm& algorithm = algorithms::all()[static_cast<std::size_t>(rule.algorithm)];
  rule.fragment_bytes = value.whole(1, kMostBytes);
  rule.pieces = Pieces::fixed;
  if (rule.carrier == Carrier::line) value.refuse("what travels in a line is not cut into fragments");
  if (!algorithm.fragments) value.refuse(std::string(algorithm.name) + " does not cut messages into fragments");
}

Rule rule_in(const Json& row, const char* file, std::string& reason) {
  Members members(row, "a row");
  Rule rule;
  rule.line = row.line();
  rule.file = file;
  const Json& name = members.need("collective");
  const auto collective = algorithms::collective_named(name.string());
  if (!collective) name.refuse(text::unknown("collective", name.string(), algorithms::collective_names()));
  rule.collective = *collective;
  if (const Json* const bytes = members.find("bytes")) rule.bytes = bounds_in(*bytes, kMostBytes);
  if (const Json* const ranks = members.find("ranks")) rule.ranks = bounds_in(*ranks, kMostRanks);
  situation_in(members, rule);
  const Json& run = members.need("run");
  if (run.string() == "mpi") {
    rule.algorithm = kByMpi;
  } else {
    std::string why;
    const auto forced = forced_in(*collective, run.string(), why);
    if (!forced) run.refuse(why);
    if (!forced->carrier)
      run.refuse("expected an algorithm and a carrier, for example '" + std::string(forced->algorithm->name) + ":slot'");
    rule.algorithm = static_cast<int>(forced->algorithm - algorithms::all().data());
    rule.carrier = *forced->carrier;
    rule.radix = forced->radix.value_or(2);
  }
  if (const Json* const fragment = members.find("fragment")) {
    if (rule.algorithm == kByMpi) fragment->refuse("the MPI decides by itself how it cuts messages");
    fragment_in(*fragment, rule);
  }
  const Json* const because = members.find("because");
  reason = because == nullptr ? std::string() : because->string();
  members.end();
  return rule;
}

}  // namespace

void Table::read(const Json& document, const std::string& origin) {
  file = origin;
  Members members(document, "a tuning table");
  const Json& schema = members.need("schema");
  if (schema.string() != kSchema)
    schema.refuse("expected \"" + std::string(kSchema) + "\", but here is \"" + schema.string() +
                  "\"; make the table anew with copse tune");
  machine = members.need("machine").string();
  if (const Json* const name = members.find("mpi")) mpi = name->string();
  if (const Json* const made = members.find("made")) static_cast<void>(made->object());  // when and how, for people
  for (const Json& row : members.need("rows").list()) rules.push_back(rule_in(row, file.c_str(), reasons.emplace_back()));
  members.end();
}

std::string Table::reason_of(const Rule& rule) const {
  for (std::size_t i = 0; i < rules.size(); ++i)
    if (&rules[i] == &rule) return reasons[i];
  return {};
}

}  // namespace copse::choose
