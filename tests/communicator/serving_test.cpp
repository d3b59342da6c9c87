// Communicators of which the last ranks are helpers.
#include "serving.hpp"

#include <chrono>

#include "../engine/ranks.hpp"

namespace copse::test {
namespace {

TEST(Serving, CallsAtRandom) {
  for (const Kind kind : kKinds) {
    for (const auto& [callers, helpers] :
         {std::pair{1, 1}, std::pair{2, 1}, std::pair{3, 2}, std::pair{5, 1}, std::pair{4, 3}, std::pair{2, 4}}) {
      for (const auto reach : {choose::ReachLimit::any, choose::ReachLimit::staged}) {
        choose::Settings settings;
        settings.helpers = helpers;
        settings.reach = reach;
        settings.slots = choose::Stores::cached;  // no trial, which a slow thread leaves before its partner
        settings.first_ticket = (std::uint64_t{1} << 46) - 20;  // old lines are forgotten on the way
        const std::string wrong = run_ranks(kind, callers + helpers, settings, [callers = callers](Communicator& comm) {
          return comm.rank() < callers ? call_at_random(comm, callers, 120, 5) : help(comm);
        });
        EXPECT_EQ(wrong, "") << name_of(kind) << ", " << callers << " callers, " << helpers << " helpers";
      }
    }
  }
}

// An order has no room for a table of blocks, and a helper's slot holds an element of every block.
TEST(Serving, NotEveryReduceScatterIsServed) {
  const engine::Combine combine = engine::predefined(COPSE_SUM, COPSE_INT64);
  Arguments arguments{.collective = Collective::reduce_scatter, .count = 1, .element_bytes = 8, .combine = &combine};
  EXPECT_TRUE(Communicator::can_serve(arguments, 8192));
  EXPECT_FALSE(Communicator::can_serve(arguments, 8193));
  arguments.ragged = true;
  EXPECT_FALSE(Communicator::can_serve(arguments, 2));
  arguments = {.collective = Collective::allreduce, .count = 1, .element_bytes = 8, .combine = &combine};
  EXPECT_TRUE(Communicator::can_serve(arguments, 8193));
}

// Returns the lanes beside a communicator that was made for several streams.
std::vector<std::unique_ptr<Communicator>> lanes_of(Communicator& comm) {
  std::vector<std::unique_ptr<Communicator>> lanes;
  std::string why_not;
  while (auto lane = comm.lane(why_not)) lanes.push_back(std::move(lane));
  return lanes;
}

// Callers make calls at random in all streams at a time.
TEST(Serving, StreamsAtRandom) {
  for (const Kind kind : kKinds) {
    for (const auto& [callers, helpers] : {std::pair{2, 1}, std::pair{3, 2}}) {
      choose::Settings settings;
      settings.helpers = helpers;
      settings.streams = choose::kServedStreams;
      settings.slots = choose::Stores::cached;
      const auto body = [callers = callers](Communicator& comm) -> std::string {
        std::vector<std::unique_ptr<Communicator>> lanes = lanes_of(comm);
        if (lanes.size() != std::size_t{choose::kServedStreams - 1}) return std::to_string(lanes.size()) + " lanes";
        if (comm.rank() < callers) {
          std::vector<std::string> wrong(lanes.size());
          std::vector<std::thread> threads;
          for (std::size_t i = 0; i < lanes.size(); ++i)
            threads.emplace_back([&, i] { wrong[i] = call_at_random(*lanes[i], callers, 60, static_cast<unsigned>(i)); });
          const std::string of_first = call_at_random(comm, callers, 60, 5);
          for (std::thread& thread : threads) thread.join();
          for (const std::string& one : wrong)
            if (!one.empty()) return one;
          return of_first;
        }
        const auto is_over = [](auto& served) { return served.first->serve(served.second) == Communicator::Served::ended; };
        std::vector<std::pair<Communicator*, std::shared_ptr<communicator::Job>>> left{{&comm, Communicator::make_job()}};
        for (const auto& lane : lanes) left.emplace_back(lane.get(), Communicator::make_job());
        while (!left.empty()) std::erase_if(left, is_over), std::this_thread::yield();
        return {};
      };
      EXPECT_EQ(run_ranks(kind, callers + helpers, settings, body), "") << name_of(kind) << ", " << callers << " callers";
    }
  }
}

std::string end_a_barrier(Communicator& comm, Outcome expected) {
  const auto job = Communicator::make_job();
  comm.start(job, {.collective = Collective::barrier, .element_bytes = 0});
  const Outcome outcome = comm.wait(*job);
  return outcome == expected ? "" : "a call ends as " + comm.explain(outcome, job.get());
}

// The helper must leave, and must not be waited for.
TEST(Serving, TheFirstCallerRefusesItsLastCallsAndLeaves) {
  for (const Kind kind : kKinds) {
    for (const int late : {0, 1}) {
      choose::Settings settings;
      settings.helpers = 1;
      settings.slots = choose::Stores::cached;
      const auto body = [late](Communicator& comm) -> std::string {
        if (comm.rank() == 2) return help(comm);
        std::string wrong = end_a_barrier(comm, Outcome::done);
        if (comm.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        for (int call = 0; call < 2 && wrong.empty(); ++call) {
          if (comm.rank() == 0) comm.refuse(comm.pass(false));
          else wrong = end_a_barrier(comm, Outcome::refused);
        }
        return wrong;
      };
      EXPECT_EQ(run_ranks(kind, 3, settings, body), "") << name_of(kind) << ", rank " << late << " is late";
    }
  }
}

// Rank 1 refuses only the first of two calls that rank 0 refuses, and comes back for the second one. Rank 2 comes last.
TEST(Serving, ACallerComesBackWhenTheHelperHasLeft) {
  for (const Kind kind : kKinds) {
    choose::Settings settings;
    settings.helpers = 1;
    settings.slots = choose::Stores::cached;
    const auto body = [](Communicator& comm) -> std::string {
      if (comm.rank() == 3) return help(comm);
      std::string wrong = end_a_barrier(comm, Outcome::done);
      if (comm.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(60));
      for (int call = 0; call < 2 && wrong.empty(); ++call) {
        if (comm.rank() == 0 || (comm.rank() == 1 && call == 0)) comm.refuse(comm.pass(false));
        else wrong = end_a_barrier(comm, Outcome::refused);
      }
      return wrong;
    };
    EXPECT_EQ(run_ranks(kind, 4, settings, body), "") << name_of(kind);
  }
}

// The first caller's broadcast needs no answer. It is the last thing that this caller does, before a call that it refuses.
TEST(Serving, AHelperOfManyDoesWhatTheFirstCallerOrderedLast) {
  constexpr int kCallers = 13;
  for (const int helpers : {1, 3}) {
    choose::Settings settings;
    settings.helpers = helpers;
    settings.reach = choose::ReachLimit::staged;
    settings.slots = choose::Stores::cached;
    const auto body = [](Communicator& comm) -> std::string {
      if (comm.rank() >= kCallers) return help(comm);
      std::string wrong = end_a_barrier(comm, Outcome::done);
      if (comm.rank() != 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      std::vector<int> values(500, comm.rank() == 0 ? 7 : 0);
      const auto job = Communicator::make_job();
      comm.start(job, {.collective = Collective::broadcast,
                       .input = values.data(),
                       .output = values.data(),
                       .count = values.size() * sizeof values[0]});
      if (const Outcome outcome = comm.wait(*job); outcome != Outcome::done) return comm.explain(outcome, job.get());
      if (values.back() != 7) return "a wrong value";
      if (comm.rank() == 0) comm.refuse(comm.pass(false));
      else wrong = end_a_barrier(comm, Outcome::refused);
      return wrong;
    };
    for (int turn = 0; turn < 5; ++turn) EXPECT_EQ(run_ranks(Kind::threads, kCallers + helpers, settings, body), "");
  }
}

}  // namespace
}  // namespace copse::test
