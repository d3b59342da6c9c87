// Shows that the scheduler finds faults. Each fault in the memory orders, in the plans and in copies of the sources is
// found.
#include <gtest/gtest.h>

#include <array>

#include "calls.hpp"
#include "meeting.hpp"
#include "node.hpp"
#include "planted.hpp"
#include "turns.hpp"

namespace copse::schedules {
namespace {

// Removes the steps of one kind from a plan.
void omit(plan::Plan& plan, plan::Kind kind) {
  std::vector<plan::Step> steps;
  for (plan::Section& section : plan.sections) {
    const std::uint32_t first = section.first, count = section.count;
    section.first = static_cast<std::uint32_t>(steps.size());
    for (std::uint32_t i = first; i < first + count; ++i)
      if (plan.steps[i].kind != kind || plan.steps[i].area == plan::kPublishArea) steps.push_back(plan.steps[i]);
    section.count = static_cast<std::uint32_t>(steps.size()) - section.first;
  }
  plan.steps = std::move(steps);
}
// Moves each step of one kind before the step that it follows.
void hasten(plan::Plan& plan, plan::Kind kind) {
  for (const plan::Section& section : plan.sections)
    for (std::uint32_t i = section.first + 1; i < section.first + section.count; ++i)
      if (plan.steps[i].kind == kind) std::swap(plan.steps[i], plan.steps[i - 1]);
}

std::vector<Part> slots_alone() {
  return {{find(Collective::broadcast, "flat"), plan::Carrier::slot, 4},
          {find(Collective::broadcast, "flat"), plan::Carrier::slot, 4},
          {find(Collective::broadcast, "flat"), plan::Carrier::slot, 12, 0, 4},
          {find(Collective::broadcast, "flat"), plan::Carrier::slot, 4}};
}
std::vector<Part> addresses_alone() {
  return {{find(Collective::broadcast, "flat"), plan::Carrier::get, 4},
          {find(Collective::broadcast, "flat"), plan::Carrier::get, 4}};
}

struct Fault {
  std::string name;
  Prepare world;
};

std::vector<Fault> faults() {
  using Order = Planted::Order;
  const auto ordered = [](Order order) { return node(3, slots_alone(), {order, nullptr}); };
  const auto spoilt = [](void (*spoil)(plan::Plan&)) { return node(3, slots_alone(), {Order::right, spoil}); };
  return {
      {"order: lines posted without release", ordered(Order::line_stores)},
      {"order: lines awaited without acquire", ordered(Order::line_loads)},
      {"order: progress posted without release", ordered(Order::progress_stores)},
      {"order: progress read without acquire", ordered(Order::progress_loads)},
      {"plan: no acquire", spoilt([](plan::Plan& plan) { omit(plan, plan::Kind::acquire); })},
      {"plan: no await", spoilt([](plan::Plan& plan) { omit(plan, plan::Kind::await); })},
      {"plan: a post before the copy", spoilt([](plan::Plan& plan) { hasten(plan, plan::Kind::post); })},
      {"plan: done before the last copy", spoilt([](plan::Plan& plan) { hasten(plan, plan::Kind::done); })},
      {"plan: no post", spoilt([](plan::Plan& plan) { omit(plan, plan::Kind::post); })},
      {"addresses posted before they are written", node(2, addresses_alone())},
      {"a ring acquired a ticket early", node(2, slots_alone())},
      {"only the first rank is waited for before memory of an earlier call is written", node(3, slots_alone())},
      {"the news of an end before the word", node_with_end()},
      {"progress posted before the last fragment is read", node(2, slots_alone())},
      {"a call left while others are in it", node(3, refused_calls(3))},
      {"the next call begun while others are in the refused one", node(3, refused_calls(3))},
      {"the ticket of whoever refused first", node(3, refused_calls(3, 2))},
      {"a refusal taken back before the next call is noted", node(3, refused_calls(3))},
      {"a refusal that covers what comes behind it", node(3, refused_calls(3))},
      {"a call left without posting progress", node(3, refused_calls(3))},
      {"a turn given back before the list is right", turns(Turns::Kind::threads, 2)},
      {"nobody is woken for what is new", turns(Turns::Kind::thread_of_copse, 1)},
      {"nobody is roused for what is new", turns(Turns::Kind::watched, 1)},
      {"removed without waiting for the turn", turns(Turns::Kind::threads, 2)},
      {"over, and left in the list", turns(Turns::Kind::threads, 2)},
      {"woken without the lock", turns(Turns::Kind::thread_of_copse, 1)},
      {"asleep only once it has looked", turns(Turns::Kind::thread_of_copse, 1)},
      {"a round read before all have posted", gathering(2, 3)},
      {"a round written before all have read the last", gathering(2, 3)},
      {"posted before it is written", gathering(2, 3)},
      {"gone before its word is looked at again", gathering(2, 3)},
      {"a block taken from the place of the next one in its ride", ranks(3, 1, call_without_sizes)},
      {"a block that ends where it begins in its ride", ranks(3, 1, call_without_sizes)},
      {"the ends of blocks written one place late", ranks(3, 1, call_without_sizes)},
      {"a value that does not ride, not counted", ranks(3, 1, call_without_sizes)},
      {"all sizes taken from one letter", ranks(3, 1, call_without_sizes)},
      {"a lane free before all have given it back", ranks(2, 1, start_lanes_in_any_order)},
  };
}

class EveryFault : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryFault, IsFound) {
  const Fault fault = faults()[GetParam()];
  const auto with_it = [&](const std::function<Explored()>& explore) {
    return apart([&] {
      the_planted = fault.name;
      return explore();
    });
  };
  const Explored every = with_it([&] { return every_schedule(2, fault.world, 500); });
  const Explored random = with_it([&] { return random_schedules(20'000, fault.world); });
  std::printf("%s\n  schedule %lu: %s\n  random %lu: %s\n", fault.name.c_str(), every.executions,
              every.wrong.value_or("not found").c_str(), random.executions, random.wrong.value_or("not found").c_str());
  EXPECT_TRUE(every.wrong || random.wrong) << fault.name;
}

INSTANTIATE_TEST_SUITE_P(Planted, EveryFault, testing::Range(std::size_t{0}, faults().size()));

// The output of a failure is enough to reproduce it.
TEST(Replay, MeetsTheSameFault) {
  for (const bool random : {false, true}) {
    const Prepare world = gathering(2, 3);
    const auto explore = [&] {
      the_planted = "posted before it is written";
      return random ? random_schedules(1000, world) : every_schedule(2, world);
    };
    const Explored found = apart(explore);
    ASSERT_TRUE(found.wrong);
    constexpr std::string_view kAgain = "TEST_SCHEDULE=";
    const std::string schedule = found.wrong->substr(found.wrong->find(kAgain) + kAgain.size());
    setenv("TEST_SCHEDULE", schedule.c_str(), 1);
    const Explored again = apart(explore);
    unsetenv("TEST_SCHEDULE");
    EXPECT_EQ(again.wrong, found.wrong);
    EXPECT_EQ(again.executions, 1U);
  }
}

}  // namespace
}  // namespace copse::schedules
