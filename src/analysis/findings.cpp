// What the interpreter says of the faults that it finds.
#include <algorithm>

#include "analysis/interpreter.hpp"

namespace copse::analysis {

std::string Interpreter::step_text(int rank) const {
  if (current_ != nullptr) return plan::to_text(*ranks_[at(rank)].plan, *current_);
  return ranks_[at(rank)].plan != nullptr ? "return" : "entry";
}

void Interpreter::find(Fault fault, int rank, std::string explanation) {
  verdict_.findings.push_back({fault, rank, step_text(rank), static_cast<int>(ranks_[at(rank)].call), current_fragment_,
                               std::move(explanation)});
}

// A rank's clock ticks when it enters a call, at every step and when it returns: so its plans say what it did when.
std::string Interpreter::describe(Epoch event) const {
  std::string text = "rank " + std::to_string(event.rank) + " ";
  Cursor cursor;
  int fragment = 0;
  for (std::int32_t clock = 1;; ++clock) {
    const bool enters = cursor.plan == nullptr;
    fragment = 0;
    const plan::Step* const step = enters ? nullptr : upcoming(cursor, fragment);
    if (clock == event.clock) {
      if (step != nullptr)
        text.append("'").append(plan::to_text(*cursor.plan, *step)).append("'");
      else
        text += enters ? "enters" : "returns";
      return text + " (call " + std::to_string(cursor.call) + ", fragment " + std::to_string(fragment) + ")";
    }
    if (step != nullptr)
      ++cursor.step;
    else
      cursor = enters ? entered(cursor.call, event.rank) : Cursor{cursor.call + 1};
  }
}

void Interpreter::find_race(int rank, const std::string& what, bool writes, Epoch other) {
  find(Fault::race, rank,
       what + ": " + (writes ? "written" : "read") + " here, and nothing orders this against " + describe(other) +
           "; rank " + std::to_string(rank) + " needs to learn that it is over, or rank " + std::to_string(other.rank) +
           " to wait for this");
}

void Interpreter::find_deadlock() {
  // Follow who waits for whom to a rank that has finished, or round a circle.
  int rank = 0;
  while (ranks_[at(rank)].call == calls_.size()) ++rank;
  std::vector<bool> seen(ranks_.size());
  std::string chain;
  const int start = rank;
  const auto select = [&](int which) {
    Rank& me = ranks_[at(which)];
    const plan::Plan& plan = *me.plan;
    const plan::Section& section = plan.sections[me.section];
    current_ = &plan.steps[section.first + me.step];
    current_fragment_ = section.loop ? std::max(me.iteration - current_->lag, 0) : 0;
  };
  while (!seen[at(rank)] && ranks_[at(rank)].call < calls_.size()) {
    seen[at(rank)] = true;
    select(rank);
    const Rank& me = ranks_[at(rank)];
    chain += (chain.empty() ? "rank " : "; rank ") + std::to_string(rank) + " waits at '" + step_text(rank) +
             "' (call " + std::to_string(me.call) + ", fragment " + std::to_string(current_fragment_) + ") for rank " +
             std::to_string(me.waits_for);
    rank = me.waits_for;
  }
  chain += ranks_[at(rank)].call < calls_.size() ? ", and so round" : ", which has finished";
  select(start);
  find(Fault::deadlock, start, chain);
}

}  // namespace copse::analysis
