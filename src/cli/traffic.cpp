// Prints a line for each algorithm and carrier: steps, bytes copied and reduced, and bytes across each level of a
// machine.
#include "cli/traffic.hpp"

#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "analysis/traffic.hpp"
#include "cli/output.hpp"

namespace copse::cli {
namespace {

std::string number(double value) {
  char text[32];
  const bool whole = std::abs(value - std::round(value)) < 1e-9;
  std::snprintf(text, sizeof text, whole ? "%.0f" : "%.2f", value);
  return text;
}

}  // namespace

int run(const Count& count) {
  const int ranks = count.ranks > 0 ? count.ranks : count.nodes * static_cast<int>(count.machine->cores().size());
  if (count.nodes < 1 || count.nodes > ranks) throw std::invalid_argument("--nodes must be from 1 to the number of ranks");
  if (count.root >= ranks) throw std::invalid_argument("--root must be a rank below " + std::to_string(ranks));
  const auto places = std::make_shared<topology::Placement>(analysis::make_placement(0, *count.machine, count.nodes, ranks));
  const auto divisions = analysis::divisions(*places);
  std::vector<std::vector<std::string>> table{{"collective", "algorithm", "by", "steps", "copied", "reduced"}};
  for (const auto& division : divisions) table[0].push_back("across " + division.name);
  std::vector<std::string> objects;
  for (const algorithms::Algorithm* row : count.rows) {
    analysis::Variant variant;
    variant.row = row;
    variant.ranks = ranks;
    variant.helpers = row->served() ? 1 : 0;
    variant.root = count.root;
    variant.radix = count.radix;
    variant.places = places;
    variant.placement = "block on " + count.machine->name();
    if (count.nodes > 1)
      for (const auto& place : *places) variant.nodes.push_back(place.at(topology::Level::node));
    for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
      variant.carrier = static_cast<plan::Carrier>(carrier);
      const std::string by = plan::name_of(variant.carrier);
      if (!row->carries(variant.carrier) || (count.carrier && *count.carrier != variant.carrier)) continue;
      variant.plans = analysis::build_plans(variant);
      const analysis::Traffic traffic = analysis::traffic_of(variant);
      auto& line = table.emplace_back(std::vector{std::string(name_of(row->collective)), std::string(row->name), by,
                                                  std::to_string(traffic.steps), number(traffic.copied), number(traffic.reduced)});
      std::string across;
      for (const auto& division : divisions) {
        line.push_back(number(traffic.across(*places, division.level)));
        across.append(across.empty() ? "" : ", ").append(quoted(division.name)).append(": ").append(line.back());
      }
      objects.push_back("{\"collective\": " + quoted(line[0]) + ", \"algorithm\": " + quoted(line[1]) +
                        ", \"carrier\": " + quoted(by) + ", \"steps\": " + line[3] + ", \"copied\": " + line[4] +
                        ", \"reduced\": " + line[5] + ", \"across\": {" + across + "}}");
    }
  }
  if (count.json) {
    std::printf("%s\n", json_list(objects).c_str());
    return 0;
  }
  print_table(table);
  std::printf(
      "\n%d ranks in blocks on %d x %s. Steps: signals on the longest chain. Bytes: in messages, or blocks where\n"
      "messages are made of them; across a level: from one of its objects to another.\n",
      ranks, count.nodes, count.machine->name().c_str());
  return 0;
}

}  // namespace copse::cli
