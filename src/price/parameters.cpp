// Reads a machine's JSON file, and finds what it says about two ranks.
#include "price/parameters.hpp"

#include <algorithm>
#include <stdexcept>

#include "text/words.hpp"
#include "topology/error.hpp"

namespace copse::price {
namespace {

using text::Json;
using text::Members;
using topology::Level;

constexpr std::string_view kSchema = "copse-machine/1";
constexpr double kLongest = 1e9, kSlowest = 1e-6, kFastest = 1e6;  // ns, bytes per ns

double time_in(Members& members, std::string_view name) { return members.need(name).number(0, kLongest); }
double time_or_none(Members& members, std::string_view name) {
  const Json* const value = members.find(name);
  return value == nullptr ? 0 : value->number(0, kLongest);
}
double rate_in(Members& members, std::string_view name, double standard) {
  const Json* const value = members.find(name);
  return value == nullptr ? standard : value->number(kSlowest, kFastest);
}

// Reads the members that every stream has.
Stream stream_in(Members& members) {
  Stream stream;
  stream.line_ns = time_in(members, "line_ns");
  stream.one = rate_in(members, "reader_GBps", kUnbounded);
  const Json* const all = members.find("shared_GBps");
  stream.all = all == nullptr ? kUnbounded : all->number(kSlowest, kFastest);
  if (stream.all < stream.one && all != nullptr && stream.one < kUnbounded)
    all->refuse("all readers together cannot be slower than one of them (reader_GBps)");
  return stream;
}

Stream stream_of(const Json& object, const std::string& what) {
  Members members(object, what);
  const Stream stream = stream_in(members);
  members.end();
  return stream;
}

Level level_of(const Json& word) {
  std::vector<std::string> known;
  for (const Level level : topology::kAllLevels) {
    known.emplace_back(topology::level_name(level));
    if (known.back() == word.string()) return level;
  }
  word.refuse(text::unknown("level", word.string(), known));
}

Nearness nearness_of(const Json& object) {
  Members members(object, "a level");
  Nearness nearness;
  nearness.level = level_of(members.need("level"));
  if (const Json* const distance = members.find("distance")) nearness.distance = distance->whole(1, 1000);
  nearness.flag_ns = time_in(members, "flag_ns");
  nearness.read = stream_in(members);
  nearness.write = rate_in(members, "writer_GBps", nearness.read.one);
  using Scope = Nearness::Scope;
  nearness.shared = nearness.level < Level::l3 ? Scope::links : Scope::all;
  if (const Json* const by = members.find("shared_by")) {
    const std::vector<std::string> words = {"all", "links", "ports"};
    const auto found = std::find(words.begin(), words.end(), by->string());
    if (found == words.end()) by->refuse("a level is not shared by '" + by->string() + "'" + text::instead_of(by->string(), words));
    nearness.shared = static_cast<Scope>(found - words.begin());
  }
  if (const Json* const keeps = members.find("keeps_reads")) nearness.keeps_reads = keeps->boolean();
  members.end();
  return nearness;
}

Steps steps_of(const Json& object) {
  Members members(object, "\"steps\"");
  const Steps steps{time_in(members, "call_ns"), time_in(members, "step_ns"), time_in(members, "wait_ns"),
                    time_in(members, "turn_ns")};
  members.end();
  return steps;
}

KernelCopy kernel_of(const Json& object) {
  Members members(object, "\"kernel\"");
  KernelCopy kernel;
  kernel.call_ns = time_in(members, "call_ns");
  kernel.page_ns = time_in(members, "page_ns");
  if (const Json* const contention = members.find("contention")) kernel.contention = contention->number(0, 1000);
  kernel.rate = rate_in(members, "GBps", kUnbounded);
  members.end();
  return kernel;
}

Network network_of(const Json& object) {
  Members members(object, "\"network\"");
  const Network network{time_in(members, "latency_ns"), time_or_none(members, "overhead_ns"), time_or_none(members, "gap_ns"),
                        rate_in(members, "GBps", kUnbounded)};
  members.end();
  return network;
}

std::map<std::string, double> numbers_of(const Json& object, double least, double most) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : object.object()) numbers[name] = value.number(least, most);
  return numbers;
}

std::vector<Nearness> levels_of(const Json& list) {
  std::vector<Nearness> result;
  for (const Json& object : list.list()) {
    result.push_back(nearness_of(object));
    if (result.size() < 2) continue;
    const Nearness &now = result.back(), &before = result[result.size() - 2];
    const bool goes_on = now.level == before.level && now.distance > before.distance;
    const bool is_new =
        std::none_of(result.begin(), result.end() - 1, [&](const Nearness& each) { return each.level == now.level; });
    if (!goes_on && (!is_new || before.level == Level::node))
      object.refuse(
          "each level stands once, the inner ones before the outer ones; or several times in a row, from near to far "
          "(\"distance\")");
  }
  if (result.empty() || result.back().level != Level::node)
    list.refuse("the last level must be \"node\": what ranks pay that share no smaller part of the machine");
  return result;
}

topology::Machine machine_of(const Json& text, const Json* distances) {
  try {
    topology::Machine machine = topology::Machine::from(text.string(), "\"topology\"");
    if (distances == nullptr) return machine;
    std::vector<std::vector<std::uint64_t>> matrix;
    for (const Json& row : distances->list()) {
      matrix.emplace_back();
      for (const Json& value : row.list()) matrix.back().push_back(value.whole(1, 1000));
    }
    if (!machine.set_distances(std::move(matrix)))
      distances->refuse("expected a list with " + std::to_string(machine.regions().size()) +
                        " numbers for each of as many NUMA regions");
    return machine;
  } catch (const topology::Error& error) {
    text.refuse(error.what());
  }
}

}  // namespace

Parameters Parameters::from(const Json& document) {
  Members members(document, "a machine");
  const Json& schema = members.need("schema");
  if (schema.string() != kSchema)
    schema.refuse("expected \"" + std::string(kSchema) + "\", but here is \"" + schema.string() +
                  "\"; another version of Copse may have written this");
  Parameters result;
  result.name = members.need("name").string();
  result.title = members.need("title").string();
  for (const Json& source : members.need("source").list()) result.sources.push_back(source.string());
  if (const Json* const measured = members.find("measured")) result.measured = measured->boolean();
  const Json& topology = members.need("topology");
  result.machine = machine_of(topology, members.find("distances"));
  result.steps = steps_of(members.need("steps"));
  result.nearness = levels_of(members.need("levels"));
  result.own = stream_of(members.need("own"), "\"own\"");
  result.memory = stream_of(members.need("memory"), "\"memory\"");
  if (const Json* const last = members.find("last")) result.last = stream_of(*last, "\"last\"");
  const Json& reduce = members.need("reduce_GBps");
  result.reduce = numbers_of(reduce, kSlowest, kFastest);
  if (!result.reduce.contains(""))
    reduce.refuse("\"reduce_GBps\" needs the member \"\": the rate of all operators and types that are not named");
  if (const Json* const kernel = members.find("kernel")) result.kernel = kernel_of(*kernel);
  if (const Json* const network = members.find("network")) result.network = network_of(*network);
  if (const Json* const spread = members.find("spread")) result.spread = numbers_of(*spread, 0, 1000);
  members.end();
  return result;
}

const Nearness& Parameters::between(const topology::Place& a, const topology::Place& b) const {
  const auto& distances = machine.distances();
  const auto region = [&](const topology::Place& place) {
    return distances.empty() ? std::size_t{0} : static_cast<std::size_t>(place.at(Level::numa)) % distances.size();
  };
  const auto distance = distances.empty() ? 0 : distances[region(a)][region(b)];
  const Nearness* found = nullptr;
  for (const Nearness& each : nearness) {
    if (found != nullptr && each.level != found->level) break;
    if (a.at(each.level) == b.at(each.level) && each.distance <= distance) found = &each;
  }
  return found == nullptr ? nearness.back() : *found;
}

double Parameters::reduction_rate(const std::string& operation, const std::string& type) const {
  for (const std::string& name : {operation + ":" + type, operation, std::string()})
    if (const auto found = reduce.find(name); found != reduce.end()) return found->second;
  return kUnbounded;
}

Parameters parameters_of(const std::string& name_or_file) {
  if (name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".json"))
    return Parameters::from(Json::read(name_or_file));
  std::vector<std::string> known;
  for (const Recorded& each : recorded()) {
    known.emplace_back(each.name);
    if (each.name == name_or_file) return Parameters::from(Json::parse(each.text, name_or_file + ".json"));
  }
  throw std::invalid_argument(text::unknown("machine", name_or_file, known) +
                              "; give a file with a name that ends in .json, or a path");
}

}  // namespace copse::price
