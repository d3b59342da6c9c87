// Faults planted in small plans, one per test. The checker must find each and say where it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "plan/builder.hpp"
#include "planted.hpp"

namespace copse::analysis {
namespace {

using algorithms::Collective;
using plan::Builder;
using plan::Carrier;
using plan::Kind;
using plan::Operand;
using plan::Plan;
using plan::Range;
using plan::Space;
using plan::Step;

// Rank 0 gives its message to every other rank.
Plans broadcast_plans(int ranks, Carrier carrier, const std::vector<std::int32_t>& nodes = {}) {
  Plans plans;
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, carrier, nodes);
    builder.loop();
    if (rank == 0) {
      builder.give(0, all_but(0, ranks), Builder::input());
      builder.reclaim(all_but(0, ranks));
    } else {
      builder.copy(Builder::output(), builder.take(0, 0, Builder::input(), Builder::output()));
    }
    plans.push_back(builder.finish());
  }
  return plans;
}

// Rank 0 takes every other rank's message and combines them in order.
Plans reduce_plans(int ranks, Carrier carrier) {
  Plans plans;
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, carrier, {});
    builder.loop();
    if (rank == 0) {
      Operand sum = Builder::input();
      for (int from = 1; from < ranks; ++from) {
        builder.reduce(Builder::output(), sum, builder.take(0, from, Builder::input(), builder.scratch(0)));
        sum = Builder::output();
      }
    } else {
      const std::vector<std::int32_t> root{0};
      builder.give(0, root, Builder::input());
      builder.reclaim(root);
    }
    plans.push_back(builder.finish());
  }
  return plans;
}

// Every rank reduces its tile for all.
Plans tiled_plans(int ranks) {
  Plans plans;
  const auto parts = static_cast<std::uint32_t>(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, Carrier::slot, {});
    builder.loop();
    builder.give(0, all_but(rank, ranks), Builder::input());
    const Range mine{static_cast<std::uint32_t>(rank), 1, parts};
    std::vector<Operand> items;
    for (int from = 0; from < ranks; ++from) {
      items.push_back(from == rank ? Builder::input(mine) : builder.take(0, from, Builder::input(mine), builder.scratch(0, mine)));
    }
    builder.reduce(Builder::output(mine), items[0], items[1]);
    for (int from = 2; from < ranks; ++from)
      builder.reduce(Builder::output(mine), Builder::output(mine), items[static_cast<std::size_t>(from)]);
    builder.give(1, all_but(rank, ranks), Builder::output(mine));
    for (int from : all_but(rank, ranks)) {
      const Range theirs{static_cast<std::uint32_t>(from), 1, parts};
      builder.copy(Builder::output(theirs), builder.take(1, from, Builder::output(theirs), Builder::output(theirs)));
    }
    plans.push_back(builder.finish());
  }
  return plans;
}

Plans barrier_plans(int ranks) {
  Plans plans;
  for (int rank = 0; rank < ranks; ++rank) {
    Builder builder(rank, ranks, Carrier::line, {});
    builder.signal(0, all_but(rank, ranks));
    for (int from : all_but(rank, ranks)) builder.await_signal(0, from);
    plans.push_back(builder.finish());
  }
  return plans;
}

TEST(Sound, ThePlansThatTheFaultsArePlantedIn) {
  for (int ranks : {2, 3, 5}) {
    for (int fragments : {1, 2, 3, 5}) {
      for (Carrier carrier : {Carrier::slot, Carrier::get, Carrier::put})
        expect_sound(broadcast_plans(ranks, carrier), {Collective::broadcast, fragments});
      for (Carrier carrier : {Carrier::slot, Carrier::get})
        for (bool in_place : {false, true})
          expect_sound(reduce_plans(ranks, carrier), {Collective::reduce, fragments, 4, in_place});
      expect_sound(tiled_plans(ranks), {Collective::allreduce, fragments});
    }
    expect_sound(broadcast_plans(ranks, Carrier::line), {});
    expect_sound(barrier_plans(ranks), {Collective::barrier});
  }
  expect_sound(broadcast_plans(4, Carrier::slot, {0, 1, 0, 1}), {Collective::broadcast, 3, 3, false, {0, 1, 0, 1}});
}

TEST(Planted, MissingWait) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  erase(plans[2], index_of(plans[2], Kind::await));
  expect_found(plans, {}, Fault::race, {"rank 2", "slot 0.0", "copy output = slot 0.0", "copy slot 0.0 = input"});
}

TEST(Planted, MissingWaitOfTheSlowerRankIsReadOfNothing) {
  Plans plans = reduce_plans(2, Carrier::slot);
  erase(plans[0], index_of(plans[0], Kind::await));
  expect_found(plans, {Collective::reduce}, Fault::unwritten, {"rank 0", "slot 1.0"});
}

TEST(Planted, SignalTooEarly) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  std::swap(plans[0].steps[index_of(plans[0], Kind::post)], plans[0].steps[index_of(plans[0], Kind::copy)]);
  expect_found(plans, {}, Fault::race, {"slot 0.0", "copy slot 0.0 = input"});
}

TEST(Planted, DoneTooEarly) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  std::swap(plans[1].steps[index_of(plans[1], Kind::done)], plans[1].steps[index_of(plans[1], Kind::copy)]);
  expect_found(plans, {Collective::broadcast, 5}, Fault::race, {"slot 0.0", "copy output = slot 0.0"});
  expect_found(plans, {Collective::broadcast, 1, 4}, Fault::race, {"slot 0.0"});
}

TEST(Planted, SlotReusedTooSoonWithinACall) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  ASSERT_EQ(plans[0].peers.size(), 2u);
  plans[0].steps[index_of(plans[0], Kind::acquire)].peers_count = 1;  // forgets the second reader
  expect_sound(plans, {Collective::broadcast, 1, 4});                 // across calls the writer waits for all ranks
  expect_found(plans, {Collective::broadcast, 5}, Fault::race, {"slot 0.0", "reused", "rank 2"});
}

TEST(Planted, SlotReusedTooSoonAcrossCalls) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  erase(plans[0], index_of(plans[0], Kind::acquire));
  expect_sound(plans, {Collective::broadcast, 1, 2});  // the ring has two places
  expect_found(plans, {Collective::broadcast, 1, 3}, Fault::race, {"line 0.0", "post 0", "call 2"});
}

TEST(Planted, LineReusedTooSoonEvenWithoutData) {
  Plans plans;
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::line, {});
    const std::vector<std::int32_t> one{1};
    if (rank == 0) builder.signal(0, one);
    if (rank == 1) builder.await_signal(0, 0);
    plans.push_back(builder.finish());
  }
  erase(plans[0], index_of(plans[0], Kind::acquire));
  const Verdict verdict = run(plans, {Collective::barrier, 1, 4});
  ASSERT_FALSE(verdict.ok());
  EXPECT_NE(text(verdict).find("race: rank"), std::string::npos) << text(verdict);
}

// Rank 1 learns from line 0.1 that rank 0 has gone on, and only then waits for what has long stood on line 0.0.
TEST(Planted, WaitForALineThatHasGoneOn) {
  Plans plans;
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::slot, {});
    const std::vector<std::int32_t> zero{0}, one{1};
    if (rank == 0) {
      builder.await_signal(2, 1);
      builder.loop();
      builder.signal(0, one);
      builder.lag(1);
      builder.signal(1, one);
    } else {
      builder.signal(2, zero);
      builder.loop();
      builder.await_signal(1, 0);
      builder.lag(1);
      builder.await_signal(0, 0);
    }
    plans.push_back(builder.finish());
  }
  const Setting setting{Collective::barrier, 5, 4};
  erase(plans[0], index_of(plans[0], Kind::acquire));
  expect_sound(plans, {Collective::barrier, 1, 4});
  expect_found(plans, setting, Fault::deadlock, {"await 0.0", "that line holds ticket"});
}

// Rank 0 gives its message to rank 1 in two halves, one after the other.
Plans halves_plans() {
  Plans plans;
  const std::vector<std::int32_t> one{1};
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::slot, {});
    builder.loop();
    for (std::uint32_t half = 0; half < 2; ++half) {
      const Range range{half, 1, 2};
      builder.portion(static_cast<int>(half));
      if (rank == 0) {
        builder.give(0, one, Builder::input(range));
      } else {
        builder.copy(Builder::output(range), builder.take(0, 0, Builder::input(range), Builder::output(range)));
      }
    }
    plans.push_back(builder.finish());
  }
  return plans;
}

TEST(Planted, PortionsOfOneValue) {
  const Plans sound = halves_plans();
  expect_sound(sound, {Collective::broadcast, 5, 2});
  const auto acquires =
      std::count_if(sound[0].steps.begin(), sound[0].steps.end(), [](const Step& step) { return step.kind == Kind::acquire; });
  EXPECT_EQ(acquires, 1) << "portions share their slot";

  Plans early = sound;
  for (Step& step : early[1].steps)
    if (step.portion == 1) step.portion = 0;
  expect_found(early, {}, Fault::race, {"slot 0.0", "nothing orders"});
  Plans twice = sound;
  for (Step& step : twice[0].steps)
    if (step.portion == 1) step.portion = 0;
  expect_found(twice, {}, Fault::illegal, {"post 0", "already posted"});
}

TEST(Planted, WrongChunk) {
  Plans plans = tiled_plans(3);
  Step& reduce = plans[1].steps[index_of(plans[1], Kind::reduce)];
  for (Operand* operand : {&reduce.dst, &reduce.a, &reduce.b}) operand->range.first = 2;
  expect_found(plans, {Collective::allreduce}, Fault::unwritten, {"rank 1", "output of 1"});
  plans = tiled_plans(3);
  plans[1].steps[index_of(plans[1], Kind::reduce)].a.range.first = 0;
  expect_found(plans, {Collective::allreduce}, Fault::mismatch, {"rank 1", "not the same part"});
}

TEST(Planted, TwoWaysToCutDoNotMeet) {
  Plans plans = tiled_plans(4);
  for (Step& step : plans[0].steps)
    for (Operand* operand : {&step.dst, &step.a, &step.b})
      if (operand->range == Range{0, 1, 4}) operand->range = {0, 2, 8};
  expect_found(plans, {Collective::allreduce}, Fault::mismatch, {"into 4", "into 8"});
}

TEST(Planted, SwappedOperand) {
  Plans plans = reduce_plans(3, Carrier::slot);
  Step& reduce = plans[0].steps[index_of(plans[0], Kind::reduce)];
  std::swap(reduce.a, reduce.b);
  expect_found(plans, {Collective::reduce}, Fault::wrong, {"((0.1 + 0.0) + 0.2)", "order"});
}

TEST(Planted, RanksThatRoundDifferently) {
  // Rank 2 combines all messages like the others, but from the other end.
  Plans own;
  for (int rank = 0; rank < 3; ++rank) {
    Builder builder(rank, 3, Carrier::slot, {});
    builder.loop();
    builder.give(0, all_but(rank, 3), Builder::input());
    std::vector<Operand> items;
    for (int from = 0; from < 3; ++from)
      items.push_back(from == rank ? Builder::input() : builder.take(0, from, Builder::input(), builder.scratch(0)));
    if (rank < 2) {
      builder.reduce(Builder::output(), items[0], items[1]);
      builder.reduce(Builder::output(), Builder::output(), items[2]);
    } else {
      builder.reduce(Builder::output(), items[1], items[2]);
      builder.reduce(Builder::output(), items[0], Builder::output());
    }
    own.push_back(builder.finish());
  }
  expect_found(own, {Collective::allreduce}, Fault::wrong, {"is computed differently from another rank"});
}

TEST(Planted, Deadlock) {
  Plans plans = barrier_plans(3);
  for (Plan& plan : plans) {  // all ranks wait before they signal
    const auto post = index_of(plan, Kind::post);
    const Step step = plan.steps[post];
    plan.steps.erase(plan.steps.begin() + static_cast<std::ptrdiff_t>(post));
    plan.steps.insert(plan.steps.end() - 1, step);
  }
  expect_found(plans, {Collective::barrier}, Fault::deadlock, {"rank 0 waits at 'await", "which closes the circle"});
}

TEST(Planted, WaitForASignalThatNobodyGives) {
  Plans plans = broadcast_plans(3, Carrier::slot);
  erase(plans[0], index_of(plans[0], Kind::post));
  expect_found(plans, {}, Fault::deadlock, {"await 0.0", "for rank 0"});
}

TEST(Planted, ReturningTooEarly) {
  Plans plans = broadcast_plans(3, Carrier::get);
  erase(plans[0], index_of(plans[0], Kind::await_done));
  expect_found(plans, {}, Fault::race, {"rank 0", "'return'", "has its buffer back", "copy output = input of 0"});
}

// Another call of the rank may use the memory of its scratch, whether or not calls follow here.
TEST(Planted, ScratchReadAfterTheReturn) {
  Plans plans;
  for (int rank = 0; rank < 3; ++rank) {
    Builder builder(rank, 3, Carrier::get, {});
    builder.give_from_scratch();
    builder.loop();
    if (rank == 0) {
      builder.copy(builder.scratch(0), Builder::input());
      builder.give(0, all_but(0, 3), builder.scratch(0));
      builder.reclaim(all_but(0, 3));
    } else {
      builder.copy(Builder::output(), builder.take(0, 0, Builder::scratch_of_peer(0, {}), Builder::output()));
    }
    plans.push_back(builder.finish());
  }
  Setting once;
  once.calls = 1;
  expect_sound(plans, once);
  erase(plans[0], index_of(plans[0], Kind::await_done));
  expect_found(plans, once, Fault::race,
               {"rank 0", "'return'", "another call may have its scratch", "copy output = scratch.0 of 0"});
}

TEST(Planted, LeavingABarrierThatSomebodyHasNotEntered) {
  Plans plans = barrier_plans(3);
  erase(plans[1], index_of(plans[1], Kind::await));
  expect_found(plans, {Collective::barrier}, Fault::wrong, {"rank 1", "entered"});
}

TEST(Planted, UnmatchedMessage) {
  const std::vector<std::int32_t> nodes{0, 1};
  const Setting setting{Collective::broadcast, 1, 1, false, nodes};
  Plans plans = broadcast_plans(2, Carrier::slot, nodes);
  expect_sound(plans, setting);
  erase(plans[0], index_of(plans[0], Kind::send));
  expect_found(plans, setting, Fault::deadlock, {"receive output from 0"});

  plans = broadcast_plans(2, Carrier::slot, nodes);
  erase(plans[0], index_of(plans[0], Kind::drain));
  expect_found(plans, setting, Fault::wire, {"rank 0", "returns before"});

  plans = broadcast_plans(2, Carrier::slot, nodes);
  plans[1].steps[index_of(plans[1], Kind::receive)].dst.range = {0, 1, 2};
  expect_found(plans, setting, Fault::wire, {"rank 1", "another part"});

  plans = broadcast_plans(2, Carrier::slot, nodes);
  plans[0].steps[index_of(plans[0], Kind::send)].a = {};
  expect_found(plans, setting, Fault::wire, {"only one of the two has data, or goes on"});

  plans = broadcast_plans(2, Carrier::slot, nodes);
  plans[1].steps[index_of(plans[1], Kind::expect)].dst = {};
  expect_found(plans, setting, Fault::wire, {"rank 1", "does not name"});

  // Two parts form one message.
  const auto in_parts = [&] {
    Plans result;
    for (int rank = 0; rank < 2; ++rank) {
      Builder builder(rank, 2, Carrier::slot, nodes);
      for (std::uint32_t part = 0; part < 2; ++part) {
        if (rank == 0) builder.give(0, std::vector<std::int32_t>{1}, Builder::output({part, 1, 2}));
        if (rank == 1) static_cast<void>(builder.take(0, 0, Builder::output({part, 1, 2}), Builder::output({part, 1, 2})));
      }
      result.push_back(builder.finish());
    }
    return result;
  };
  expect_sound(plans = in_parts(), setting);
  EXPECT_TRUE(plans[0].steps[index_of(plans[0], Kind::send)].more);
  plans[0].steps[index_of(plans[0], Kind::send)].more = false;
  expect_found(plans, setting, Fault::wire, {"only one of the two has data, or goes on"});
  plans = in_parts();
  plans[0].steps[index_of(plans[0], Kind::send) + 1].more = true;
  expect_found(plans, setting, Fault::illegal, {"the rest of this message is missing"});
  plans = in_parts();
  plans[0].steps[index_of(plans[0], Kind::send) + 1].portion = 1;
  expect_found(plans, setting, Fault::illegal, {"begins before another message has ended"});

  // A rank waits for its own messages to leave before it takes those of others.
  Plans both;
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::slot, nodes);
    builder.once();
    const std::vector<std::int32_t> other{1 - rank};
    builder.signal(0, other);
    builder.once();
    builder.await_signal(0, 1 - rank);
    both.push_back(builder.finish());
  }
  expect_found(both, {Collective::barrier, 1, 1, false, nodes}, Fault::deadlock, {"drain", "which closes the circle"});
}

TEST(Planted, SourceOverwrittenBeforeItIsDrained) {
  const std::vector<std::int32_t> nodes{0, 1};
  Plans plans;
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::slot, nodes);
    const std::vector<std::int32_t> other{1 - rank};
    builder.copy(Builder::output(), Builder::input());
    builder.give(0, other, Builder::output());
    const Operand theirs = builder.take(0, 1 - rank, Builder::output(), builder.scratch(0));
    if (rank == 0) builder.reduce(Builder::output(), Builder::input(), theirs);
    if (rank == 1) builder.reduce(Builder::output(), theirs, Builder::input());
    plans.push_back(builder.finish());
  }
  const Setting setting{Collective::allreduce, 1, 1, false, nodes};
  expect_sound(plans, setting);
  auto& steps = plans[1].steps;  // the drain comes a step later
  const auto drain = index_of(plans[1], Kind::drain), reduce = index_of(plans[1], Kind::reduce);
  ASSERT_LT(drain, reduce);
  std::rotate(steps.begin() + static_cast<std::ptrdiff_t>(drain), steps.begin() + static_cast<std::ptrdiff_t>(drain) + 1,
              steps.begin() + static_cast<std::ptrdiff_t>(reduce) + 1);
  expect_found(plans, setting, Fault::race, {"rank 1", "overwritten before it was drained"});
}

TEST(Planted, ExpectedInAPlaceThatIsInUse) {
  const std::vector<std::int32_t> nodes{0, 1};
  // An allreduce in place: what rank 0 sends lies where the result will come.
  const auto make = [&] {
    Plans plans;
    for (int rank = 0; rank < 2; ++rank) {
      Builder builder(rank, 2, Carrier::slot, nodes);
      const std::vector<std::int32_t> other{1 - rank};
      builder.loop();
      if (rank == 0) builder.give(0, other, Builder::input());
      if (rank == 1) {
        builder.reduce(Builder::output(), builder.take(0, 0, Builder::input(), builder.scratch(0)), Builder::input());
        builder.give(1, other, Builder::output());
      }
      builder.lag(2);
      if (rank == 0) builder.copy(Builder::output(), builder.take(1, 1, Builder::output(), Builder::output()));
      plans.push_back(builder.finish());
    }
    return plans;
  };
  const Setting setting{Collective::allreduce, 5, 2, true, nodes, 8};
  expect_sound(make(), setting);
  // Rank 1 expects the next fragment while it works on this one.
  Plans plans = make();
  EXPECT_EQ(plans[1].steps[index_of(plans[1], Kind::expect)].lag, 0);
  EXPECT_EQ(plans[1].steps[index_of(plans[1], Kind::receive)].lag, 1);
  EXPECT_GT(plans[1].scratch_depth, 1);

  const auto move_to_the_front = [](Plan& plan, std::size_t at) {
    plan.steps[at].lag = 0;
    std::rotate(plan.steps.begin(), plan.steps.begin() + static_cast<std::ptrdiff_t>(at),
                plan.steps.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  };
  move_to_the_front(plans[0], index_of(plans[0], Kind::expect));
  expect_found(plans, setting, Fault::race, {"rank 0", "since 'expect output from 1 tag 1' the wire's"});

  plans = make();
  plans[1].scratch_depth = 1;
  expect_found(plans, setting, Fault::race, {"rank 1", "scratch.0", "since 'expect scratch.0 from 0 tag 0' the wire's"});

  plans = make();
  erase(plans[1], index_of(plans[1], Kind::expect));
  expect_found(plans, setting, Fault::wire, {"rank 1", "not the next that it expects"});

  plans = make();
  plans[1].steps[index_of(plans[1], Kind::receive)].dst = Builder::output();
  expect_found(plans, setting, Fault::wire, {"rank 1", "another place"});
}

TEST(Planted, DelegatedInTheWrongWay) {
  const std::vector<std::int32_t> nodes{0, 1}, both{0, 1};
  // The result of a fragment is collected while the next one is under way. A rank delegates its own copy of the input.
  const auto make = [&] {
    Plans plans;
    for (int rank = 0; rank < 2; ++rank) {
      Builder builder(rank, 2, Carrier::slot, nodes);
      builder.loop();
      builder.copy(builder.scratch(0), Builder::input());
      builder.delegate(1, both, Builder::output(), builder.scratch(0));
      builder.lag(1);
      builder.collect(1);
      plans.push_back(builder.finish());
    }
    return plans;
  };
  const Setting setting{Collective::allreduce, 5, 2, false, nodes};
  expect_sound(make(), setting);
  EXPECT_EQ(make()[0].scratch_depth, 2);

  Plans plans = make();
  erase(plans[1], index_of(plans[1], Kind::delegate));
  expect_found(plans, setting, Fault::wire, {"rank 1", "not the next that it expects"});

  plans = make();
  erase(plans[1], index_of(plans[1], Kind::collect));
  expect_found(plans, setting, Fault::wire, {"rank 1", "returns before", "delegate allreduce output = scratch.0 among 0 1 tag 1"});

  plans = make();
  plans[1].scratch_depth = 1;
  expect_found(plans, setting, Fault::race, {"rank 1", "overwritten before it was collected"});

  plans = make();
  plans[0].steps[index_of(plans[0], Kind::collect)].dst = Builder::output({0, 1, 2});
  expect_found(plans, setting, Fault::wire, {"rank 0", "not what the rank has delegated"});

  // The members' k-th collectives belong together.
  plans = make();
  for (Step& step : plans[1].steps)
    if (step.kind == Kind::delegate || step.kind == Kind::collect) step.area = 0;
  expect_found(plans, setting, Fault::wire, {"rank 1", "tag 0", "rank 0 delegates"});

  // What the wire writes may not be read.
  plans = make();
  auto& steps = plans[0].steps;
  Step early = steps[index_of(plans[0], Kind::copy)];
  early.dst = Builder::output();
  steps.insert(steps.begin() + static_cast<std::ptrdiff_t>(index_of(plans[0], Kind::delegate)) + 1, early);
  ++plans[0].sections[0].count;
  expect_found(plans, setting, Fault::race, {"rank 0", "since 'delegate allreduce output = scratch.0 among 0 1 tag 1' the wire's"});

  // Nobody comes out of a barrier before all are in it.
  Plans barriers;
  for (int rank = 0; rank < 2; ++rank) {
    Builder builder(rank, 2, Carrier::line, nodes);
    builder.delegate(0, both, {}, {});
    builder.collect(0);
    barriers.push_back(builder.finish());
  }
  const Setting meeting{Collective::barrier, 1, 2, false, nodes};
  expect_sound(barriers, meeting);
  plans = barriers;
  erase(plans[1], index_of(plans[1], Kind::collect));
  erase(plans[1], index_of(plans[1], Kind::delegate));
  expect_found(plans, meeting, Fault::wrong, {"rank 1", "entered"});

  // Members, root and operands.
  const auto expect_illegal = [&](const std::function<void(Plan&, Step&)>& spoil, const char* why) {
    Plans spoilt = make();
    spoil(spoilt[1], spoilt[1].steps[index_of(spoilt[1], Kind::delegate)]);
    expect_found(spoilt, setting, Fault::illegal, {why});
  };
  expect_illegal([](Plan& plan, Step&) { std::swap(plan.peers[0], plan.peers[1]); }, "several ranks in ascending order");
  expect_illegal([](Plan&, Step& step) { step.peers_count = 1; }, "several ranks in ascending order");
  expect_illegal([](Plan&, Step& step) { step.peer = 5; }, "the root is none of the members");
  expect_illegal([](Plan&, Step& step) { step.a = {}; }, "an operand is missing");
  Plans near = make();
  expect_found(near, {Collective::allreduce, 5, 2}, Fault::illegal, {"the wire is only for other nodes"});
}

TEST(Planted, WaitForTheTicketBefore) {
  const auto plans = std::make_shared<const Plans>(broadcast_plans(3, Carrier::slot));
  Case subject;
  subject.ranks = 3;
  for (int call = 0; call < 3; ++call) subject.calls.push_back({plans, Collective::broadcast, 0, true, false, 2});
  Replacement late{plans.get(), 1, (*plans)[1], static_cast<int>(index_of((*plans)[1], Kind::await)), 1};
  subject.replacement = &late;
  const Verdict verdict = check(subject);
  ASSERT_FALSE(verdict.ok());
  EXPECT_TRUE(verdict.findings[0].fault == Fault::race || verdict.findings[0].fault == Fault::stale) << text(verdict);
}

TEST(Rules, WhatNoPlanMayContain) {
  const auto expect_illegal = [](const std::function<void(Plans&)>& spoil, const Setting& setting, const char* why) {
    Plans plans = setting.collective == Collective::reduce ? reduce_plans(3, Carrier::slot)
                                                           : broadcast_plans(3, Carrier::slot, setting.nodes);
    spoil(plans);
    expect_found(plans, setting, Fault::illegal, {why});
  };
  const auto copy_of = [](Plans& plans, int rank) -> Step& {
    Plan& plan = plans[static_cast<std::size_t>(rank)];
    return plan.steps[index_of(plan, Kind::copy)];
  };
  expect_illegal([&](Plans& plans) { copy_of(plans, 0).dst.rank = 1; }, {}, "another rank's line or slot");
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).dst.space = Space::input; }, {}, "writes the input");
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).a.rank = 7; }, {}, "no rank: 7");
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).a.range = {2, 1, 2}; }, {}, "out of bounds");
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).a = {Space::peer_input, 15, 0, {}}; }, {},
                 "has not awaited the addresses of rank 0");
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).a = {Space::output, 0, -1, {}}; }, {Collective::reduce},
                 "this rank has no output");
  expect_illegal([&](Plans& plans) { plans[1].sections[0].max_lag = 2; }, {}, "deeper rings");
  Setting deep;
  deep.depth = 20;
  expect_illegal([&](Plans& plans) { plans[1].sections[0].max_lag = 8; }, deep, "deeper rings than there are");
  expect_illegal([&](Plans& plans) { plans[1].areas = 17; }, {}, "more areas than");
  expect_illegal(
      [&](Plans& plans) {
        for (Plan& plan : plans) plan.whole_scratch = true;
        plans[1].scratch_depth = 2;
      },
      {}, "lie in no ring");
  const Setting split{Collective::broadcast, 1, 4, false, {0, 0, 1}};
  expect_illegal([&](Plans& plans) { copy_of(plans, 1).a.rank = 2; }, split, "on another node");
}

}  // namespace
}  // namespace copse::analysis
