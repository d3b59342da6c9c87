// How the judge describes the faults that it finds.
#include "analysis/judge.hpp"

namespace copse::analysis {

std::string text_of(const Moment& now) {
  if (now.step != nullptr) return plan::to_text(*now.plan, *now.step);
  return now.plan != nullptr ? "return" : "entry";
}

std::string name_of_place(const plan::Operand& operand, int rank) {
  using plan::Space;
  const std::string owner = std::to_string(operand.rank < 0 ? rank : operand.rank);
  switch (operand.space) {
    case Space::none: return "nothing";
    case Space::input:
    case Space::peer_input: return "input of " + owner;
    case Space::output:
    case Space::peer_output: return "output of " + owner;
    case Space::scratch:
    case Space::peer_scratch: return "scratch." + std::to_string(operand.area) + " of " + owner;
    case Space::line: return "line " + owner + "." + std::to_string(operand.area);
    case Space::slot: return "slot " + owner + "." + std::to_string(operand.area);
    case Space::ride: return "ride " + owner;
  }
  return "?";
}

void Judge::find(Fault fault, const Moment& now, std::string explanation) {
  report_.verdict.findings.push_back(
      {fault, now.rank, text_of(now), static_cast<int>(now.call), now.fragment, std::move(explanation)});
}

// Describes what the rank did at that event. A rank's clock ticks when it enters a call, at every step and when it returns,
// so its plans tell which step it was.
std::string Judge::describe(Epoch event) const {
  std::string text = "rank " + std::to_string(event.rank) + " ";
  Cursor cursor;
  int fragment = 0;
  for (std::int32_t clock = 1;; ++clock) {
    const bool enters = cursor.plan == nullptr;
    fragment = 0;
    const plan::Step* const step = enters ? nullptr : upcoming(cursor, fragment);
    if (clock == event.clock) {
      if (step != nullptr) text.append("'").append(plan::to_text(*cursor.plan, *step)).append("'");
      else text += enters ? "enters" : "returns";
      return text + " (call " + std::to_string(cursor.call) + ", fragment " + std::to_string(fragment) + ")";
    }
    if (step != nullptr) ++cursor.step;
    else cursor = enters ? script_.entered(cursor.call, event.rank) : Cursor{cursor.call + 1};
  }
}

void Judge::find_race(const Moment& now, const std::string& what, bool writes, Epoch other) {
  find(Fault::race, now,
       what + ": " + (writes ? "written" : "read") + " here, and nothing orders this against " + describe(other) +
           "; either rank " + std::to_string(now.rank) + " must learn that it is over, or rank " + std::to_string(other.rank) +
           " must wait for this");
}

void Judge::find_deadlock(const Walk<Judge>& walk) {
  const auto chain = walk.chain();
  std::string text;
  for (const auto& each : chain) {
    text += (text.empty() ? "rank " : "; rank ") + std::to_string(each.moment.rank) + " waits at '" + text_of(each.moment) +
            "' (call " + std::to_string(each.moment.call) + ", fragment " + std::to_string(each.moment.fragment) + ") for rank " +
            std::to_string(each.waits_for);
  }
  text += walk.has_returned(chain.back().waits_for) ? ", which has finished" : ", which closes the circle";
  find(Fault::deadlock, chain.front().moment, text);
}

}  // namespace copse::analysis
