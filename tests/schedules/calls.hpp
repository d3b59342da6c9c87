// Whole communicators under the scheduler. Ranks join, start calls, run others and wait, each in its own order.
#pragma once

#include <sys/mman.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../engine/model.hpp"
#include "communicator/communicator.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "scheduler.hpp"

namespace copse::schedules {

using communicator::Communicator;
using Communicators = std::vector<std::unique_ptr<Communicator>>;

// Each rank has several communicators, which share its Progress, and runs `body` with them.
class Ranks {
 public:
  using Body = std::function<std::string(Communicators&)>;
  Ranks(int ranks, int communicators, Body body, int helpers = 0) : body_(std::move(body)) {
    for (int i = 0; i < communicators; ++i) meetings_.push_back(std::make_unique<communicator::Meeting>(ranks));
    settings_.topology = "core:4 pu:1";
    settings_.slots = choose::Stores::cached;  // no trial
    settings_.helpers = helpers;
  }
  void set_up(Execution& execution) {
    for (int rank = 0; rank < meetings_.front()->ranks(); ++rank) execution.actor([this, rank] { run(rank); });
  }

 private:
  void run(int rank) {
    const auto progress = std::make_shared<communicator::Progress>();
    Communicators comms;
    for (const auto& meeting : meetings_) {
      std::string why;
      auto bootstrap = meeting->come(rank, communicator::Deadline::after(1000));
      comms.push_back(Communicator::create(std::move(bootstrap), nullptr, settings_, why, progress));
      if (!comms.back()) complain("rank " + std::to_string(rank) + ": " + why);
    }
    if (const std::string wrong = body_(comms); !wrong.empty()) complain("rank " + std::to_string(rank) + ": " + wrong);
  }

  Body body_;
  choose::Settings settings_;
  std::vector<std::unique_ptr<communicator::Meeting>> meetings_;
};

inline Prepare ranks(int count, int communicators, const Ranks::Body& body, int helpers = 0) {
  auto kept = std::make_shared<std::unique_ptr<Ranks>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Ranks>(count, communicators, body, helpers);
    (*kept)->set_up(execution);
  };
}

using algorithms::Collective;
using test::CallUnderTest;
using test::ModelCall;

inline ModelCall call(Collective collective, int ranks, std::size_t count, std::uint64_t seed, int root = 0) {
  return {collective, ranks, root, &test::operation(0), count, false, false, seed};
}

// Calls with blocks of different sizes, which not all ranks know. The blocks of a rank ride in a line or a slot, or do not ride. Of
// three ranks, only rank 1 gives too much to ride in the last call, and its longest block is longer than any that rank 0 knows of.
inline std::string call_without_sizes(Communicators& comms) {
  Communicator& one = *comms[0];
  std::uint64_t seed = 16;
  for (const std::size_t longest : {30, 200, 2000}) {
    for (const Collective collective : {Collective::gather, Collective::scatter, Collective::alltoall}) {
      ++seed;
      ModelCall ragged = call(collective, one.ranks(), longest, seed, static_cast<int>(seed) % one.ranks());
      ragged.ragged = true;
      if (const std::string wrong = CallUnderTest(one, ragged).run(); !wrong.empty()) return wrong;
    }
  }
  return {};
}

// Persistent calls have lanes. Each rank starts them in its own order, around a blocking call at a different place on
// each rank. Then it frees the lanes, earlier or later than the others, and takes more until the first lanes are
// reused.
inline std::string start_lanes_in_any_order(Communicators& comms) {
  Communicator& one = *comms[0];
  const int ranks = one.ranks(), rank = one.rank();
  // Spare lanes are taken but not used, because two turns together need more lanes than the first block has.
  constexpr std::size_t kLanes = 3, kSpare = 6;
  Communicators kept;
  for (std::uint64_t turn = 0; turn < 3; ++turn) {
    Communicators lanes;
    for (std::size_t i = 0; i < kLanes + kSpare; ++i) {
      std::string why;
      lanes.push_back(one.lane(why));
      if (!lanes.back()) return "no lane: " + why;
    }
    kept.clear();
    for (std::uint64_t again = 0; again < 2; ++again) {
      const std::uint64_t seed = 100 * turn + 10 * again;
      std::vector<std::unique_ptr<CallUnderTest>> calls;
      for (std::size_t i = 0; i < kLanes; ++i) {
        const Collective collective = i == 1 ? Collective::allreduce : Collective::broadcast;
        calls.push_back(std::make_unique<CallUnderTest>(
            *lanes[i], call(collective, ranks, i == 0 ? 3000 : 4, seed + i, static_cast<int>(i) % ranks)));
      }
      const auto nth = [&](std::size_t i) { return (i + static_cast<std::size_t>(rank) + again) % kLanes; };
      for (std::size_t i = 0; i < kLanes; ++i) {
        calls[nth(i)]->start();
        if (i != static_cast<std::size_t>(rank) % kLanes) continue;
        const std::string wrong = CallUnderTest(one, call(Collective::barrier, ranks, 0, 9)).run();
        if (!wrong.empty()) return wrong;
      }
      for (std::size_t i = kLanes; i-- > 0;)
        if (const std::string wrong = calls[(nth(i) + 1) % kLanes]->finish(); !wrong.empty()) return wrong;
    }
    if (rank % 2 == 1) kept = std::move(lanes);  // until this rank has taken others
  }
  return {};
}

}  // namespace copse::schedules
