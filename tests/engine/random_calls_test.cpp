// Random calls in a random order, blocking and started, on several communicators over the same ranks. Compares every
// algorithm with the naive one (model.hpp).
//
// Every rank draws the same calls from the same seed and can compute every other rank's input. TEST_SEED and TEST_CALLS
// in the environment replay a failure; its message says how.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <random>
#include <sstream>
#include <vector>

#include "choose/decision.hpp"
#include "model.hpp"
#include "ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;

constexpr int kCommunicators = 4;
constexpr std::size_t kMostBytes = std::size_t{2} << 20;

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

// Draws a ticket just before a power of two for which some counter may not be ready.
std::uint64_t draw_first_ticket(std::mt19937_64& random) {
  const int bits[] = {0, 16, 31, 32, 46, 47, 48, 62, 63, 64};
  const int bit = bits[random() % std::size(bits)];
  return bit == 0 ? 0 : (UINT64_MAX >> (64 - bit)) - random() % 200;
}

// Lets every rank begin where first tickets are close to 2^63 or 2^64. In new memory a rank's progress word is 0 until the rank
// begins, as if it had passed the tickets before 0: those from 2^63 on. (A program that counts so far is not in new memory.)
std::string let_all_begin(Communicators comms, const std::vector<choose::Settings>& settings) {
  for (std::size_t i = 0; i < comms.size(); ++i)
    if (settings[i].first_ticket >> 62 != 0 && comms[i]->barrier() != engine::Outcome::done) return "no barrier";
  return {};
}

// The first communicator has the default settings. In the others the algorithm, carrier and radix of every collective,
// the fragments and the machine are forced.
std::vector<choose::Settings> draw_settings(std::mt19937_64& random) {
  std::vector<choose::Settings> result(kCommunicators);
  for (choose::Settings& each : result) {
    // The choice is not measured: a late rank may still read what another rank writes.
    each.slots = random() % 2 == 0 ? choose::Stores::streamed : choose::Stores::cached;
    each.first_ticket = draw_first_ticket(random);
  }
  for (std::size_t c = 1; c < result.size(); ++c) {
    for (int i = 0; i < algorithms::kCollectives; ++i) {
      std::vector<const Algorithm*> rows;
      for (const Algorithm& row : algorithms::all())
        if (row.collective == static_cast<Collective>(i)) rows.push_back(&row);
      choose::Forced forced{static_cast<Collective>(i), rows[random() % rows.size()], {}, {}};
      const auto carrier = static_cast<plan::Carrier>(random() % plan::kCarriers);
      if (forced.algorithm->carries(carrier)) forced.carrier = carrier;
      if (random() % 2 == 0) forced.radix = 2 + static_cast<int>(random() % 4);
      result[c].forced.push_back(forced);
    }
    using Mode = choose::Fragmentation::Mode;
    const choose::Fragmentation fragmentations[] = {{}, {Mode::none, 0}, {Mode::halves, 0}, {Mode::fixed, 12345}};
    result[c].fragment = fragmentations[random() % std::size(fragmentations)];
    // The last machine has a cache so small that results are stored past it.
    static const char* const machines[] = {"", "numa:2 core:2 pu:1", "package:2 numa:2 core:1 pu:1",
                                           "package:2 l3:1(size=65536) core:2 pu:1"};
    result[c].topology = machines[random() % std::size(machines)];
  }
  return result;
}

std::string text_of(const choose::Settings& settings) {
  std::string text;
  for (const choose::Forced& forced : settings.forced) {
    text += std::string(algorithms::name_of(forced.collective)) + "=" + std::string(forced.algorithm->name);
    if (forced.carrier) text += std::string(":") + plan::name_of(*forced.carrier);
    if (forced.radix) text += ":" + std::to_string(*forced.radix);
    text += ";";
  }
  return (text.empty() ? "as chosen" : text) + (settings.topology.empty() ? "" : " on " + settings.topology) + " from ticket " +
         std::to_string(settings.first_ticket);
}

class RandomCalls : public testing::TestWithParam<Kind> {};

TEST_P(RandomCalls, EqualTheNaiveOnes) {
#ifdef __SANITIZE_THREAD__
  constexpr std::uint64_t kCalls = 1500;
#else
  constexpr std::uint64_t kCalls = 10000;
#endif
  constexpr std::uint64_t kRounds = 20;  // each with other ranks and algorithms
  const std::uint64_t seed = number_from("TEST_SEED", std::random_device{}());
  const std::uint64_t calls = number_from("TEST_CALLS", kCalls);
  std::cout << "seed " << seed << '\n';
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::mt19937_64 random(seed + round);
    const int ranks = GetParam() == Kind::mixed ? 4 : 2 + static_cast<int>(random() % 4);
    const std::vector<choose::Settings> settings = draw_settings(random);
    const std::string wrong = run_ranks(GetParam(), ranks, settings, [&](Communicators comms) {
      std::mt19937_64 same = random;
      std::mt19937_64 own(seed + round + 1000 * static_cast<std::uint64_t>(comms[0]->rank()));
      std::array<std::deque<std::unique_ptr<CallUnderTest>>, kCommunicators> under_way;
      if (std::string complaint = let_all_begin(comms, settings); !complaint.empty()) return complaint;
      for (std::uint64_t i = 0; i < calls / kRounds; ++i) {
        const std::size_t number = same() % kCommunicators;
        const bool start = same() % 3 == 0;
        for (const auto& each : comms)
          for (int times = own() % 8 == 0 ? 5 : 0; times > 0; --times) each->let_rest();  // the third time, it rests
        auto& started = under_way[number];
        auto call = std::make_unique<CallUnderTest>(*comms[number], draw_call(same, ranks, kMostBytes));
        std::string complaint;
        if (start) {
          call->start();
          started.push_back(std::move(call));
        } else {
          complaint = call->run();
        }
        while (complaint.empty() && !started.empty() && (started.size() > 4 || same() % 4 == 0)) {
          complaint = started.back()->finish();  // the last call first: then the others are over too
          started.pop_back();
        }
        if (!complaint.empty())
          return "call " + std::to_string(i) + " or one started before, communicator " + std::to_string(number) + " (" +
                 text_of(settings[number]) + "): " + complaint;
      }
      for (auto& started : under_way)
        for (auto& call : started)
          if (const std::string complaint = call->finish(); !complaint.empty()) return complaint;
      return std::string{};
    });
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    ASSERT_EQ(wrong, "") << "round " << round << ", " << ranks << " ranks. Again: TEST_SEED=" << seed << " TEST_CALLS=" << calls
                         << " random_calls_test --gtest_filter=" << test->test_suite_name() << "." << test->name();
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomCalls, testing::ValuesIn(kKinds), [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace copse::test
