// What a communicator keeps for its own stream of calls. The files that make it, run calls on it and explain it share this.
#pragma once

#include <cerrno>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

#include "communicator/communicator.hpp"
#include "communicator/group.hpp"
#include "communicator/jobs.hpp"
#include "communicator/progress.hpp"
#include "communicator/routes.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

// Where a communicator's calls run.
struct Seat {
  std::optional<Lane> lane;            // none: the communicator's own stream
  bool keeps_memory = false;           // it is not given back, because calls there have taken tickets without this rank
  std::unique_ptr<engine::Wire> wire;  // wire of the lane
  std::unique_ptr<engine::Executor> executor;
  struct Rest {
    std::uint64_t calls = 0;  // how many there were when the communicator was last asked to rest
    int asked = 0;            // how often since its last call
    bool rests = false;       // it has given memory back since
  } rest;
};
// How a communicator became unusable.
struct Failure {
  Outcome outcome = Outcome::done;  // done: it is sound
  int error = 0;                    // errno at that time
};

struct Communicator::State final : Progress::Task {
  std::shared_ptr<Group> group;
  Seat seat;
  Routes routes;
  Jobs jobs;
  Trace trace;
  int rank = 0, ranks = 1;                   // as in the group
  bool traced = false;                       // as in the group's settings
  std::deque<std::shared_ptr<Job>> started;  // calls that are not over, in order; only the thread that has the turn may look
  std::uint64_t calls = 0;                   // how many calls each rank has made here
  Failure failure;

  ~State() override;
  void begin_in(std::shared_ptr<Group> joined) noexcept;
  bool rest() override;
  [[nodiscard]] const void* whole() const override { return group.get(); }
  [[nodiscard]] engine::Wire* wire() const { return seat.wire ? seat.wire.get() : group->wire.get(); }  // null on one node

  // calls.cpp and started_calls.cpp
  Outcome run(const Arguments& arguments);
  Outcome run_specially(const Arguments& arguments, const Recent& known);
  void agree();
  Outcome run_now(algorithms::Collective collective, const Route& route, const engine::Program& program, const engine::Call& call);
  Outcome run_without_sizes(Untold& untold, const Arguments& arguments);
  Progress::Went go_on(bool helper) override;
  [[nodiscard]] bool is_for_helper(const Job& job) const;
  bool has_ended(const Job& job);
  void count_blocking_call();
  void finish_started();
  Outcome enqueue(const std::shared_ptr<Job>& job);
  // Runs `body`, which returns an Outcome. After an outcome that breaks the communicator, every later call gets the same one.
  template <class Body>
  Outcome attempt(Body&& body);
  Outcome caught();

  // serving.cpp
  void send_helpers_home();
};

template <class Body>
[[gnu::always_inline]] inline Outcome Communicator::State::attempt(Body&& body) {
  if (failure.outcome != Outcome::done) [[unlikely]]
    return failure.outcome;
  Outcome outcome = Outcome::done;
  try {
    outcome = body();
  } catch (...) {
    outcome = caught();
  }
  if (outcome != Outcome::pending && !engine::is_over(outcome)) [[unlikely]] {
    failure = {outcome, errno};
  }
  return outcome;
}

}  // namespace copse::communicator
