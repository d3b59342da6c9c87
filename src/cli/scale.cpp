// Prints a line for each row, carrier and number of ranks: steps, time to build and to walk, and the most memory.
#include "cli/scale.hpp"

#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>

#include "analysis/outline.hpp"
#include "cli/output.hpp"

namespace copse::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMostSteps = 4e6;  // steps of all ranks; a row stops before its plans probably exceed this

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Lets the next measurement find its own memory alone (proc_pid_clear_refs(5)). Where the kernel does not allow that, it finds the
// most of all measurements so far.
void forget_peak() {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;
}

// Returns the most memory of this process that was resident.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  std::string word;
  double kib = 0;
  while (status >> word && word != "VmHWM:") continue;
  status >> kib;
  return kib / 1024;
}

std::string text_of(double value, const char* format) {
  char text[32];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

struct Point {
  int ranks = 0;
  analysis::Outline outline;
  double build = 0, walk = 0, peak = 0;  // seconds, seconds, MiB
};

Point measure(analysis::Variant& variant) {
  Point point;
  point.ranks = variant.ranks;
  forget_peak();
  auto start = Clock::now();
  variant.plans = analysis::build_plans(variant);
  point.build = seconds_since(start);
  start = Clock::now();
  point.outline = analysis::outline_of(variant);
  point.walk = seconds_since(start);
  point.peak = peak_mib();
  variant.plans.reset();
  return point;
}

// Estimates the steps of `ranks` ranks from the last two points. Returns 0 if there are fewer.
double steps_of(const std::vector<Point>& known, int ranks) {
  if (known.size() < 2) return 0;
  const Point &last = known.back(), &before = known[known.size() - 2];
  const auto steps = [](const Point& point) { return static_cast<double>(std::max<std::uint64_t>(point.outline.steps, 1)); };
  const double growth = std::log(steps(last) / steps(before)) / std::log(1.0 * last.ranks / before.ranks);
  return steps(last) * std::pow(1.0 * ranks / last.ranks, growth);
}

class Report {
 public:
  explicit Report(bool json) : json_(json) {
    if (!json_)
      std::printf("%-34s %-5s %7s %10s %10s %6s %9s %9s %8s\n", "algorithm", "by", "ranks", "steps", "of one", "chain", "build s",
                  "walk s", "peak MiB");
  }
  void add(const std::string& row, const char* by, const Point& point) {
    if (json_) {
      objects_.push_back(
          "{\"algorithm\": " + quoted(row) + ", \"carrier\": " + quoted(by) + ", \"ranks\": " + std::to_string(point.ranks) +
          ", \"steps\": " + std::to_string(point.outline.steps) + ", \"most_steps\": " + std::to_string(point.outline.most_steps) +
          ", \"chain\": " + std::to_string(point.outline.chain) + ", \"build_seconds\": " + text_of(point.build, "%.6f") +
          ", \"walk_seconds\": " + text_of(point.walk, "%.6f") + ", \"peak_mib\": " + text_of(point.peak, "%.0f") + "}");
      return;
    }
    std::printf("%-34s %-5s %7d %10llu %10llu %6d %9.3f %9.3f %8.0f\n", row.c_str(), by, point.ranks,
                static_cast<unsigned long long>(point.outline.steps), static_cast<unsigned long long>(point.outline.most_steps),
                point.outline.chain, point.build, point.walk, point.peak);
    std::fflush(stdout);
  }
  void stop(const std::string& row, const char* by, int ranks, const std::string& why) {
    if (!json_) std::printf("%-34s %-5s %7d  %s\n", row.c_str(), by, ranks, why.c_str());
  }
  void end() const {
    if (json_) std::printf("%s\n", json_list(objects_).c_str());
  }

 private:
  bool json_;
  std::vector<std::string> objects_;
};

void curve(const Scale& scale, analysis::Variant variant, Report& report) {
  const std::string row = std::string(name_of(variant.row->collective)).append(" ").append(variant.row->name);
  const char* by = plan::name_of(variant.carrier);
  const int cores = static_cast<int>(scale.machine->cores().size());
  std::vector<Point> known;
  for (const int ranks : scale.ranks) {
    if (const double steps = steps_of(known, ranks); steps > kMostSteps)
      return report.stop(row, by, ranks, "too many steps: about " + text_of(steps, "%.1e"));
    const int nodes = (ranks + cores - 1) / cores;
    variant.ranks = ranks;
    variant.places = std::make_shared<topology::Placement>(analysis::make_placement(0, *scale.machine, nodes, ranks));
    variant.nodes.clear();
    if (nodes > 1)
      for (const auto& place : *variant.places) variant.nodes.push_back(place.at(topology::Level::node));
    try {
      known.push_back(measure(variant));
      report.add(row, by, known.back());
    } catch (const algorithms::Unbuildable& refused) {
      return report.stop(row, by, ranks, refused.what());
    }
  }
}

}  // namespace

int run(const Scale& scale) {
  if (scale.root >= scale.ranks.front())
    throw std::invalid_argument("--root must be a rank below " + std::to_string(scale.ranks.front()));
  Report report(scale.json);
  for (const algorithms::Algorithm* row : scale.rows) {
    for (int carrier = 0; carrier < plan::kCarriers; ++carrier) {
      analysis::Variant variant;
      variant.row = row;
      variant.root = scale.root;
      variant.radix = scale.radix;
      variant.carrier = static_cast<plan::Carrier>(carrier);
      variant.placement = "block on " + scale.machine->name();
      if (!row->carries(variant.carrier) || (scale.carrier && *scale.carrier != variant.carrier)) continue;
      curve(scale, variant, report);
    }
  }
  report.end();
  return 0;
}

}  // namespace copse::cli
