// Communicators that share a Progress, under the scheduler. Threads, and Copse's own thread, start calls and move them
// on.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "communicator/progress.hpp"
#include "scheduler.hpp"

namespace copse::schedules {

using communicator::Progress;

// A communicator, as far as progress is concerned. A job has several steps, and whoever has the turn takes the next
// one.
class Work final : public Progress::Task {
 public:
  void start(int steps) {
    left = steps;
    over.store(false, std::memory_order_relaxed);
  }
  Progress::Went go_on(bool) override {
    if (throws && left == 1) {
      throws = false;
      throw std::runtime_error("planted");
    }
    if (left == 0) return Progress::Went::over;
    ++data;
    if (--left > 0) return Progress::Went::on;
    over.store(true, std::memory_order_release);
    return Progress::Went::over;
  }

  int left = 0, data = 0;  // belong to whoever has the turn, or to the owner if nothing is under way
  bool throws = false;
  std::atomic<bool> over{true};
};

class Turns {
 public:
  enum class Kind { threads, thread_of_copse, watched, exception };
  explicit Turns(Kind kind, int threads) : kind_(kind), works_(static_cast<std::size_t>(threads)) {
    progress_.set_crowded();
    for (auto& work : works_) work = std::make_unique<Work>();
  }
  void set_up(Execution& execution) {
    for (std::size_t i = 0; i < works_.size(); ++i) {
      execution.watch(&works_[i]->left, 2 * sizeof(int), "a communicator");
      execution.actor([this, i] { run(i); });
    }
    execution.afterwards([this] { return progress_.any() ? std::string("something is left in the list") : std::string{}; });
  }

 private:
  void run(std::size_t number) {
    Work& work = *works_[number];
    const bool helped = kind_ == Kind::thread_of_copse, alone = helped || kind_ == Kind::watched;
    if (alone && !(helped ? progress_.ask_for_help() : progress_.watch())) complain("no thread");
    for (int job = 1; job <= 2; ++job) {
      work.throws = kind_ == Kind::exception && job == 1;
      try {
        progress_.give(work, [&] { work.start(3); });
        wait(work, alone);
      } catch (const std::runtime_error&) {  // the next call continues the job
        if (!work.over.load(std::memory_order_acquire)) wait(work, alone);
      }
      // A blocking call: Communicator::State::finish_started, then the work without a turn.
      progress_.until([&] {
        progress_.move(work);
        return !work.under_way();
      });
      if (work.left != 0 || work.data != 3 * job + (job - 1)) complain("a job was not run as often as it should");
      work.left = 0;
      ++work.data;
    }
    if (helped) progress_.end_help();
    progress_.remove(work);
    work.data = -1;
    let_go(static_cast<Progress::Task*>(&work), sizeof(Progress::Task));
    if (alone) progress_.dismiss_helper();
  }
  // Waits like Communicator::wait. If `alone`, the program computes instead, and Copse's thread brings the call to its
  // end.
  void wait(Work& work, bool alone) {
    const auto over = [&] { return work.over.load(std::memory_order_acquire); };
    if (alone) {
      while (!over()) sched_yield();
      return;
    }
    while (!over()) {  // like Communicator::test
      progress_.move(work);
      if (!over()) progress_.idle(), sched_yield();
    }
  }

  Kind kind_;
  Progress progress_;
  std::vector<std::unique_ptr<Work>> works_;
};

inline Prepare turns(Turns::Kind kind, int threads) {
  auto kept = std::make_shared<std::unique_ptr<Turns>>();
  return [=](Execution& execution) {
    *kept = std::make_unique<Turns>(kind, threads);
    (*kept)->set_up(execution);
  };
}

}  // namespace copse::schedules
