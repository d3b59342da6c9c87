// Writes a calibration as a machine's file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "measure/calibration.hpp"

namespace copse::measure {
namespace {

// Where a flag took longer in one direction, no processors were found that share a cache (docs/measurements.md).
constexpr double kFarFlag = 80;  // ns

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20) continue;
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string joined(const std::vector<std::string>& parts, const char* separator) {
  std::string out;
  for (const std::string& part : parts) out += (out.empty() ? "" : separator) + part;
  return out;
}

// Returns the parts, joined and enclosed. (gcc 12 warns if a moved text is appended to a text of constant length.)
std::string enclosed(char first, const std::vector<std::string>& parts, char last) {
  std::string out(1, first);
  return out.append(joined(parts, ", ")) + last;
}

// Writes the members of one object of the file. The numbers are those that were measured at the object's place, under the members'
// names.
class Object {
 public:
  Object(const Figures& figures, std::string place) : figures_(figures), place_(std::move(place)) {}
  Object& text(const std::string& name, const std::string& value) {
    members_.push_back(quoted(name) + ": " + quoted(value));
    return *this;
  }
  Object& value(const std::string& name, double value) {
    members_.push_back(quoted(name) + ": " + number(value));
    return *this;
  }
  // Writes the number that was measured under this name, but not less than `least`, so that medians of different rounds do not
  // contradict each other.
  Object& figure(const std::string& name, double least = 0) {
    const std::string at = place_ + name;
    return figures_.has(at) ? value(name, std::max(least, figures_.at(at).value)) : *this;
  }
  [[nodiscard]] double of(const std::string& name) const { return figures_.at(place_ + name).value; }
  [[nodiscard]] std::string json() const { return enclosed('{', members_, '}'); }

 private:
  const Figures& figures_;
  std::string place_;
  std::vector<std::string> members_;
};

std::string level_json(const Calibration& found, std::size_t index, topology::Level level) {
  const Neighbourhood& there = found.neighbourhoods[index];
  Object object(found.figures, "levels[" + std::to_string(index) + "].");
  object.text("level", std::string(topology::level_name(level)));
  if (there.distance > 0) object.value("distance", static_cast<double>(there.distance));
  object.figure("flag_ns")
      .figure("line_ns")
      .figure("reader_GBps")
      .figure("shared_GBps", object.of("reader_GBps"))
      .figure("writer_GBps");
  return object.json();
}

// The last level must be the node. If no two processors have only the node in common, its numbers are those of the outermost level
// that was measured. If there is one processor, its ranks reach each other in its own caches.
std::string levels_json(const Calibration& found) {
  std::vector<std::string> levels;
  const auto& all = found.neighbourhoods;
  for (std::size_t i = 0; i < all.size(); ++i) levels.push_back(level_json(found, i, all[i].level));
  if (all.empty()) {
    const double line = found.figures.at("own.line_ns").value, rate = found.figures.at("own.reader_GBps").value;
    levels.push_back(Object(found.figures, "")
                         .text("level", "node")
                         .value("flag_ns", line)
                         .value("line_ns", line)
                         .value("reader_GBps", rate)
                         .json());
  } else if (all.back().level != topology::Level::node) {
    levels.push_back(level_json(found, all.size() - 1, topology::Level::node));
  }
  return std::string("[\n    ").append(joined(levels, ",\n    ")).append("\n  ]");
}

std::string reductions_json(const Figures& figures) {
  const std::string place = "reduce_GBps.";
  Object object(figures, place);
  for (const auto& [at, rounds] : figures.rounds())
    if (at.starts_with(place)) object.figure(at.substr(place.size()));
  return object.json();
}

std::string spread_json(const Figures& figures) {
  std::vector<std::string> members;
  for (const auto& [at, rounds] : figures.rounds()) members.push_back(quoted(at) + ": " + number(figure_of(rounds).spread));
  return enclosed('{', members, '}');
}

bool is_virtual() {
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);)
    if (line.starts_with("flags")) return line.find(" hypervisor") != std::string::npos;
  return false;
}

// Says how far apart the caches were, and whether they stayed so: a virtual machine's processors move among the host's.
std::string state_of(const Calibration& found, std::size_t index) {
  const std::vector<double>& flags = found.figures.rounds().at("levels[" + std::to_string(index) + "].flag_ns");
  const auto [least, most] = std::minmax_element(flags.begin(), flags.end());
  const Pair& pair = found.neighbourhoods[index].pairs.front();
  const char* const state = *most < kFarFlag     ? "near caches"
                            : *least >= kFarFlag ? "far caches"
                                                 : "near caches at times and far ones at others";
  return "processors " + std::to_string(pair.first) + " and " + std::to_string(pair.second) + ": " + state + ", a flag took " +
         number(*least) + " to " + number(*most) + " ns";
}

std::string distances_json(const topology::Machine& machine) {
  std::vector<std::string> rows;
  for (const auto& row : machine.distances()) {
    std::vector<std::string> cells;
    for (const auto cell : row) cells.push_back(std::to_string(cell));
    rows.push_back(enclosed('[', cells, ']'));
  }
  return enclosed('[', rows, ']');
}

}  // namespace

std::string machine_file(const Calibration& found, const std::string& date, const std::string& version) {
  const Figures& figures = found.figures;
  const auto object = [&](const std::string& name, const std::vector<std::string>& members) {
    Object result(figures, name + ".");
    for (const std::string& member : members) result.figure(member);
    return quoted(name) + ": " + result.json();
  };
  std::vector<std::string> sources{
      quoted("measured by copse calibrate " + version + " on " + date + ", in " + std::to_string(found.rounds) + " rounds and " +
             number(found.seconds) + " s, with " + std::to_string(found.processors.size()) + " of the machine's processors"),
      quoted(is_virtual() ? "a virtual machine: its processors may be others of the host at another time"
                          : "no virtual machine that can be seen")};
  for (std::size_t i = 0; i < found.neighbourhoods.size(); ++i) sources.push_back(quoted(state_of(found, i)));
  const std::string topology = topology::description_of_this_machine();
  Object memory(figures, "memory.");
  memory.figure("line_ns").figure("reader_GBps").figure("shared_GBps", memory.of("reader_GBps"));
  std::vector<std::string> members{"\"schema\": \"copse-machine/1\"",
                                   "\"name\": \"here\"",
                                   "\"title\": " + quoted(found.machine.kind()),
                                   "\"source\": [\n    " + joined(sources, ",\n    ") + "\n  ]",
                                   "\"measured\": true",
                                   "\"topology\": " + quoted(topology)};
  // Where the description leaves out the memory, nobody could say which regions the distances mean.
  if (!found.machine.distances().empty() && topology::Machine::from(topology).regions().size() == found.machine.regions().size())
    members.push_back("\"distances\": " + distances_json(found.machine));
  members.push_back(object("steps", {"call_ns", "step_ns", "wait_ns", "turn_ns"}));
  members.push_back(object("own", {"line_ns", "reader_GBps"}));
  members.push_back("\"levels\": " + levels_json(found));
  members.push_back("\"memory\": " + memory.json());
  Object last(figures, "last.");
  last.figure("line_ns").figure("reader_GBps").figure("shared_GBps", last.of("reader_GBps"));
  if (figures.has("last.line_ns")) members.push_back("\"last\": " + last.json());
  members.push_back("\"reduce_GBps\": " + reductions_json(figures));
  if (figures.has("kernel.call_ns")) members.push_back(object("kernel", {"call_ns", "page_ns", "contention", "GBps"}));
  members.push_back("\"spread\": " + spread_json(figures));
  return "{\n  " + joined(members, ",\n  ") + "\n}\n";
}

}  // namespace copse::measure
