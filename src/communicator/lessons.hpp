// What a communicator's stream of calls does to learn (learner.hpp): it times calls, agrees with the other ranks, and counts on
// which kinds of calls the time goes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "communicator/learner.hpp"

namespace copse::communicator {

class Lessons {
 public:
  // `ways` says how many ways a kind of call has.
  Lessons(Pace pace, std::function<int(Kind)> ways, std::uint64_t calls) : learner_(pace, std::move(ways), calls) {}

  // Calls with lower numbers than look_at() do not need this class.
  [[nodiscard]] std::uint64_t look_at() const { return over_ ? UINT64_MAX : learner_.look_at(); }
  [[nodiscard]] bool must_agree(std::uint64_t number) const { return !over_ && learner_.must_agree(number); }
  [[nodiscard]] bool is_on_trial(std::uint64_t number, Kind kind) const { return !over_ && learner_.is_on_trial(number, kind); }
  [[nodiscard]] int way(std::uint64_t number, Kind kind) const { return learner_.way(number, kind); }

  // Call begin() before a call that is on trial, and end() after it. end() may also follow other calls, for which it does nothing.
  void begin(std::uint64_t number, Kind kind, int way);
  void end(std::uint64_t number);

  // Notes that so many calls of a kind have run. `bytes` is the sum of their bytes.
  void count(Kind kind, std::uint64_t calls, std::uint64_t bytes);

  // Call begin_agreement() before an agreement, and end_agreement() after it. The agreement takes place before call `number`.
  void begin_agreement();
  void end_agreement();
  [[nodiscard]] Learner::Words words(std::uint64_t number);
  std::optional<Learner::Change> agreed(const Learner::Words& all, std::uint64_t number) { return learner_.agreed(all, number); }
  [[nodiscard]] double agreement_seconds() const { return agreement_ns_ / 1e9; }  // how long the last agreement took on this rank
  // Ends all learning.
  void give_up() { over_ = true; }

  [[nodiscard]] const Learner& learner() const { return learner_; }

 private:
  Learner learner_;
  std::map<Kind, double> spent_ns_;  // an estimate of the time that this rank has spent since the last agreement
  std::map<Kind, double> each_ns_;  // the time of one call on this rank
  struct Timed {
    std::uint64_t number = 0;
    Kind kind = 0;
    int way = 0;
    double entry = 0;
  } timed_;
  double agreement_began_ = 0, agreement_ns_ = 0;
  bool over_ = false;
};

}  // namespace copse::communicator
