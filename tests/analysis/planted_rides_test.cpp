// Faults planted in plans whose values may ride. Only its giver knows the size of such a value, and thus whether it rides, so
// the takers must learn that from the publication. Each plan is shown to be right before the fault is planted.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/builder.hpp"
#include "planted.hpp"

namespace copse::analysis {
namespace {

using algorithms::Collective;
using plan::Builder;
using plan::Carrier;
using plan::chunks_from;
using plan::Kind;
using plan::Plan;
using plan::Range;
using plan::Space;
using plan::Step;
using plan::When;

constexpr int kRanks = 3, kChoices = 27;
constexpr Ride kStays = Ride::stays, kLine = Ride::line, kSlot = Ride::slot;

std::vector<Ride> alike(Ride ride) { return std::vector<Ride>(kRanks, ride); }
// Returns the choices of all ranks with this number, below kChoices.
std::vector<Ride> choices(int number) {
  return {static_cast<Ride>(number % 3), static_cast<Ride>(number / 3 % 3), static_cast<Ride>(number / 9)};
}

Setting choosing(Collective collective, std::vector<Ride> rides) {
  Setting setting{collective};
  setting.rides = std::move(rides);
  return setting;
}

// Every other rank gives rank 0 a block. It rides, or its giver writes it into the output of rank 0.
Plans gather_plans() {
  Plans plans;
  for (int rank = 0; rank < kRanks; ++rank) {
    Builder builder(rank, kRanks, Carrier::put, {}, algorithms::contents_of(Collective::gather, kRanks));
    const Range mine = chunks_from(rank, 1, kRanks);
    if (rank == 0) {
      builder.expose_output();
      builder.copy(Builder::output(mine), Builder::input(mine));
      for (int from = 1; from < kRanks; ++from) builder.take_ride(from, chunks_from(from, 1, kRanks));
    } else {
      const std::int32_t root = 0;
      builder.ride({&root, 1}, {&mine, 1});
    }
    plans.push_back(builder.finish());
  }
  return plans;
}

// Every rank gives every other rank a block. A rank's blocks ride together, or each is read where it lies.
Plans exchange_plans() {
  Plans plans;
  const auto block = [](int from, int to) { return chunks_from(from * kRanks + to, 1, kRanks * kRanks); };
  for (int rank = 0; rank < kRanks; ++rank) {
    Builder builder(rank, kRanks, Carrier::get, {}, algorithms::contents_of(Collective::alltoall, kRanks));
    const std::vector<std::int32_t> others = all_but(rank, kRanks);
    std::vector<Range> given;
    for (const int to : others) given.push_back(block(rank, to));
    builder.ride(others, given);
    builder.copy(Builder::output(block(rank, rank)), Builder::input(block(rank, rank)));
    for (const int from : others)
      builder.take_ride(from, block(from, rank), static_cast<std::uint32_t>(rank < from ? rank : rank - 1));
    plans.push_back(builder.finish());
  }
  return plans;
}

// If the blocks of some rank do not ride, nothing is moved.
Plans letters_plans() { return plans_of(Collective::alltoall, "letters", Carrier::slot, kRanks); }

std::size_t await_of(const Plan& plan, int giver) {
  return index_where(plan, [&](const Step& step) { return step.kind == Kind::await && step.peer == giver; });
}
// Returns where a value is loaded to ride.
std::size_t load_in(const Plan& plan) {
  return index_where(plan, [](const Step& step) { return step.kind == Kind::copy && step.dst.space == Space::ride; });
}
// Returns where that which rides with `giver` is taken.
std::size_t take_from(const Plan& plan, int giver) {
  return index_where(plan, [&](const Step& step) { return step.a.space == Space::ride && step.a.rank == giver; });
}
Step& taking(Plan& plan, int giver) { return plan.steps[take_from(plan, giver)]; }

void swap_with_next(Plan& plan, std::size_t step) { std::swap(plan.steps.at(step), plan.steps.at(step + 1)); }

using Spoil = std::function<void(Plans&)>;

Plans spoilt(Plans plans, const Spoil& spoil) {
  spoil(plans);
  return plans;
}

// The plans are right for these choices, and with the fault they are not.
void expect_spoilt(const Plans& plans, const Spoil& spoil, const Setting& setting, Fault fault,
                   const std::vector<std::string>& words) {
  expect_sound(plans, setting);
  expect_found(spoilt(plans, spoil), setting, fault, words);
}

TEST(Rides, ThePlansThatTheFaultsArePlantedInAreRightForAllChoices) {
  const auto expect_right = [](const Plans& plans, Collective collective) {
    for (int number = 0; number < kChoices; ++number) {
      Setting setting = choosing(collective, choices(number));
      expect_sound(plans, setting);
      setting.deeper_lines = 2;
      expect_sound(plans, setting);
    }
  };
  expect_right(gather_plans(), Collective::gather);
  expect_right(exchange_plans(), Collective::alltoall);
  expect_right(letters_plans(), Collective::alltoall);
}

TEST(Rides, ReadBeforeItsAwait) {
  const Plans plans = gather_plans();
  const Spoil early = [](Plans& all) { swap_with_next(all[0], await_of(all[0], 1)); };
  const Spoil without_condition = [](Plans& all) { taking(all[0], 1).when = When::always; };
  for (const Ride ride : {kLine, kSlot}) {
    const Setting setting = choosing(Collective::gather, alike(ride));
    expect_spoilt(plans, early, setting, Fault::illegal,
                  {"rank 0", "whether the value of rank 1 rides is not known before its publication"});
    expect_spoilt(spoilt(plans, without_condition), early, setting, Fault::illegal,
                  {"rank 0", "has not awaited the addresses of rank 1 in this call"});
  }
}

// The publication of another ticket says nothing of this one.
TEST(Rides, ReadAfterTheAwaitOfTheTicketBefore) {
  const auto plans = std::make_shared<const Plans>(gather_plans());
  expect_sound(*plans, choosing(Collective::gather, alike(kLine)));
  Case subject;
  subject.ranks = kRanks;
  for (int call = 0; call < 3; ++call) subject.calls.push_back({plans, Collective::gather, 0, true, false, 1, alike(kLine)});
  const Replacement late{plans.get(), 0, plans->front(), static_cast<int>(await_of(plans->front(), 1)), 1};
  subject.replacement = &late;
  expect_found(check(subject), Fault::illegal, {"rank 0", "has not awaited the addresses of rank 1 in this call"});
}

TEST(Rides, PublishedBeforeItIsLoaded) {
  for (const Ride ride : {kLine, kSlot})
    expect_spoilt(gather_plans(), [](Plans& all) { swap_with_next(all[1], load_in(all[1])); },
                  choosing(Collective::gather, alike(ride)), Fault::race,
                  {"rank 0", "ride 1", "nothing orders this against rank 1 'copy ride 1"});
}

TEST(Rides, AConditionThatAsksTheWrongGiver) {
  const Plans plans = gather_plans();
  const Spoil asks_the_other = [](Plans& all) { taking(all[0], 2).whose = 1; };
  for (const Ride ride : {kStays, kLine, kSlot})  // where all choose alike, it does not matter who is asked
    expect_sound(spoilt(plans, asks_the_other), choosing(Collective::gather, alike(ride)));
  for (const Ride ride : {kLine, kSlot}) {
    expect_spoilt(plans, asks_the_other, choosing(Collective::gather, {kStays, ride, kStays}), Fault::illegal,
                  {"rank 0", "nothing rides with the publication of rank 2 in this call"});
    expect_spoilt(plans, asks_the_other, choosing(Collective::gather, {kStays, kStays, ride}), Fault::wrong,
                  {"rank 0", "is not that of rank 2"});
  }
  expect_spoilt(plans, [](Plans& all) { taking(all[0], 1).whose = 2; }, choosing(Collective::gather, alike(kLine)), Fault::illegal,
                {"rank 0", "whether the value of rank 2 rides is not known before its publication"});
}

TEST(Rides, ASlotWhereThePayloadRidesInTheLine) {
  const auto spoil_with = [](Space space) -> Spoil { return [space](Plans& all) { taking(all[0], 1).a.space = space; }; };
  const Plans plans = gather_plans();
  const Setting in_lines = choosing(Collective::gather, alike(kLine)), in_slots = choosing(Collective::gather, alike(kSlot));
  expect_sound(spoilt(plans, spoil_with(Space::slot)), in_slots);
  expect_spoilt(plans, spoil_with(Space::slot), in_lines, Fault::unwritten, {"rank 0", "reads slot 1.15", "holds nothing"});
  expect_sound(spoilt(plans, spoil_with(Space::line)), in_lines);
  expect_spoilt(plans, spoil_with(Space::line), in_slots, Fault::unwritten, {"rank 0", "reads line 1.15", "holds nothing"});
}

TEST(Rides, OverwrittenBeforeItWasRead) {
  const Plans plans = gather_plans();
  const Spoil no_acquire = [](Plans& all) { erase(all[1], index_of(all[1], Kind::acquire)); };
  const Spoil no_acquire_of_slots = [](Plans& all) { all[1].steps[index_of(all[1], Kind::acquire)].dst.space = Space::line; };
  const Spoil done_early = [](Plans& all) { swap_with_next(all[0], take_from(all[0], 2)); };
  for (const Ride ride : {kLine, kSlot}) {
    Setting setting = choosing(Collective::gather, alike(ride));
    setting.calls = 2;  // the ring has two places
    expect_sound(spoilt(plans, no_acquire), setting);
    expect_sound(spoilt(plans, done_early), setting);
    setting.calls = 3;
    expect_spoilt(plans, no_acquire, setting, Fault::race, {"rank 0", "line 1.15", "rank 1 'publish 15' (call 2"});
    expect_spoilt(plans, done_early, setting, Fault::race,
                  {"rank 2", "ride 2 (reused for ticket 2)", "rank 0 'copy output{2/3} = ride 2"});
  }
  Setting fewer_slots = choosing(Collective::gather, alike(kLine));
  fewer_slots.deeper_lines = 2;
  expect_sound(spoilt(plans, no_acquire_of_slots), fewer_slots);
  fewer_slots.rides = alike(kSlot);
  expect_spoilt(plans, no_acquire_of_slots, fewer_slots, Fault::stale,
                {"rank 0", "reads ride 1 of ticket 0", "holds that of ticket 2"});
}

TEST(Rides, AValueThatStaysGivenBackTooEarly) {
  const Plans plans = exchange_plans();
  const Spoil spoil = [](Plans& all) {
    erase(all[0], index_where(all[0], [](const Step& step) { return step.kind == Kind::await_done && step.peer == 1; }));
  };
  expect_sound(spoilt(plans, spoil), choosing(Collective::alltoall, alike(kLine)));
  expect_spoilt(plans, spoil, choosing(Collective::alltoall, alike(kStays)), Fault::race,
                {"rank 0", "'return'", "the caller has its input back", "rank 1 'copy output{1/9} = input of 0"});
}

// Together means: if some rank's blocks stay, no rank moves anything.
TEST(Letters, TogetherBrokenOnOneRank) {
  const Plans plans = letters_plans();
  const Setting all_ride = choosing(Collective::alltoall, alike(kLine));
  const Setting one_stays = choosing(Collective::alltoall, {kLine, kStays, kSlot});
  const Spoil own_block_always = [](Plans& all) {
    const auto own = [](const Step& step) { return step.a.space == Space::input && step.dst.space == Space::output; };
    all[2].steps[index_where(all[2], own)].when = When::always;
  };
  const Spoil asks_one_giver = [](Plans& all) { taking(all[0], 2).whose = 2; };
  for (const Spoil& spoil : {own_block_always, asks_one_giver}) expect_sound(spoilt(plans, spoil), all_ride);
  expect_spoilt(plans, own_block_always, one_stays, Fault::wrong, {"rank 2", "was moved, although not all values ride"});
  expect_spoilt(plans, asks_one_giver, one_stays, Fault::wrong, {"rank 0", "was moved, although not all values ride"});

  const Spoil reads_one_letter_less = [](Plans& all) { erase(all[1], await_of(all[1], 0)); };
  const Spoil and_takes_nothing = [&](Plans& all) {
    std::erase_if(all[1].steps, [](const Step& step) { return step.whose == plan::kEveryone; });
    all[1].sections[0].count = static_cast<std::uint32_t>(all[1].steps.size());
    reads_one_letter_less(all);
  };
  expect_spoilt(plans, reads_one_letter_less, all_ride, Fault::illegal,
                {"rank 1", "whether all ride is not known before the publication of rank 0"});
  expect_spoilt(plans, and_takes_nothing, one_stays, Fault::illegal, {"rank 1", "does not learn whether what rank 0 gives rides"});
  const Spoil writes_nothing = [](Plans& all) { erase(all[2], load_in(all[2])); };
  const Spoil gives_nothing = [&](Plans& all) {
    writes_nothing(all);
    erase(all[2], index_of(all[2], Kind::acquire));
  };
  expect_spoilt(plans, writes_nothing, all_ride, Fault::unwritten, {"rank 0", "reads ride 2 of ticket 0", "holds nothing"});
  expect_spoilt(plans, gives_nothing, all_ride, Fault::illegal,
                {"rank 0", "a condition on all ranks, but rank 2 gives nothing that may ride"});
  expect_spoilt(plans, [](Plans& all) { all[1].together = false; }, all_ride, Fault::illegal,
                {"rank 1", "does not cut messages in the same way as rank 0"});
}

TEST(Letters, ReadTooEarlyOrWrittenTooLate) {
  const Plans plans = letters_plans();
  const Setting setting = choosing(Collective::alltoall, alike(kLine));
  const Spoil early = [](Plans& all) {
    const auto await = all[0].steps.begin() + static_cast<std::ptrdiff_t>(await_of(all[0], 2)),
               take = all[0].steps.begin() + static_cast<std::ptrdiff_t>(take_from(all[0], 2));
    std::rotate(await, take, take + 1);
  };
  const Spoil without_condition = [](Plans& all) { taking(all[0], 2).when = When::always; };
  expect_spoilt(plans, early, setting, Fault::illegal,
                {"rank 0", "whether all ride is not known before the publication of rank 2"});
  expect_spoilt(spoilt(plans, without_condition), early, setting, Fault::illegal,
                {"rank 0", "has not awaited the addresses of rank 2 in this call"});
  for (const Ride ride : {kLine, kSlot})
    expect_spoilt(plans, [](Plans& all) { swap_with_next(all[0], load_in(all[0])); }, choosing(Collective::alltoall, alike(ride)),
                  Fault::race, {"rank 2", "ride 0", "nothing orders this against rank 0 'copy ride 0"});
}

// Rank 2 takes the second block of the letter of rank 0.
TEST(Letters, AnotherPlaceThanTheBlocks) {
  const Plans plans = letters_plans();
  const Setting in_lines = choosing(Collective::alltoall, alike(kLine)), in_slots = choosing(Collective::alltoall, alike(kSlot));
  const auto begins_with = [](std::uint32_t block) -> Spoil { return [=](Plans& all) { taking(all[2], 0).a.origin = block; }; };
  EXPECT_EQ(plans[2].steps[take_from(plans[2], 0)].a.origin, 1U);
  for (const Setting& setting : {in_lines, in_slots}) {
    expect_spoilt(plans, begins_with(2), setting, Fault::stale, {"rank 2", "reads block 2 from ride 0, where block 1 lies"});
    expect_spoilt(plans, begins_with(0), setting, Fault::unwritten, {"rank 2", "reads ride 0 beyond what was written there"});
  }
  const Spoil in_slot = [](Plans& all) { taking(all[2], 0).a.space = Space::slot; };
  expect_sound(spoilt(plans, in_slot), in_slots);
  expect_spoilt(plans, in_slot, in_lines, Fault::unwritten, {"rank 2", "reads slot 0.15", "holds nothing"});
}

// Every rank awaits every other rank's letter, and so knows that its last letter but one was read. Only in a ring of one place is
// an acquire or a done the sole order.
TEST(Letters, OverwrittenBeforeTheyWereRead) {
  const Plans plans = letters_plans();
  const Spoil no_acquire = [](Plans& all) { erase(all[0], index_of(all[0], Kind::acquire)); };
  const Spoil done_early = [](Plans& all) { swap_with_next(all[2], take_from(all[2], 1)); };
  for (const Ride ride : {kLine, kSlot}) {
    Setting setting = choosing(Collective::alltoall, alike(ride));
    for (const Spoil& spoil : {no_acquire, done_early}) expect_sound(spoilt(plans, spoil), setting);
    setting.depth = 1;
    expect_spoilt(plans, no_acquire, setting, Fault::race,
                  {"rank 0", "ride 0 (reused for ticket 1)", "rank 2 'copy output{2/9} = ride 0"});
    expect_spoilt(plans, done_early, setting, Fault::race,
                  {"rank 1", "ride 1 (reused for ticket 1)", "rank 2 'copy output{5/9} = ride 1"});
  }
}

// A taker that trusts its own size believes that a giver chose as it would have chosen itself.
TEST(UnknownSizes, ATakerThatAsksItself) {
  const Spoil spoil = [](Plans& all) {
    for (Step& step : all[0].steps)
      if (step.whose == 1) step.whose = 0;
  };
  const Plans plans = exchange_plans();
  for (const Ride ride : {kStays, kLine, kSlot}) expect_sound(spoilt(plans, spoil), choosing(Collective::alltoall, alike(ride)));
  for (const Ride ride : {kLine, kSlot}) {
    expect_spoilt(plans, spoil, choosing(Collective::alltoall, {ride, kStays, ride}), Fault::illegal,
                  {"rank 0", "nothing rides with the publication of rank 1 in this call"});
    expect_spoilt(plans, spoil, choosing(Collective::alltoall, {kStays, ride, kStays}), Fault::illegal,
                  {"rank 0", "rank 1 publishes no addresses in this call, because its value rides"});
  }
  expect_spoilt(letters_plans(), [](Plans& all) { taking(all[0], 1).whose = 0; },
                choosing(Collective::alltoall, {kLine, kStays, kLine}), Fault::illegal,
                {"rank 0", "nothing rides with the publication of rank 1 in this call"});
}

// The taker knows of only one way in which the block may come.
TEST(UnknownSizes, ATakerThatAsksNobody) {
  const Plans plans = plans_of(Collective::scatter, "one_way", Carrier::get, kRanks);
  const auto takes_only = [](When when) -> Spoil {
    return [when](Plans& all) {
      const auto is_other = [&](const Step& step) { return step.when != When::always && step.when != when; };
      erase(all[1], index_where(all[1], is_other));
      all[1].steps[index_of(all[1], Kind::copy)].when = When::always;
    };
  };
  const Setting stays = choosing(Collective::scatter, alike(kStays));
  expect_sound(spoilt(plans, takes_only(When::stays)), stays);
  expect_spoilt(plans, takes_only(When::rides), stays, Fault::illegal,
                {"rank 1", "nothing rides with the publication of rank 0 in this call"});
  for (const Ride ride : {kLine, kSlot}) {
    const Setting rides = choosing(Collective::scatter, alike(ride));
    expect_sound(spoilt(plans, takes_only(When::rides)), rides);
    expect_spoilt(plans, takes_only(When::stays), rides, Fault::illegal,
                  {"rank 1", "rank 0 publishes no addresses in this call, because its value rides"});
  }
}

// The taker believes that the block is long, so that its giver writes it, and does not ask when.
TEST(UnknownSizes, ATakerThatDoesNotWait) {
  const Spoil spoil = [](Plans& all) {
    erase(all[0], take_from(all[0], 1));
    erase(all[0], await_of(all[0], 1));
  };
  const Plans plans = plans_of(Collective::gather, "one_way", Carrier::put, kRanks);
  expect_spoilt(plans, spoil, choosing(Collective::gather, alike(kStays)), Fault::race,
                {"rank 0", "'return'", "the caller has its output back", "rank 1 'copy output of 0{1/3} = input"});
  for (const Ride ride : {kLine, kSlot})
    expect_spoilt(plans, spoil, choosing(Collective::gather, {kStays, ride, kStays}), Fault::wrong,
                  {"rank 0", "is not that of rank 1"});
}

}  // namespace
}  // namespace copse::analysis
