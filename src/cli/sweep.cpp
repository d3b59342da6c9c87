// Work items of one row and one number of ranks, the long ones first, taken by threads.
#include "cli/sweep.hpp"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>

#include "cli/output.hpp"

namespace copse::cli {
namespace {

using algorithms::Algorithm;
using analysis::Effort;
using analysis::Tally;
using Clock = std::chrono::steady_clock;

unsigned long long wide(std::uint64_t value) { return value; }

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int processors() {
  cpu_set_t allowed;
  return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? std::max(1, CPU_COUNT(&allowed)) : 1;
}

// 2-64, 96: runs of numbers.
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

std::string name_of_row(const Algorithm& row) { return std::string(name_of(row.collective)).append(" ").append(row.name); }

void print_failures(std::FILE* out, const Tally& tally) {
  for (const auto& failure : tally.failures) {
    std::fprintf(out, "  %s\n", failure.name.c_str());
    for (const auto& finding : failure.findings) std::fprintf(out, "    %s\n", to_text(finding).c_str());
  }
}

class Runner {
 public:
  explicit Runner(const Sweep& sweep) : sweep_(sweep), tallies_(sweep.rows.size()) {
    for (auto& tally : tallies_) tally.resize(sweep.ranks.size());
    for (std::size_t rank = 0; rank < sweep.ranks.size(); ++rank)
      for (std::size_t row = 0; row < sweep.rows.size(); ++row) items_.push_back({row, rank});
    std::stable_sort(items_.begin(), items_.end(),
                     [&](const Item& a, const Item& b) { return sweep_.ranks[a.ranks] > sweep_.ranks[b.ranks]; });
  }

  // [row][number of ranks]
  const std::vector<std::vector<Tally>>& run() {
    const int count = sweep_.threads > 0 ? sweep_.threads : processors();
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
    watch();
    for (auto& thread : threads) thread.join();
    return tallies_;
  }

 private:
  struct Item {
    std::size_t row, ranks;
  };

  void work() {
    while (true) {
      Item item{};
      {
        const std::lock_guard lock(mutex_);
        if (next_ == items_.size()) return;
        item = items_[next_++];
      }
      const Algorithm& row = *sweep_.rows[item.row];
      Tally tally = analysis::verify(row, sweep_.ranks[item.ranks], sweep_.effort, sweep_.machine);
      const std::lock_guard lock(mutex_);
      if (tally.failed > 0 && failed_.size() < sweep_.rows.size()) failed_.push_back(name_of_row(row));
      tallies_[item.row][item.ranks] = std::move(tally);
      if (++done_ == items_.size()) finished_.notify_all();
    }
  }

  // On a terminal twice a second; otherwise now and then.
  void watch() {
    const bool terminal = isatty(STDERR_FILENO) != 0;
    const auto pause = std::chrono::milliseconds(terminal ? 500 : 30'000);
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    while (!finished_.wait_for(lock, pause, [&] { return done_ == items_.size(); })) {
      const int seconds = static_cast<int>(seconds_since(start));
      const std::size_t at = std::min(next_, items_.size() - 1);
      std::fprintf(stderr, "%s%d:%02d  %zu of %zu, at %d ranks%s%s%s", terminal ? "\r" : "", seconds / 60, seconds % 60,
                   done_, items_.size(), sweep_.ranks[items_[at].ranks], failed_.empty() ? "" : "; FAILED: ",
                   failed_.empty() ? "" : failed_.front().c_str(), terminal ? "   " : "\n");
    }
    if (terminal) std::fprintf(stderr, "\r%78s\r", "");
  }

  const Sweep& sweep_;
  std::vector<std::vector<Tally>> tallies_;
  std::vector<Item> items_;
  std::mutex mutex_;
  std::condition_variable finished_;
  std::size_t next_ = 0, done_ = 0;
  std::vector<std::string> failed_;
};

std::string as_json(const Algorithm& row, const Tally& tally) {
  std::string out = "{\"collective\": " + quoted(std::string(name_of(row.collective))) +
                    ", \"algorithm\": " + quoted(std::string(row.name));
  const auto field = [&](const char* name, std::uint64_t value) {
    out += ", " + quoted(name) + ": " + std::to_string(value);
  };
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

// The numbers of ranks of which all combinations were tried.
std::vector<int> complete(const std::vector<int>& ranks, const std::vector<Tally>& tallies) {
  std::vector<int> result;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (tallies[i].combinations == tallies[i].possible) result.push_back(ranks[i]);
  return result;
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
  if (tally.spoiled > 0) std::printf("; %llu told nothing: another algorithm fails", wide(tally.spoiled));
  std::printf("\n");
  print_failures(stdout, tally);
}

}  // namespace

int run(const Sweep& sweep) {
  // A case takes and frees much memory; that need not go back to the system each time.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  const auto start = Clock::now();
  Runner runner(sweep);
  const auto& tallies = runner.run();
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
    std::printf("{\"seconds\": %.3f, \"failed\": %llu, \"algorithms\": [\n%s\n]}\n", seconds, wide(total.failed),
                json.c_str());
    return proved ? 0 : 1;
  }
  std::printf("\nA combination is a placement, a root and a radix, for every carrier of the algorithm.\n");
  std::printf("  ranks       %s\n", text_of(sweep.ranks).c_str());
  std::printf("  placements  %s\n", analysis::Combinations::placements(sweep.machine).c_str());
  std::printf("  roots       every rank, of a rooted collective\n");
  std::printf("  radices     %s\n", analysis::Combinations::radices().c_str());
  std::printf("  calls       of 1, 2, 3 and more fragments than the rings are deep, back to back and mixed\n");
  std::printf("  sampled     %llu of %llu combinations, evenly over all; the more, the less a run takes\n",
              wide(total.combinations), wide(total.possible));
  std::printf("%zu algorithms, %llu sets of plans (%llu plans), %llu sequences of calls, %llu steps, %llu accesses, "
              "%.1f s: %s\n",
              sweep.rows.size(), wide(total.variants), wide(total.plans), wide(total.cases), wide(total.steps),
              wide(total.accesses), seconds,
              proved ? "all proved" : (std::to_string(total.failed + total.spoiled) + " failed").c_str());
  return proved ? 0 : 1;
}

}  // namespace copse::cli
