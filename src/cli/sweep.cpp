// Runs one task for each row and number of ranks, the long ones first.
#include "cli/sweep.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <numeric>

#include "cli/output.hpp"
#include "cli/workers.hpp"

namespace copse::cli {
namespace {

using algorithms::Algorithm;
using analysis::Effort;
using analysis::Tally;
using Clock = std::chrono::steady_clock;

unsigned long long wide(std::uint64_t value) { return value; }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Returns the processor time of all threads.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Writes numbers as runs, for instance "2-64, 96".
std::string text_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text.append(text.empty() ? "" : ", ").append(std::to_string(ranks[i]));
    if (last > i) text.append("-").append(std::to_string(ranks[last]));
    i = last + 1;
  }
  return text;
}

void print_failures(std::FILE* out, const Tally& tally) {
  for (const auto& failure : tally.failures) {
    std::fprintf(out, "  %s\n", failure.name.c_str());
    for (const auto& finding : failure.findings) std::fprintf(out, "    %s\n", to_text(finding).c_str());
  }
}

// The result is indexed by row, then by number of ranks.
std::vector<std::vector<Tally>> tallies_of(const Sweep& sweep) {
  std::vector<std::vector<Tally>> tallies(sweep.rows.size(), std::vector<Tally>(sweep.ranks.size()));
  run(each_with_ranks(sweep.rows, sweep.ranks, sweep.threads, [&](std::size_t row, std::size_t ranks) {
    Tally& tally = tallies[row][ranks];
    tally = analysis::verify(*sweep.rows[row], sweep.ranks[ranks], sweep.effort, sweep.machine, sweep.modes);
    return tally.failed == 0;
  }));
  return tallies;
}

std::string as_json(const Algorithm& row, const Tally& tally) {
  std::string out =
      "{\"collective\": " + quoted(std::string(name_of(row.collective))) + ", \"algorithm\": " + quoted(std::string(row.name));
  const auto field = [&](const char* name, std::uint64_t value) { out += ", " + quoted(name) + ": " + std::to_string(value); };
  field("combinations", tally.combinations);
  field("possible", tally.possible);
  field("variants", tally.variants);
  field("plans", tally.plans);
  field("cases", tally.cases);
  field("steps", tally.steps);
  field("accesses", tally.accesses);
  field("failed", tally.failed);
  field("spoiled", tally.spoiled);
  out += ", \"failures\": [";
  for (std::size_t i = 0; i < tally.failures.size(); ++i) {
    out += i > 0 ? ", " : "";
    out += "{\"case\": " + quoted(tally.failures[i].name) + ", \"findings\": [";
    for (std::size_t j = 0; j < tally.failures[i].findings.size(); ++j)
      out += (j > 0 ? ", " : "") + quoted(to_text(tally.failures[i].findings[j]));
    out += "]}";
  }
  return out + "]}";
}

// Returns the numbers of ranks for which all combinations were tried.
std::vector<int> complete(const std::vector<int>& ranks, const std::vector<Tally>& tallies) {
  std::vector<int> result;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (tallies[i].combinations == tallies[i].possible) result.push_back(ranks[i]);
  return result;
}

// Prints a line for each range of numbers of ranks between two powers of two.
void print_sample(const Sweep& sweep, const std::vector<std::vector<Tally>>& tallies) {
  const auto width = [&](std::size_t i) { return std::bit_width(static_cast<unsigned>(sweep.ranks[i]) - 1); };
  for (std::size_t first = 0, i = 0; first < sweep.ranks.size(); first = i) {
    std::vector<int> together;
    Tally tally;
    for (; i < sweep.ranks.size() && width(i) == width(first); ++i) {
      together.push_back(sweep.ranks[i]);
      for (const auto& of_row : tallies) tally += of_row[i];
    }
    std::printf("    %8s  %llu of %llu, in %llu sequences of calls\n", text_of(together).c_str(), wide(tally.combinations),
                wide(tally.possible), wide(tally.cases));
  }
}

void print_row(const Algorithm& row, const Tally& tally, const std::vector<int>& all_of) {
  std::printf("%-7s %-40s %8llu plans %8llu cases; ", tally.failed == 0 ? "proved" : "FAILED", name_of_row(row).c_str(),
              wide(tally.plans), wide(tally.cases));
  if (tally.combinations == tally.possible) {
    std::printf("all %llu combinations", wide(tally.possible));
  } else {
    std::printf("%llu of %llu combinations", wide(tally.combinations), wide(tally.possible));
    if (!all_of.empty()) std::printf(", all with %s ranks", text_of(all_of).c_str());
  }
  if (tally.failed > 0) std::printf("; %llu failed", wide(tally.failed));
  if (tally.spoiled > 0) std::printf("; %llu inconclusive: another algorithm fails", wide(tally.spoiled));
  std::printf("\n");
  print_failures(stdout, tally);
}

}  // namespace

std::string name_of_row(const Algorithm& row) { return std::string(name_of(row.collective)).append(" ").append(row.name); }

Tasks each_with_ranks(const std::vector<const Algorithm*>& rows, const std::vector<int>& ranks, int threads,
                      std::function<bool(std::size_t row, std::size_t ranks)> run) {
  std::vector<std::size_t> by_ranks(ranks.size());
  std::iota(by_ranks.begin(), by_ranks.end(), std::size_t{0});
  std::stable_sort(by_ranks.begin(), by_ranks.end(), [&](std::size_t a, std::size_t b) { return ranks[a] > ranks[b]; });
  const auto name = [&rows](std::size_t task) { return name_of_row(*rows[task % rows.size()]); };
  const auto at = [by_ranks, &rows](std::size_t task) { return by_ranks[task / rows.size()]; };
  return {rows.size() * ranks.size(), threads,
          [=, &rows](std::size_t task) { return run(task % rows.size(), at(task)) ? std::string() : name(task); },
          [=, &ranks](std::size_t task) { return name(task) + ", " + std::to_string(ranks[at(task)]) + " ranks"; }};
}

int run(const Sweep& sweep) {
  const auto start = Clock::now();
  const auto tallies = tallies_of(sweep);
  Tally total;
  std::string json;
  for (std::size_t i = 0; i < sweep.rows.size(); ++i) {
    const Algorithm& row = *sweep.rows[i];
    Tally tally;
    for (const Tally& each : tallies[i]) tally += each;
    total += tally;
    json += (json.empty() ? "  " : ",\n  ") + as_json(row, tally);
    if (!sweep.json) print_row(row, tally, complete(sweep.ranks, tallies[i]));
  }
  const double seconds = seconds_since(start);
  const bool proved = total.failed == 0 && total.spoiled == 0;
  if (sweep.json) {
    std::printf("{\"seconds\": %.3f, \"processor_seconds\": %.3f, \"failed\": %llu, \"algorithms\": [\n%s\n]}\n", seconds,
                processor_seconds(), wide(total.failed), json.c_str());
    return proved ? 0 : 1;
  }
  std::printf("\nA combination is a placement, a root and a radix, for every carrier of the algorithm.\n");
  std::printf("  ranks       %s\n", text_of(sweep.ranks).c_str());
  std::printf("  placements  %s\n", analysis::Combinations::placements(sweep.machine).c_str());
  if (sweep.effort == Effort::full)
    std::printf("  roots       every rank of up to %d ranks, a sample of more\n", analysis::kEveryRoot);
  else std::printf("  roots       a sample\n");
  std::printf("  radices     %s; for up to %d ranks also every one from 2 to %d, on one root and few placements\n",
              analysis::Combinations::radices().c_str(), analysis::every_radix(sweep.effort), analysis::kMostRadix);
  std::printf("  calls       of 1, 2, 3 and more fragments than the rings are deep, back to back and mixed\n");
  std::printf("  sampled     %llu of %llu combinations, spread evenly; runs that take less time are sampled more\n",
              wide(total.combinations), wide(total.possible));
  print_sample(sweep, tallies);
  std::printf(
      "%zu algorithms, %llu sets of plans (%llu plans), %llu sequences of calls, %llu steps, %llu accesses, "
      "%.1f s, of processors %.1f s: %s\n",
      sweep.rows.size(), wide(total.variants), wide(total.plans), wide(total.cases), wide(total.steps), wide(total.accesses),
      seconds, processor_seconds(), proved ? "all proved" : (std::to_string(total.failed + total.spoiled) + " failed").c_str());
  return proved ? 0 : 1;
}

}  // namespace copse::cli
