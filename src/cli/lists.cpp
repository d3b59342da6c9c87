// copse-native algorithms, collectives, env: print the tables from which the code is made.
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

#include "algorithms/registry.hpp"
#include "choose/settings.hpp"
#include "cli/output.hpp"
#include "topology/machine.hpp"

namespace copse::cli {

int algorithms(Arguments arguments) {
  const bool json = only_json(arguments);
  std::vector<std::string> objects;
  std::vector<std::vector<std::string>> rows{
      {"collective", "algorithm", "carriers", "keeps order", "fragments", "source", "summary"}};
  for (const auto& row : algorithms::every()) {
    std::string carriers, quoted_carriers;
    for (int c = 0; c < plan::kCarriers; ++c) {
      const auto carrier = static_cast<plan::Carrier>(c);
      if (!row.carries(carrier)) continue;
      carriers.append(carriers.empty() ? "" : ",").append(plan::name_of(carrier));
      quoted_carriers.append(quoted_carriers.empty() ? "" : ", ").append(quoted(plan::name_of(carrier)));
    }
    rows.push_back({std::string(name_of(row.collective)), std::string(row.name), carriers, row.keeps_order ? "yes" : "no",
                    row.fragments ? "yes" : "no", std::string(row.source), std::string(row.summary)});
    objects.push_back("{\"collective\": " + quoted(name_of(row.collective)) + ", \"algorithm\": " + quoted(row.name) +
                      ", \"carriers\": [" + quoted_carriers + "], \"keeps_order\": " + (row.keeps_order ? "true" : "false") +
                      ", \"fragments\": " + (row.fragments ? "true" : "false") + ", \"source\": " + quoted(row.source) +
                      ", \"summary\": " + quoted(row.summary) + "}");
  }
  if (json) {
    std::printf("%s\n", json_list(objects).c_str());
  } else {
    print_table(rows);
  }
  return 0;
}

int collectives(Arguments arguments) {
  const bool json = only_json(arguments);
  std::vector<std::string> objects;
  std::vector<std::vector<std::string>> rows{{"collective", "of the C library", "of MPI", "units", "summary"}};
  for (const auto& traits : algorithms::kTraits) {
    const std::string units = traits.reduces ? "elements" : traits.moves_data ? "bytes" : "";
    rows.push_back(
        {std::string(traits.name), std::string(traits.c_calls), std::string(traits.mpi_calls), units, std::string(traits.summary)});
    objects.push_back("{\"collective\": " + quoted(traits.name) + ", \"c\": " + quoted(traits.c_calls) +
                      ", \"mpi\": " + quoted(traits.mpi_calls) + ", \"units\": " + quoted(units) +
                      ", \"summary\": " + quoted(traits.summary) + "}");
  }
  if (json) {
    std::printf("%s\n", json_list(objects).c_str());
  } else {
    print_table(rows);
  }
  return 0;
}

int env(Arguments arguments) {
  const bool json = only_json(arguments);
  std::string mistake;
  const auto settings = choose::read_settings(environ, mistake);
  if (!settings) throw std::runtime_error(mistake);
  if (!settings->topology.empty()) static_cast<void>(topology::Machine::from(settings->topology));  // throws if it is invalid
  std::vector<std::string> objects;
  std::vector<std::vector<std::string>> rows{{"variable", "values", "default", "meaning"}};
  for (const auto& variable : choose::variables()) {
    rows.push_back(
        {std::string(variable.name), std::string(variable.values), std::string(variable.standard), std::string(variable.meaning)});
    objects.push_back("{\"name\": " + quoted(variable.name) + ", \"values\": " + quoted(variable.values) +
                      ", \"default\": " + quoted(variable.standard) + ", \"meaning\": " + quoted(variable.meaning) + "}");
  }
  if (json) {
    std::printf("%s\n", json_list(objects).c_str());
  } else {
    print_table(rows);
  }
  return 0;
}

}  // namespace copse::cli
