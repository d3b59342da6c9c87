// The defaults do not change unintentionally. decisions.txt holds them for many situations, as they were measured to be
// good. It was written before the rules became rows. An intended change shows in the difference of that file.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "choose/chooser.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;

constexpr std::array kRanks = {2, 3, 4, 5, 8, 9, 16, 17, 33, 64, 65, 128};

// Sizes around every power of two, and around the payload of a line.
std::vector<std::size_t> sizes() {
  std::vector<std::size_t> result{0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64, 65, 120, 121, 128};
  for (std::size_t power = 128; power < (std::size_t{4} << 20); power *= 2) result.insert(result.end(), {power + 1, 2 * power});
  return result;
}

// How buffers are reached, and what a copy by the kernel costs.
struct Reach {
  const char* name;
  bool addressable, direct;
  choose::CopyCosts costs;
};
constexpr std::array kReaches = {Reach{"staged", false, false, {}},
                                 Reach{"forbidden", false, true, {}},  // forbids what could be reached directly
                                 Reach{"kernel", true, false, {}},
                                 Reach{"dear", true, false, {0.07F, 0.03F, 0.19F}},
                                 Reach{"cheap", true, false, {0.2F, 0.09F, 0.13F}},
                                 Reach{"loads", true, true, {}}};

struct Point {
  Collective collective{};
  choose::Situation situation;
  bool strict = false;
  bool wide = false;  // elements that fill a slot
};

// Returns the algorithm for blocks or messages of `bytes`.
std::string decide(const Point& point, std::size_t bytes) {
  const choose::Settings settings;
  const choose::Decision d = choose::choose(settings, point.situation, point.collective, bytes, {point.strict, point.wide});
  std::string text = std::string(d.algorithm->name) + ":" + plan::name_of(d.carrier);
  if (d.radix != 2) text += ":" + std::to_string(d.radix);
  if (d.fragment_bytes > 0) text += "/" + std::to_string(d.fragment_bytes);
  if (d.halves) text += "/halves";
  return text;
}

// Returns the decisions for all sizes, each with the size from which it applies.
std::string profile_of(const Point& point) {
  std::string profile, last;
  for (const std::size_t bytes : sizes()) {
    if (point.collective == Collective::barrier && bytes > 0) break;
    if (point.wide && bytes < 65536) continue;
    const std::string now = decide(point, bytes);
    if (now != last) profile += (profile.empty() ? "" : ", ") + std::to_string(bytes) + " " + now;
    last = now;
  }
  return profile;
}

using Names = std::vector<std::string>;

std::string joined(const Names& names, const char* between) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : between) + name;
  return text;
}

// Writes a line for each profile. Below it stand the situations that have it: numbers of ranks, reaches, and other
// facts.
std::string decisions_of(Collective collective) {
  const algorithms::Traits& traits = algorithms::traits_of(collective);
  std::map<std::string, std::map<std::string, std::map<std::string, Names>>> found;  // [profile][ranks; flags][reaches]
  for (unsigned flags = 0; flags < 32; ++flags) {
    const bool strict = flags & 8U, wide = flags & 16U;
    if ((strict && !traits.reduces) || (wide && collective != Collective::reduce_scatter)) continue;
    std::string name;
    const std::array names = {"nodes", "numa", "turns", "strict", "wide"};
    for (std::size_t i = 0; i < names.size(); ++i)
      if ((flags >> i & 1U) != 0) name += (name.empty() ? "" : "+") + std::string(names[i]);
    std::map<std::string, std::map<std::string, Names>> here;  // [profile][reach]
    for (const Reach& reach : kReaches) {
      for (const int ranks : kRanks) {
        Point point{collective, {}, strict, wide};
        point.situation.ranks = ranks;
        point.situation.nodes = flags & 1U ? 2 : 1;
        point.situation.numa = flags & 2U;
        point.situation.oversubscribed = flags & 4U;
        point.situation.addressable = point.situation.anywhere = reach.addressable;
        point.situation.direct = reach.direct;
        point.situation.costs = reach.costs;
        here[profile_of(point)][reach.name].push_back(std::to_string(ranks));
      }
    }
    for (const auto& [profile, reaches] : here) {
      std::map<std::string, Names> by_ranks;
      for (const Reach& reach : kReaches)
        if (const auto at = reaches.find(reach.name); at != reaches.end())
          by_ranks[joined(at->second, " ")].emplace_back(reach.name);
      for (const auto& [ranks, of] : by_ranks) found[profile][ranks][joined(of, " ")].push_back(name.empty() ? "plain" : name);
    }
  }
  std::string text;
  for (const auto& [profile, places] : found) {
    text += std::string(algorithms::name_of(collective)) + " " + profile + "\n";
    for (const auto& [ranks, reaches] : places)
      for (const auto& [reach, flags] : reaches) text += "  " + ranks + "; " + reach + "; " + joined(flags, " ") + "\n";
  }
  return text;
}

TEST(Decisions, AreThoseThatWereMeasured) {
  std::string now;
  for (int c = 0; c < algorithms::kCollectives; ++c) now += decisions_of(static_cast<Collective>(c));
  std::ifstream file(COPSE_DECISIONS);
  std::stringstream then;
  then << file.rdbuf();
  std::istringstream lines(now), expected(then.str());
  std::string line, other;
  for (int number = 1; now != then.str(); ++number) {
    std::getline(lines, line);
    std::getline(expected, other);
    if (line == other) continue;
    std::ofstream("decisions.txt") << now;
    FAIL() << COPSE_DECISIONS << ":" << number << "\n  then " << other << "\n  now  " << line
           << "\nall as they are now: decisions.txt, where the test ran";
  }
}

}  // namespace
}  // namespace copse::test
