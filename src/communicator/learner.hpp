// Learning while running: for calls that a program makes often, other ways than the chosen one are tried in its own calls, and the
// fastest is kept.
//
// All ranks must run the same way in the same call, and a rank may refuse a call or pass it on alone. So everything here is a
// function of two things that are the same on all ranks: the number of a call, which counts refused calls, too (refusals.md), and
// what the ranks have agreed on. They agree now and then: an allreduce with MAX over a few words (Words), before a call whose
// number the agreement before has fixed. It tells how long calls took on the slowest rank, and which kind of call takes most of the
// time. What is tried next, and when the ranks agree again, follows from these words alone.
//
// This class knows no memory and no clock, so that a test can play all ranks.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace copse::communicator {

// A kind of call: an index that means the same on all ranks (ways.cpp).
using Kind = std::uint16_t;

// How eagerly ways are tried.
struct Pace {
  std::uint64_t first = 200;  // calls before anything is tried: programs with few calls are left alone
  std::uint64_t window = 16;  // calls in which a way is tried, at first
  double share = 0.01;  // of the time in collectives, for trying and agreeing
  std::uint64_t patience = 2000;  // calls until a way that lost is tried again, at first; up to 8 times as many later
};

class Learner {
 public:
  static constexpr int kWords = 10;
  static constexpr std::size_t kOfCaller = kWords - 1;  // a word that the learner does not use
  using Words = std::array<std::int64_t, kWords>;

  // `ways` returns how many ways a kind of call has. Way 0 is the one that the rules choose. `calls` were made before the learner.
  Learner(Pace pace, std::function<int(Kind)> ways, std::uint64_t calls = 0)
      : pace_(pace), ways_(std::move(ways)), agree_at_(calls + pace.first), agreed_at_(calls) {}

  // Returns the first call before which the learner must be asked.
  [[nodiscard]] std::uint64_t look_at() const { return trial_ ? trial_->begin : agree_at_; }
  // Tells whether the ranks must agree before they make this call. They may agree later, if this call must not wait.
  [[nodiscard]] bool must_agree(std::uint64_t number) const { return number >= agree_at_; }

  // Tells whether ways are tried in this call.
  [[nodiscard]] bool is_on_trial(std::uint64_t number, Kind kind) const {
    return trial_ && trial_->kind == kind && number >= trial_->begin && number < trial_->end;
  }
  // Returns the way for calls outside trials.
  [[nodiscard]] int current(Kind kind) const {
    const auto known = subjects_.find(kind);
    return known == subjects_.end() ? 0 : known->second.current;
  }
  // Returns the way for a call.
  [[nodiscard]] int way(std::uint64_t number, Kind kind) const;
  // Tells how long a call took on this rank.
  void took(std::uint64_t number, Kind kind, int way, double ns);

  // Returns what this rank says in the agreement before call `number`. `spent_ns` is how much time the rank has spent on each kind
  // of call since the last agreement. `last_ns` is how long the last agreement took, including the programs that were made for the
  // trial that it planned.
  [[nodiscard]] Words words(const std::map<Kind, double>& spent_ns, double last_ns, std::uint64_t number) const;

  struct Change {
    Kind kind;
    int before, way;
    double before_ns, now_ns;  // of a call on the slowest rank
  };
  // Learns from what all ranks have said in the agreement before call `number`. Returns the kind of call that runs in another way
  // from this call on, if there is one.
  std::optional<Change> agreed(const Words& all, std::uint64_t number);

  // What is known of a kind of call.
  struct Way {
    double ns = 0;  // of a call on the slowest rank, when it was tried last; 0: never
    int tries = 0, wins = 0;  // wins: the last ones in a row
    std::uint64_t not_before = 0;  // the number of a call
  };
  struct Subject {
    std::vector<Way> ways;
    int current = 0;
    std::uint64_t window = 0, glance = 3;  // calls in the next trial; more after one that had too few calls of this kind
    double share = 0.5;  // the challenger's share of the calls in a duel
    int put_off = 0;  // how often even the longest trial had too few calls
    std::uint64_t not_before = 0;  // the number of the call from which on another trial may follow that
  };
  [[nodiscard]] const std::map<Kind, Subject>& subjects() const { return subjects_; }
  // Returns the time that trying and agreeing has taken, as a part of the time in collectives. The result is 0 if the ranks have
  // not agreed yet.
  [[nodiscard]] double cost() const { return earned_ns_ > 0 ? spent_ns_ / earned_ns_ * pace_.share : 0; }

 private:
  // What a trial does in calls [begin, end) of a kind. In a look the calls run the current way, to see how long it takes now. In a
  // glance they run the challenger, to see whether it is far slower. In a duel they run the current way and the challenger by
  // turns.
  enum class Form : unsigned char { look, glance, duel };
  struct Trial {
    Form form;
    Kind kind;
    int current, challenger;
    std::uint64_t begin, end;
    std::array<std::vector<double>, 2> ns;  // the times of calls on this rank, by the current way and by the challenger
    int challenged = 0;  // calls of the challenger
    double challenged_ns = 0;  // how long these calls took, with all that was made for the first one
    int before = -1;  // the way of the call before
  };

  [[nodiscard]] Subject& subject(Kind kind);
  [[nodiscard]] double worth(Kind kind, double spent_ns, std::uint64_t number) const;
  static void looked(Subject& subject, double ns, std::uint64_t number);
  void put_off(const Trial& trial, std::uint64_t number);
  std::optional<Change> judge(const Words& all, std::uint64_t number);
  std::optional<Change> judge_challenger(const Trial& trial, double ns, bool is_clear, std::uint64_t number);
  [[nodiscard]] static Form form_for(const Subject& subject, int way);
  [[nodiscard]] static double cost_ns(const Subject& subject, int way);
  [[nodiscard]] int next_to_try(const Subject& subject, std::uint64_t number) const;  // -1: none
  [[nodiscard]] bool is_earned(double more_ns) const { return spent_ns_ + more_ns <= earned_ns_; }
  void plan(Kind kind, double each_ns, std::uint64_t number);

  Pace pace_;
  std::function<int(Kind)> ways_;
  std::map<Kind, Subject> subjects_;
  std::optional<Trial> trial_;
  std::uint64_t agree_at_;
  std::uint64_t agreed_at_;  // the call before which the ranks agreed last
  double earned_ns_ = 0, spent_ns_ = 0;  // what may be spent on trying, and what was spent
  double agreement_ns_ = 0;  // what an agreement takes if nothing new is made for it
};

}  // namespace copse::communicator
