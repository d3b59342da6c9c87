// The rounds of a calibration.
#include "measure/calibration.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <utility>

#include "measure/kernel.hpp"
#include "measure/memory.hpp"
#include "measure/steps.hpp"
#include "topology/binding.hpp"

namespace copse::measure {
namespace {

using topology::Level;

constexpr int kLeastRounds = 3;

struct Measurement {
  std::string what;  // for people
  std::function<void(Figures&)> take;
};
using Measurements = std::vector<Measurement>;

std::string between(const Neighbourhood& there) {
  const Pair& pair = there.pairs.front();
  return "between processors " + std::to_string(pair.first) + " and " + std::to_string(pair.second) + " (" +
         std::string(topology::level_name(there.level)) + ")";
}

void add_pairs(Measurements& all, const std::vector<Neighbourhood>& neighbourhoods) {
  for (std::size_t i = 0; i < neighbourhoods.size(); ++i) {
    const Neighbourhood& there = neighbourhoods[i];
    const std::string place = "levels[" + std::to_string(i) + "].";
    const Pair pair = there.pairs.front();
    all.push_back({"signals " + between(there), [=](Figures& figures) {
                     figures.add(place + "flag_ns", flag_ns(pair));
                     figures.add(place + "line_ns", line_ns(pair));
                   }});
    all.push_back({"copies " + between(there), [=](Figures& figures) {
                     const Rates found = rates(pair);
                     figures.add(place + "reader_GBps", found.read);
                     figures.add(place + "writer_GBps", found.write);
                   }});
    all.push_back({"copies of all at once (" + std::string(topology::level_name(there.level)) + ")", [=](Figures& figures) {
                     figures.add(place + "shared_GBps", rate_together(there.pairs, there.level >= Level::l3));
                   }});
  }
}

// Returns the usable processors in the region of the first usable processor, one of each core.
std::vector<unsigned> readers_of_memory(const topology::Machine& machine, const topology::CpuSet& usable) {
  std::vector<unsigned> readers;
  std::vector<std::int32_t> cores;
  std::int32_t region = -1;
  for (const topology::Processor& each : machine.processors()) {
    if (std::find(usable.begin(), usable.end(), each.number) == usable.end()) continue;
    if (region < 0) region = each.place.at(Level::numa);
    const std::int32_t core = each.place.at(Level::core);
    if (each.place.at(Level::numa) != region || std::find(cores.begin(), cores.end(), core) != cores.end()) continue;
    cores.push_back(core);
    readers.push_back(each.number);
  }
  return readers;
}

// Returns the bytes of all last-level caches that these processors have.
std::size_t cache_bytes_of(const topology::Machine& machine, const std::vector<unsigned>& processors) {
  const Level last = machine.cache_bytes(Level::l3) ? Level::l3 : Level::l2;
  std::vector<std::int32_t> caches;
  for (const topology::Processor& each : machine.processors())
    if (std::find(processors.begin(), processors.end(), each.number) != processors.end()) caches.push_back(each.place.at(last));
  std::sort(caches.begin(), caches.end());
  const auto distinct = std::unique(caches.begin(), caches.end()) - caches.begin();
  return machine.cache_bytes(last).value_or(1 << 20) * static_cast<std::size_t>(distinct);
}

// Adds measurements of the last cache. A processor copies between two buffers, each twice as large as the second cache. As many
// processors take part as have room for their buffers in one last cache.
void add_last_cache(Measurements& all, const topology::Machine& machine, const std::vector<unsigned>& readers) {
  const auto second = machine.cache_bytes(Level::l2), last = machine.cache_bytes(Level::l3);
  if (!second || !last) return;
  std::vector<unsigned> sharers;
  std::int32_t cache = -1;
  for (const topology::Processor& each : machine.processors()) {
    if (std::find(readers.begin(), readers.end(), each.number) == readers.end()) continue;
    if (cache < 0) cache = each.place.at(Level::l3);
    if (each.place.at(Level::l3) == cache) sharers.push_back(each.number);
  }
  const std::size_t bytes = 2 * *second;
  if (2 * bytes > *last) return;
  while (2 * bytes * sharers.size() > *last) sharers.pop_back();
  all.push_back({"the last cache", [=](Figures& figures) {
                   figures.add("last.line_ns", last_line_ns(sharers.front(), bytes));
                   figures.add("last.reader_GBps", last_rate(std::span(sharers).first(1), bytes));
                   figures.add("last.shared_GBps", last_rate(sharers, bytes));
                 }});
}

void add_caches_and_memory(Measurements& all, const topology::Machine& machine, const topology::CpuSet& usable) {
  constexpr std::size_t kUsualCache = 524288;
  const unsigned first = usable.front();
  const std::size_t cache = machine.cache_bytes(Level::l2).value_or(kUsualCache);
  all.push_back({"own caches", [=](Figures& figures) {
                   figures.add("own.line_ns", own_line_ns(first));
                   figures.add("own.reader_GBps", own_rate(first, cache));
                 }});
  all.push_back({"reductions", [=](Figures& figures) {
                   std::vector<double> rates;
                   for (const auto& [name, rate] : reduction_rates(first, cache)) {
                     figures.add("reduce_GBps." + name, rate);
                     rates.push_back(rate);
                   }
                   figures.add("reduce_GBps.", figure_of(std::move(rates)).value);
                 }});
  const std::vector<unsigned> readers = readers_of_memory(machine, usable);
  add_last_cache(all, machine, readers);
  const auto memory = std::make_shared<const Memory>(readers, cache_bytes_of(machine, readers));
  all.push_back({"memory", [=](Figures& figures) {
                   figures.add("memory.line_ns", memory->line_ns());
                   figures.add("memory.reader_GBps", memory->rate_of_one());
                   figures.add("memory.shared_GBps", memory->rate_of_all());
                 }});
}

void add_calls(Measurements& all, const topology::CpuSet& usable) {
  const auto solo = std::make_shared<const Solo>();
  const unsigned first = usable.front();
  all.push_back({"calls and steps", [=](Figures& figures) {
                   const Solo::CallTimes costs = solo->costs(first, figures.at("own.line_ns").value);
                   figures.add("steps.call_ns", costs.call_ns);
                   figures.add("steps.step_ns", costs.step_ns);
                   figures.add("steps.wait_ns", costs.wait_ns);
                 }});
  all.push_back({"turns on a processor", [=](Figures& figures) { figures.add("steps.turn_ns", turn_ns(first)); }});
  const Pair pair{first, usable.size() > 1 ? usable[1] : first};
  all.push_back({"copies by the kernel", [=](Figures& figures) {
                   const auto costs = kernel_costs(pair, figures.at("own.reader_GBps").value);
                   if (!costs) return;
                   figures.add("kernel.call_ns", costs->call_ns);
                   figures.add("kernel.page_ns", costs->page_ns);
                   figures.add("kernel.contention", costs->contention);
                   figures.add("kernel.GBps", costs->rate);
                 }});
}

}  // namespace

Calibration calibrate(const Options& options) {
  Calibration found{topology::Machine::discover(), topology::current_processors(), {}, {}};
  if (found.processors.empty())  // the affinity mask cannot be read
    for (const auto& processor : found.machine.processors()) found.processors.push_back(processor.number);
  found.neighbourhoods = neighbourhoods(found.machine, found.processors);
  // The memory that is measured gets its pages here, so this thread stays in the NUMA region of those who read it.
  in_threads(std::array{found.processors.front()}, [&](std::size_t) {
    Measurements all;
    add_pairs(all, found.neighbourhoods);
    add_caches_and_memory(all, found.machine, found.processors);
    add_calls(all, found.processors);
    const auto begin = Clock::now();
    const auto elapsed = [&] { return ns_since(begin) / 1e9; };
    while (elapsed() < (found.rounds < kLeastRounds ? 1.5 : 1) * options.seconds) {
      for (std::size_t i = 0; i < all.size() && (found.rounds < kLeastRounds || elapsed() < options.seconds); ++i) {
        if (options.say) options.say(std::min(1.0, elapsed() / options.seconds), all[i].what);
        all[i].take(found.figures);
      }
      ++found.rounds;
    }
    found.seconds = elapsed();
  });
  return found;
}

}  // namespace copse::measure
