// Counts the steps of a walk.
#include "analysis/outline.hpp"

#include <algorithm>
#include <stdexcept>

#include "analysis/cases.hpp"

namespace copse::analysis {
namespace {

class Counter : public Timetable<ChainLength> {
 public:
  explicit Counter(int ranks) : Timetable(ranks), steps_(at(ranks)) {}

  void acts(const Moment& now) { ++steps_[at(now.rank)]; }
  [[nodiscard]] const std::vector<std::uint64_t>& steps() const { return steps_; }

 private:
  std::vector<std::uint64_t> steps_;  // by rank
};

}  // namespace

Case one_call(const Variant& variant) {
  int depth = 2;
  for (const plan::Plan& plan : *variant.plans)
    for (const auto& section : plan.sections) depth = std::max(depth, section.max_lag + 1);
  ScriptedCall call = call_of(variant, 1, false);
  // What rides together must ride, or the plan moves nothing.
  if (variant.plans->front().together) call.rides.assign(at(variant.ranks), Ride::slot);
  return {variant.ranks, variant.nodes, depth, depth, {call}, nullptr};
}

void refuse_stuck(const Variant& variant, const Moment& waiting) {
  throw std::logic_error(variant.name() + ": rank " + std::to_string(waiting.rank) + " waits forever at '" +
                         plan::to_text(*waiting.plan, *waiting.step) + "'");
}

Outline outline_of(const Variant& variant) {
  Counter counter(variant.ranks);
  walk_one_call(variant, counter);
  Outline outline;
  for (const std::uint64_t steps : counter.steps()) {
    outline.steps += steps;
    outline.most_steps = std::max(outline.most_steps, steps);
  }
  outline.chain = static_cast<int>(counter.end());
  return outline;
}

}  // namespace copse::analysis
