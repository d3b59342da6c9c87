// Whole communicators under the scheduler: ranks that join, start calls, run others and wait, each rank in an order of its own.
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

// Each rank has so many communicators, all of which share its Progress, and does `body` with them.
class Ranks {
 public:
  using Body = std::function<std::string(Communicators &)>;
  Ranks(int ranks, int communicators, Body body) : body_(std::move(body)) {
    for (int i = 0; i < communicators; ++i) meetings_.push_back(std::make_unique<communicator::Meeting>(ranks));
    settings_.topology = "core:4 pu:1";
    settings_.slots = choose::SlotStores::cached;  // no trial
  }
  void set_up(Execution &execution) {
    for (int rank = 0; rank < meetings_.front()->ranks(); ++rank) execution.actor([this, rank] { run(rank); });
  }

 private:
  void run(int rank) {
    const auto progress = std::make_shared<communicator::Progress>();
    Communicators comms;
    for (const auto &meeting : meetings_) {
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

inline Prepare ranks(int count, int communicators, const Ranks::Body &body) {
  auto kept = std::make_shared<std::unique_ptr<Ranks>>();
  return [=](Execution &execution) {
    *kept = std::make_unique<Ranks>(count, communicators, body);
    (*kept)->set_up(execution);
  };
}

}  // namespace copse::schedules
