// Callers and helpers of a communicator that has both, for tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "communicator/communicator.hpp"
#include "engine/combine.hpp"

namespace copse::test {

using algorithms::Collective;
using communicator::Arguments;
using communicator::Communicator;
using engine::Outcome;

inline std::string help(Communicator& comm) {
  const auto job = Communicator::make_job();
  for (Communicator::Served served{}; served != Communicator::Served::ended;) {
    served = comm.serve(job);
    if (served == Communicator::Served::nothing) std::this_thread::yield();
  }
  return {};
}

// One call of a caller, with operands that say to which call they belong. In some calls, some callers refuse to take part.
class Subject {
 public:
  Subject(Communicator& comm, int callers, int number, std::mt19937& common, std::size_t longest, bool refusing)
      : comm_(comm), callers_(callers), number_(number), kind_(static_cast<int>(common() % 5)),
        count_(std::min<std::size_t>(longest, std::array{1U, 7U, 15U, 500U, 3000U, 70000U}[common() % 6])),
        root_(static_cast<int>(common() % callers)), in_place_(common() % 2 == 0),
        refusers_(refusing && common() % 40 == 0 ? common() % (1U << callers) : 0),
        in_(kind_ == 4 ? count_ * static_cast<std::size_t>(callers) : count_), out_(count_, -1) {
    if (refuses()) {
      comm_.refuse(comm_.pass(false));
      return;
    }
    for (std::size_t i = 0; i < in_.size(); ++i) in_[i] = value(comm_.rank(), i);
    combine_ = engine::predefined(COPSE_SUM, COPSE_INT64);
    Arguments arguments{.collective = Collective::barrier, .element_bytes = 0};
    if (kind_ == 1) {
      if (comm_.rank() == root_) out_ = in_;
      arguments = {
          .collective = Collective::broadcast, .input = out_.data(), .output = out_.data(), .count = 8 * count_, .root = root_};
    } else if (kind_ >= 2) {
      if (in_place_) out_ = in_;
      arguments = {.collective = std::array{Collective::reduce, Collective::allreduce, Collective::reduce_scatter}[kind_ - 2U],
                   .input = in_place_ ? out_.data() : in_.data(),
                   .output = out_.data(),
                   .count = count_,
                   .element_bytes = 8,
                   .combine = &combine_,
                   .root = kind_ == 2 ? root_ : 0};
    }
    EXPECT_TRUE(Communicator::can_serve(arguments, callers_));
    comm_.start(job_, arguments);
  }

  std::string end() {
    if (refuses()) return {};
    const Outcome outcome = comm_.wait(*job_);
    if (refusers_ != 0 && outcome == Outcome::refused) return {};
    if (outcome != Outcome::done) return comm_.explain(outcome, job_.get());
    if (refusers_ != 0) return kind_ == 0 || kind_ >= 3 ? "a call without some ranks has a result" : "";
    if (kind_ == 0 || (kind_ == 2 && comm_.rank() != root_)) return {};
    const std::size_t first = kind_ == 4 ? static_cast<std::size_t>(comm_.rank()) * count_ : 0;  // of this rank's block
    for (std::size_t i = 0; i < count_; ++i) {
      std::int64_t expected = value(root_, i);
      for (int rank = 0; kind_ >= 2 && rank < callers_; ++rank) expected = (rank == 0 ? 0 : expected) + value(rank, first + i);
      if (out_[i] != expected)
        return "call " + std::to_string(number_) + " of kind " + std::to_string(kind_) + ", " + std::to_string(count_) +
               " elements, root " + std::to_string(root_) + ", rank " + std::to_string(comm_.rank()) + ": element " +
               std::to_string(i) + " is " + std::to_string(out_[i]) + " instead of " + std::to_string(expected);
    }
    return {};
  }

 private:
  [[nodiscard]] bool refuses() const { return (refusers_ >> comm_.rank() & 1U) != 0; }
  [[nodiscard]] std::int64_t value(int rank, std::size_t i) const {
    return static_cast<std::int64_t>(i) * 7 + 1000 * number_ + (1 << 20) * (rank + 1);
  }

  Communicator& comm_;
  int callers_, number_, kind_;
  std::size_t count_;
  int root_;
  bool in_place_;
  unsigned refusers_;  // a set of ranks
  std::vector<std::int64_t> in_, out_;
  engine::Combine combine_;
  std::shared_ptr<communicator::Job> job_ = Communicator::make_job();
};

// Starts calls at random and ends them in their order, with some of them under way at a time.
inline std::string call_at_random(Communicator& comm, int callers, int calls, unsigned seed, std::size_t longest = 70000,
                                  bool refusing = true) {
  std::mt19937 common(seed), own(seed + static_cast<unsigned>(comm.rank()));
  std::deque<std::unique_ptr<Subject>> started;
  std::string wrong;
  for (int number = 0; number < calls && wrong.empty(); ++number) {
    started.push_back(std::make_unique<Subject>(comm, callers, number, common, longest, refusing));
    while (!started.empty() && wrong.empty() && own() % 3 != 0) {
      wrong = started.front()->end();
      started.pop_front();
    }
  }
  for (; !started.empty() && wrong.empty(); started.pop_front()) wrong = started.front()->end();
  return wrong;
}

}  // namespace copse::test
