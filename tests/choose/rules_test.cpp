// The rows of rules.def as a whole: every row has an effect and can run, and facts stated without a plan match the
// plans.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "choose/chooser.hpp"
#include "choose/rules.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;
using choose::Bounds;
using choose::Facts;
using choose::Rule;

std::string name_of(const Rule& rule) {
  return "rules.def:" + std::to_string(rule.line) + ": " + std::string(algorithms::name_of(rule.collective)) + ", " +
         choose::case_of(rule);
}

// Adds the values on both sides of every bound.
void add_sides(std::set<std::size_t>& values, const Bounds& bounds) {
  if (bounds.from > 0) values.insert({bounds.from - 1, bounds.from});
  if (bounds.to < Bounds{}.to) values.insert({bounds.to, bounds.to + 1});
}

// Returns whether these facts can be true together.
bool is_possible(Facts facts) {
  const auto has = [&](Facts of) { return (facts & of) == of; };
  if (has(choose::kNodes) && !has(choose::kRegions)) return false;
  if (has(choose::kLoads) && !has(choose::kDirect)) return false;
  if (has(choose::kEarly) && !has(choose::kPlaced)) return false;
  return !has(choose::kKernel | choose::kDirect);
}

// A row has no effect if earlier rows take all its cases, or if in each case the next row says the same.
TEST(Rules, NoneIsInVain) {
  std::set<std::size_t> numbers{2, 1000000};
  for (const Rule& rule : choose::rules()) add_sides(numbers, rule.ranks);
  std::set<int> decide, differ;
  for (const std::size_t ranks : numbers) {
    if (ranks < 2) continue;
    std::set<std::size_t> sizes{0};
    for (const Rule& rule : choose::rules()) add_sides(sizes, rule.bytes.of_one(static_cast<int>(ranks)));
    for (unsigned facts = 0; facts < 1U << choose::kFacts; ++facts) {
      if (!is_possible(static_cast<Facts>(facts))) continue;
      for (int c = 0; c < algorithms::kCollectives; ++c) {
        std::vector<const Rule*> rules;
        for (const Rule& rule : choose::rules())
          if (rule.applies(static_cast<Collective>(c), static_cast<int>(ranks), static_cast<Facts>(facts))) rules.push_back(&rule);
        for (const std::size_t bytes : sizes) {
          const auto holds = [&](const Rule* rule) { return rule->bytes.of_one(static_cast<int>(ranks)).hold(bytes); };
          const auto first = std::find_if(rules.begin(), rules.end(), holds);
          ASSERT_NE(first, rules.end());
          decide.insert((*first)->line);
          const auto next = std::find_if(first + 1, rules.end(), holds);
          if (next == rules.end() || (*next)->algorithm != (*first)->algorithm || (*next)->carrier != (*first)->carrier ||
              (*next)->radix != (*first)->radix || (*next)->pieces != (*first)->pieces)
            differ.insert((*first)->line);
        }
      }
    }
  }
  for (const Rule& rule : choose::rules()) {
    EXPECT_TRUE(decide.contains(rule.line)) << name_of(rule) << ": is never reached";
    EXPECT_TRUE(differ.contains(rule.line)) << name_of(rule) << ": says what other rows say without it";
  }
}

// Some algorithms need an area for each round, and there are only so many.
TEST(Rules, VeryManyRanksHaveAPlan) {
  for (const int ranks : {16385, 32769, 65536})
    for (const Collective collective : {Collective::scan, Collective::exscan, Collective::allreduce})
      for (const std::size_t bytes : {8, 2000}) {
        choose::Situation situation;
        situation.ranks = ranks;
        const choose::Decision decision = choose::choose({}, situation, collective, bytes, {.strict = true});
        algorithms::Request request;
        request.ranks = ranks;
        request.carrier = decision.carrier;
        request.radix = decision.radix;
        EXPECT_EQ(decision.algorithm->refusal(request), "");
      }
}

std::vector<choose::Situation> situations() {
  std::vector<choose::Situation> result;
  for (unsigned flags = 0; flags < 32; ++flags) {
    for (const int ranks : {2, 3, 4, 5, 8, 16, 17, 64, 65, 300}) {
      choose::Situation situation;
      situation.ranks = ranks;
      situation.nodes = flags & 1U ? 2 : 1;
      situation.numa = flags & 2U;
      situation.oversubscribed = flags & 4U;
      situation.addressable = situation.anywhere = flags & 8U;
      situation.direct = flags & 16U;
      result.push_back(situation);
    }
  }
  return result;
}

bool same(const choose::Decision& one, const choose::Decision& other) {
  return one.algorithm == other.algorithm && one.carrier == other.carrier && one.radix == other.radix &&
         one.fragment_bytes == other.fragment_bytes && one.from == other.from && one.to == other.to && one.rule == other.rule;
}

// Walks the sizes from each decision's first to its last. Together they cover the whole line once.
TEST(Rules, ADecisionHoldsForAllTheSizesThatItNames) {
  choose::Settings forced;
  forced.forced.push_back({Collective::alltoall, algorithms::find(Collective::alltoall, "bruck"), plan::Carrier::line, {}});
  forced.forced.push_back({Collective::gather, algorithms::find(Collective::gather, "token_ring"), {}, {}});
  forced.forced.push_back({Collective::scatter, algorithms::find(Collective::scatter, "token_ring"), {}, {}});
  forced.forced.push_back({Collective::allreduce, algorithms::find(Collective::allreduce, "ring"), plan::Carrier::line, {}});
  for (const choose::Settings& settings : {choose::Settings{}, forced}) {
    for (const choose::Situation& situation : situations()) {
      for (int c = 0; c < algorithms::kCollectives; ++c) {
        const auto collective = static_cast<Collective>(c);
        for (std::size_t bytes = 0;;) {
          const choose::Decision decision = choose::choose(settings, situation, collective, bytes, {});
          ASSERT_EQ(decision.from, bytes) << algorithms::name_of(collective) << " of " << situation.ranks;
          ASSERT_TRUE(decision.algorithm->carries(decision.carrier));
          const bool line = decision.carrier == plan::Carrier::line, slot = decision.carrier == plan::Carrier::slot;
          ASSERT_TRUE(!line || decision.to <= plan::kLinePayloadBytes / decision.footprint.pack);
          ASSERT_TRUE(line || slot || situation.addressable);
          const bool ends = decision.to == Bounds{}.to;
          const std::size_t last = ends ? bytes + 12345 : decision.to;
          for (const std::size_t inside : {bytes + (last - bytes) / 2, last})
            ASSERT_TRUE(same(decision, choose::choose(settings, situation, collective, inside, {})))
                << algorithms::name_of(collective) << " of " << situation.ranks << ": " << inside;
          if (ends || collective == Collective::barrier) break;
          bytes = decision.to + 1;
        }
      }
    }
  }
}

bool is_first_of_its_collective(const algorithms::Algorithm& row) {
  return &row == algorithms::all().data() || (&row - 1)->collective != row.collective;
}

// A message that is cut fits in a slot, for elements of any size.
TEST(Rules, WhatIsCutFits) {
  for (const choose::Situation& situation : situations()) {
    for (const algorithms::Algorithm& row : algorithms::all()) {
      for (const bool by_user : {false, true}) {
        // Without the user's word all algorithms of a collective are one case, and with it the reach does not matter.
        if (by_user ? situation.numa || situation.addressable || situation.direct : !is_first_of_its_collective(row)) continue;
        choose::Settings settings;
        if (by_user) settings.forced.push_back({row.collective, &row, plan::Carrier::slot, {}});
        for (const std::size_t element : {std::size_t{1}, std::size_t{12}, std::size_t{5000}, choose::kLargestSlot}) {
          if (element > 1 && !algorithms::traits_of(row.collective).reduces) continue;
          for (const std::size_t count : {1, 7, 1000, 100000}) {
            const auto [decision, cut] = choose::resolve(settings, situation, row.collective, count, element,
                                                         choose::needs_of(row.collective, situation.ranks, element, false));
            if (!decision.footprint.slots) continue;
            const std::size_t most = cut.fragment_count == 0 ? count : std::min(count, cut.fragment_count);
            const auto slots = choose::rings_for(situation.oversubscribed, situation.ranks).slots;
            ASSERT_GE(cut.slot_class, 0) << algorithms::name_of(row.collective) << " " << decision.algorithm->name;
            ASSERT_LE(most * element * decision.footprint.pack, slots[static_cast<std::size_t>(cut.slot_class)].bytes);
          }
        }
      }
    }
  }
}

// Helpers keep an element of every caller's block in a slot. The number of ranks that are helpers changes nothing in that.
TEST(Rules, WhatHelpersServeFits) {
  for (choose::Situation situation : situations()) {
    for (const int helpers : {1, situation.ranks / 2}) {
      situation.helpers = helpers;
      for (const algorithms::Algorithm& row : algorithms::every().subspan(algorithms::all().size())) {
        for (const std::size_t element : {std::size_t{1}, std::size_t{32}, choose::kLargestSlot}) {
          if (!choose::can_be_served(row.collective, situation.callers(), element)) continue;
          for (const std::size_t count : {0, 1, 7, 1000, 100000}) {
            if (count > 0 && !algorithms::traits_of(row.collective).moves_data) continue;
            const auto [decision, cut] = choose::resolve({}, situation, row.collective, count, element,
                                                         choose::needs_of(row.collective, situation.callers(), element, false));
            ASSERT_EQ(decision.algorithm, &row);
            ASSERT_TRUE(row.carries(decision.carrier));
            ASSERT_TRUE(decision.carrier != plan::Carrier::put || situation.addressable);
            const std::size_t bytes = count * element * decision.footprint.pack;
            ASSERT_TRUE(decision.carrier != plan::Carrier::line || bytes <= plan::kLinePayloadBytes) << bytes;
            if (!decision.footprint.slots) continue;
            const std::size_t most = cut.fragment_count == 0 ? count : std::min(count, cut.fragment_count);
            const auto slots = choose::rings_for(situation.oversubscribed, situation.ranks).slots;
            ASSERT_GE(cut.slot_class, 0) << algorithms::name_of(row.collective);
            ASSERT_LE(most * element * decision.footprint.pack, slots[static_cast<std::size_t>(cut.slot_class)].bytes);
          }
        }
      }
    }
  }
}

topology::Placement placement(int ranks, int nodes, int regions) {
  topology::Placement places(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    topology::Place& place = places[static_cast<std::size_t>(rank)];
    for (const topology::Level level : topology::kAllLevels) place.at(level) = rank;
    for (const topology::Level level : {topology::Level::node, topology::Level::board}) place.at(level) = rank % nodes;
    for (const topology::Level level : {topology::Level::package, topology::Level::numa})
      place.at(level) = rank % (nodes * regions);
  }
  return places;
}

TEST(Footprint, IsThatOfThePlans) {
  for (const algorithms::Algorithm& row : algorithms::every()) {
    for (const int ranks : {2, 3, 4, 7, 8, 13, 16, 33}) {
      for (const int nodes : {1, 2, 3}) {
        const topology::Placement places = placement(ranks, nodes, 2);
        std::vector<int> reversal(static_cast<std::size_t>(ranks));
        std::iota(reversal.rbegin(), reversal.rend(), 0);
        std::vector<int> all(static_cast<std::size_t>(ranks));
        std::iota(all.begin(), all.end(), 0);
        const algorithms::Graph graph(std::vector<std::vector<int>>(static_cast<std::size_t>(ranks), all));
        for (int c = 0; c < plan::kCarriers; ++c) {
          algorithms::Request request;
          request.ranks = ranks;
          request.helpers = row.served() ? ranks / 2 : 0;
          request.carrier = static_cast<plan::Carrier>(c);
          request.places = &places;
          request.permutation = reversal;
          request.graph = &graph;
          if (!row.carries(request.carrier)) continue;
          for (const int radix : {2, 3, 8}) {
            for (const int root : {0, request.callers() - 1}) {
              if (root > 0 && !algorithms::traits_of(row.collective).rooted()) continue;
              for (const int rank : {0, ranks / 2, ranks - 1}) {
                request.radix = radix;
                request.root = root;
                request.rank = rank;
                const plan::Plan plan = row.plan(request);
                const algorithms::Footprint footprint = row.footprint(request);
                const auto where = [&] {
                  return std::string(algorithms::name_of(row.collective)) + " " + std::string(row.name) + " by " +
                         plan::name_of(request.carrier) + ", rank " + std::to_string(rank) + " of " + std::to_string(ranks);
                };
                ASSERT_EQ(footprint.pack, plan.pack) << where();
                ASSERT_EQ(footprint.slots, plan.slots) << where();
                if (row.fragments) {
                  ASSERT_EQ(request.carrier == plan::Carrier::line, plan.one_fragment) << where();
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace copse::test
