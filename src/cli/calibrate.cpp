// copse-native calibrate: measures this machine and prints its file, or compares prices on such a file with calls that run here.
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/input.hpp"
#include "cli/output.hpp"
#include "cli/pricing.hpp"
#include "measure/calibration.hpp"
#include "measure/check.hpp"

namespace copse::cli {
namespace {

using algorithms::Collective;

constexpr const char* kHelp =
    "usage: copse-native calibrate [--seconds N] [--progress]\n"
    "       copse-native calibrate --check MACHINE [options]\n"
    "Measures this machine, and prints its file (docs/machines.md) on standard output.\n"
    "  --seconds N        begin no round after so many seconds (default 10, at most 600)\n"
    "  --check MACHINE    instead, compare the prices of calls on that machine with the times of the same calls here\n"
    "  --ranks N,...      default 2,8\n"
    "  --sizes B,...      default 8,64,512,4K,32K,256K,1M,4M\n"
    "  --collectives C,.. default broadcast,reduce,allreduce,allgather,alltoall\n"
    "  --json             the comparison as JSON\n"
    "  --progress         one line for each measurement on standard error: the fraction that is done, and what comes\n";

// Many fields: one for each option.
struct Query {
  double seconds = 10;
  std::string machine;
  measure::Inquiry inquiry;
  bool json = false, progress = false;
};

std::vector<std::string_view> parts_of(std::string_view option, std::string_view list) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t comma = std::min(list.find(',', at), list.size());
    if (comma == at) refuse(std::string(option) + ": expected words with commas between them");
    parts.push_back(list.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Query parse(Arguments arguments) {
  Query query;
  measure::Inquiry& inquiry = query.inquiry;
  inquiry.collectives = {Collective::broadcast, Collective::reduce, Collective::allreduce, Collective::allgather,
                         Collective::alltoall};
  inquiry.sizes = {8, 64, 512, 4096, 32768, 262144, 1048576, 4194304};
  inquiry.ranks = {2, 8};
  for (Words given(arguments); given.next();) {
    const std::string_view option = given.word();
    const auto value = [&] { return given.value(); };
    if (option == "--seconds") {
      query.seconds = static_cast<double>(number_in(option, value(), 1, 600));
    } else if (option == "--check") {
      query.machine = value();
    } else if (option == "--ranks") {
      inquiry.ranks.clear();
      for (const std::string_view each : parts_of(option, value()))
        inquiry.ranks.push_back(static_cast<int>(number_in(option, each, 2, 1024)));
    } else if (option == "--sizes") {
      inquiry.sizes.clear();
      for (const std::string_view each : parts_of(option, value())) {
        inquiry.sizes.push_back(number_in(option, each, 8, std::size_t{1} << 30));
        if (inquiry.sizes.back() % 8 != 0)
          refuse("--sizes: '" + std::string(each) + "' is not a multiple of 8, of which sums of numbers are made");
      }
    } else if (option == "--collectives") {
      inquiry.collectives.clear();
      for (const std::string_view each : parts_of(option, value())) {
        inquiry.collectives.push_back(collective_in(each));
        if (algorithms::traits_of(inquiry.collectives.back()).permutes || inquiry.collectives.back() == Collective::barrier)
          refuse("--collectives: '" + std::string(each) + "' cannot be compared");
      }
    } else if (option == "--json") {
      query.json = true;
    } else if (option == "--progress") {
      query.progress = true;
    } else {
      refuse("unknown option '" + std::string(option) + "'; see --help");
    }
  }
  return query;
}

void say(double part, const std::string& what) { std::fprintf(stderr, "%.3f %s\n", part, what.c_str()); }

std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string json_of(const measure::Cell& cell) {
  return "{\"kind\": " + std::string(cell.processes ? "\"processes\"" : "\"threads\"") +
         ", \"ranks\": " + std::to_string(cell.ranks) + ", \"turns\": " + (cell.turns ? "true" : "false") +
         ", \"collective\": " + quoted(algorithms::name_of(cell.collective)) + ", \"bytes\": " + std::to_string(cell.bytes) +
         ", \"run\": " + quoted(cell.way) + ", \"predicted_ns\": " + with_format("%.1f", cell.predicted_ns) +
         ", \"measured_ns\": " + with_format("%.1f", cell.measured_ns) + ", \"spread\": " + with_format("%.3f", cell.spread) +
         ", \"other_state\": " + (cell.other_state ? "true" : "false") + ", \"error\": " + with_format("%.4f", cell.error()) + "}";
}

double median_error(const std::vector<measure::Cell>& cells, bool turns) {
  std::vector<double> errors;
  for (const measure::Cell& cell : cells)
    if (cell.turns == turns) errors.push_back(std::abs(cell.error()));
  return measure::figure_of(errors).value;
}

void print(const std::vector<measure::Cell>& cells) {
  std::vector<std::vector<std::string>> table{{"ranks", "collective", "bytes", "run", "predicted us", "measured us", "error"}};
  for (const measure::Cell& cell : cells)
    table.push_back(
        {std::to_string(cell.ranks) + (cell.processes ? " processes" : " threads"),
         std::string(algorithms::name_of(cell.collective)), std::to_string(cell.bytes), cell.way,
         with_format("%.3f", cell.predicted_ns / 1e3), with_format("%.3f", cell.measured_ns / 1e3),
         with_format("%+.0f %%", 100 * cell.error()) + (cell.other_state ? "; the caches are not as near as measured" : "")});
  print_table(table);
  for (const bool turns : {false, true}) {
    if (std::none_of(cells.begin(), cells.end(), [&](const measure::Cell& cell) { return cell.turns == turns; })) continue;
    std::printf("\nmedian error %s: %.1f %%", turns ? "of ranks that take turns" : "of ranks with a processor each",
                100 * median_error(cells, turns));
  }
  std::printf("\n");
}

}  // namespace

int calibrate(Arguments arguments) {
  if (helped(arguments, kHelp)) return 0;
  Query query = parse(arguments);
  // The program that shows the progress has started this process. If that program ends, nobody needs the measurements any more.
  if (query.progress) prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (query.machine.empty()) {
    const measure::Calibration found = measure::calibrate({query.seconds, query.progress ? say : nullptr});
    std::printf("%s", measure::machine_file(found, date(), COPSE_VERSION).c_str());
    return 0;
  }
  const price::Parameters machine = price::parameters_of(query.machine);
  if (query.progress) query.inquiry.say = say;
  const std::vector<measure::Cell> cells = measure::check(machine, query.inquiry);
  if (query.json) {
    std::vector<std::string> objects;
    for (const measure::Cell& cell : cells) objects.push_back(json_of(cell));
    std::printf("%s\n", json_list(objects).c_str());
  } else {
    print(cells);
  }
  return 0;
}

}  // namespace copse::cli
