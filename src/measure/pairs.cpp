// Measures what travels between the caches of two processors. Words travel in lines as the engine's signals do, and bytes in slots
// as the engine's carriers use them.
#include "measure/pairs.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

#include "engine/kernels/kernels.hpp"
#include "engine/signal/line.hpp"
#include "engine/signal/wait.hpp"
#include "measure/crew.hpp"

namespace copse::measure {
namespace {

using engine::Line;
using topology::Level;

constexpr std::size_t kRing = 64;        // lines, as on a communicator of few ranks
constexpr std::size_t kAhead = 8;        // lines that the engine fetches before their turn (Signals)
constexpr std::size_t kSlot = 65536;     // bytes of the largest slots
constexpr std::size_t kSlots = 32;       // a ring of 2 MiB, as choose::rings_for makes it
constexpr std::size_t kBuffer = 262144;  // a rank's own buffer: in its second cache
constexpr std::size_t kMostPairs = 64;   // that are measured at the same time

// Waits without giving up the processor: the members of a crew have one each. Other programs may want it all the same, so a
// long wait yields.
void await(const Line& line, std::uint64_t ticket) {
  engine::wait_until(engine::WaitPolicy::dedicated(), [&] { return line.reached(ticket); }, [] { return true; });
}

// The ring of lines of one member.
struct Words {
  explicit Words(std::byte* memory) : lines(reinterpret_cast<Line*>(memory)) {}
  void post(std::uint64_t ticket) const {
    lines[ticket % kRing].post(ticket);
    engine::fetch_to_write(&lines[(ticket + kAhead) % kRing]);
  }
  void hear(std::uint64_t ticket) const { await(lines[ticket % kRing], ticket); }
  Line* lines;
  static constexpr std::size_t kBytes = kRing * sizeof(Line);
};

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double clock_ns() {
  static const double cost = [] {
    std::vector<double> costs;
    for (int i = 0; i < 101; ++i) {
      const auto begin = Clock::now();
      costs.push_back(ns_since(begin));
    }
    return median_of(std::move(costs));
  }();
  return cost;
}

std::uint64_t distance_between(const topology::Machine& machine, const topology::Place& a, const topology::Place& b) {
  const auto& distances = machine.distances();
  if (distances.empty()) return 0;
  return distances[static_cast<std::size_t>(a.at(Level::numa))][static_cast<std::size_t>(b.at(Level::numa))];
}

// Levels do not nest in the same order on all machines. The more parts a level has, the further inside it is.
std::pair<int, Level> depth_of(const topology::Machine& machine, Level level) { return {std::max(1, machine.count(level)), level}; }

// Returns the innermost of the machine's levels at which both places are in one part.
Level level_between(const topology::Machine& machine, const topology::Place& a, const topology::Place& b) {
  Level inner = Level::node;
  for (const Level level : topology::kAllLevels)
    if (machine.count(level) > 0 && a.at(level) == b.at(level))
      inner = std::max(depth_of(machine, inner), depth_of(machine, level)).second;
  return inner;
}

// Returns the level of the parts that the links of this level connect.
Level level_inside(const topology::Machine& machine, Level level) {
  Level inside = Level::core;
  for (const Level each : topology::kAllLevels)
    if (machine.count(each) > std::max(1, machine.count(level)))
      inside = std::min(depth_of(machine, inside), depth_of(machine, each)).second;
  return inside;
}

}  // namespace

std::vector<Neighbourhood> neighbourhoods(const topology::Machine& machine, const topology::CpuSet& usable) {
  std::vector<const topology::Processor*> processors;
  for (const topology::Processor& each : machine.processors())
    if (std::find(usable.begin(), usable.end(), each.number) != usable.end()) processors.push_back(&each);
  // The neighbourhoods, ordered by level with the inner levels first, and within a level by distance. Each has the pairs that can
  // be measured at the same time. These sit in the part of the machine that has the first pair and, where links matter, use the
  // same link.
  struct Found {
    topology::Place first, second;
    std::vector<unsigned> taken;
    Neighbourhood there;
  };
  std::map<std::tuple<int, int, std::uint64_t>, Found> found;
  for (const auto* a : processors) {
    for (const auto* b : processors) {
      if (a->number == b->number) continue;
      const Level level = level_between(machine, a->place, b->place);
      const std::uint64_t distance = level < Level::numa ? distance_between(machine, a->place, b->place) : 0;
      const auto [at, fresh] = found.try_emplace({-depth_of(machine, level).first, -static_cast<int>(level), distance});
      Found& those = at->second;
      if (fresh) those = {a->place, b->place, {}, {level, distance, {}}};
      const Level inside = level_inside(machine, level);
      const bool same_way = level >= Level::l3
                                ? a->place.at(level) == those.first.at(level)
                                : a->place.at(inside) == those.first.at(inside) && b->place.at(inside) == those.second.at(inside);
      const auto is_taken = [&](unsigned number) {
        return std::find(those.taken.begin(), those.taken.end(), number) != those.taken.end();
      };
      if (!same_way || is_taken(a->number) || is_taken(b->number) || those.there.pairs.size() == kMostPairs) continue;
      those.taken.insert(those.taken.end(), {a->number, b->number});
      those.there.pairs.push_back({a->number, b->number});
    }
  }
  std::vector<Neighbourhood> result;
  for (auto& [key, each] : found) {
    const bool nearest = result.empty() || result.back().level != each.there.level;
    if (nearest) each.there.distance = 0;
    result.push_back(std::move(each.there));
  }
  return result;
}

double flag_ns(Pair pair) {
  constexpr std::uint64_t kTrips = 256;
  constexpr int kTimes = 8;
  const Pages memory(2 * Words::kBytes);
  double least = 1e9;
  in_threads(std::array{pair.first, pair.second}, [&](std::size_t member) {
    const Words mine(memory.at(member * Words::kBytes)), theirs(memory.at((1 - member) * Words::kBytes));
    std::uint64_t ticket = 0;
    for (int time = 0; time < kTimes; ++time) {
      const auto begin = Clock::now();
      for (std::uint64_t trip = 0; trip < kTrips; ++trip, ++ticket) {
        if (member == 0) mine.post(ticket);
        theirs.hear(ticket);
        if (member == 1) mine.post(ticket);
      }
      if (member == 0 && time > 0) least = std::min(least, ns_since(begin) / (2 * kTrips));
    }
  });
  return least;
}

double line_ns(Pair pair) {
  // One member writes lines whose words lead from one to the next in a random order, which no prefetcher follows. The other
  // member goes along.
  constexpr std::size_t kLines = 512;
  constexpr int kTimes = 8;
  const Pages memory(2 * Words::kBytes + kLines * sizeof(Line));
  auto* const chain = reinterpret_cast<Line*>(memory.at(2 * Words::kBytes));
  std::vector<std::size_t> order(kLines);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(1));
  double least = 1e9;
  in_threads(std::array{pair.first, pair.second}, [&](std::size_t member) {
    const Words mine(memory.at(member * Words::kBytes)), theirs(memory.at((1 - member) * Words::kBytes));
    for (std::uint64_t time = 0; time < kTimes; ++time) {
      if (member == 0) {
        for (std::size_t i = 0; i < kLines; ++i) chain[order[i]].word.store(order[(i + 1) % kLines], std::memory_order_relaxed);
        mine.post(time);
        theirs.hear(time);
        continue;
      }
      theirs.hear(time);
      const auto begin = Clock::now();
      std::uint64_t at = order[0];
      for (std::size_t i = 0; i < kLines; ++i) at = chain[at].word.load(std::memory_order_relaxed);
      const double took = ns_since(begin) - clock_ns();
      if (at == order[0]) least = std::min(least, took / kLines);  // always true, but it uses what was loaded
      mine.post(time);
    }
  });
  return least;
}

Rates rates(Pair pair) {
  const Pages memory(2 * Words::kBytes + kSlots * kSlot), buffers(2 * kBuffer);
  Rates found;
  in_threads(std::array{pair.first, pair.second}, [&](std::size_t member) {
    const Words mine(memory.at(member * Words::kBytes)), theirs(memory.at((1 - member) * Words::kBytes));
    std::byte* const own = buffers.at(member * kBuffer);
    std::vector<double> times;
    for (std::uint64_t turn = 0; turn < 2 * kSlots; ++turn) {
      std::byte *const slot = memory.at(2 * Words::kBytes + turn % kSlots * kSlot), *const here = own + turn * kSlot % kBuffer;
      if (member == 1) theirs.hear(turn);
      const auto begin = Clock::now();
      kernels::copy(member == 0 ? slot : here, member == 0 ? here : slot, kSlot);
      if (turn >= kSlots) times.push_back(ns_since(begin) - clock_ns());
      mine.post(turn);
      if (member == 0) theirs.hear(turn);
    }
    (member == 0 ? found.write : found.read) = kSlot / median_of(std::move(times));
  });
  return found;
}

double rate_together(std::span<const Pair> pairs, bool both_ways) {
  std::vector<unsigned> processors;
  for (const Pair& pair : pairs) processors.insert(processors.end(), {pair.first, pair.second});
  // Each member writes a buffer of its own, meets the others, and then reads the buffer of its partner.
  constexpr int kTimes = 12;
  const Pages memory(processors.size() * kBuffer), own(processors.size() * kBuffer);
  Gate gate(static_cast<int>(processors.size()));
  std::vector<std::vector<double>> times(processors.size());
  in_threads(processors, [&](std::size_t member) {
    const bool reads = both_ways || member % 2 == 1;
    for (int time = 0; time < kTimes; ++time) {
      std::fill_n(memory.at(member * kBuffer), kBuffer, static_cast<std::byte>(time));
      gate.meet();
      const auto begin = Clock::now();
      for (std::size_t at = 0; reads && at < kBuffer; at += kSlot)
        kernels::copy(own.at(member * kBuffer + at), memory.at((member ^ 1) * kBuffer + at), kSlot);
      if (reads && time > 1) times[member].push_back(ns_since(begin));
      gate.meet();
    }
  });
  double sum = 0;
  for (auto& each : times)
    if (!each.empty()) sum += kBuffer / median_of(std::move(each));
  return sum;
}

}  // namespace copse::measure
