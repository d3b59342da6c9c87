// The timetable is the reader of a walk that gives each step a start and an end. A step starts when its rank has ended the
// step before and every signal that it waited for has come. It ends after the time that its cost says. A signal comes when
// the step that gave it has ended and the time that the signal's cost says has passed. Nothing is shared: steps and signals
// do not slow each other down.
//
// If signals cost one and steps cost nothing, the last end is the number of signals on the longest chain that ranks wait for
// (ChainLength).
#pragma once

#include <algorithm>
#include <vector>

#include "analysis/walk.hpp"

namespace copse::analysis {

template <class Cost>  // double step(const Moment&), double signal(const Moment&)
class Timetable : public Quiet {
 public:
  using Mark = double;  // when the signal comes

  explicit Timetable(int ranks, Cost cost = {}) : cost_(cost), ends_(at(ranks)) {}

  [[nodiscard]] double end_of(int rank) const { return ends_[at(rank)]; }  // of the rank's last step
  [[nodiscard]] double end() const { return *std::max_element(ends_.begin(), ends_.end()); }

  void hears(const Moment& now, double mark) { ends_[at(now.rank)] = std::max(ends_[at(now.rank)], mark); }
  void acts(const Moment& now) { ends_[at(now.rank)] += cost_.step(now); }
  double gives(const Moment& now) { return ends_[at(now.rank)] + cost_.signal(now); }

 private:
  Cost cost_;
  std::vector<double> ends_;  // by rank
};

struct ChainLength {
  static double step(const Moment&) { return 0; }
  static double signal(const Moment&) { return 1; }
};

}  // namespace copse::analysis
