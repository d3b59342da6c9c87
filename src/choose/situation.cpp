// What is true of a call, and the names of it.
#include "choose/situation.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace copse::choose {
namespace {

using algorithms::Collective;

// Returns what slots cost for each byte that the kernel would copy instead. In a broadcast, gather or scatter one side
// writes slots while the other reads them. In other collectives each rank does both. Two ranks that each reduce half of
// a message read all of it and write half.
float cost_by_slots(const CopyCosts& costs, Collective collective) {
  const float slower = std::max(costs.write, costs.read);
  switch (collective) {
    case Collective::broadcast: return 2 * slower;
    case Collective::gather:
    case Collective::scatter: return slower;
    case Collective::allreduce: return costs.write / 2 + costs.read;
    default: return costs.write + costs.read;
  }
}

// Costs are measured once, but they change when the host moves its processors. Copse follows such a change in how it
// writes slots (engine/slot_stores.hpp), but not in the choice of the kernel's copy. So the kernel must be clearly
// cheaper than slots. If only the giver knows a block's size, no such margin is needed. The choice then gives up no slots that are
// in use, and the giver fills its slot with the whole block before anybody reads it.
constexpr float kClearlyCheaper = 0.75F;

bool is_kernel_cheap(const CopyCosts& costs, Collective collective, Needs needs) {
  if (needs.untold) return costs.kernel <= costs.write + costs.read;
  return costs.kernel <= kClearlyCheaper * cost_by_slots(costs, collective);
}

}  // namespace

const char* name_of(Fact fact) {
  constexpr std::array names = {"several nodes",       "several regions", "turns",         "direct memory",    "loads and stores",
                                "a cheap kernel copy", "strict order",    "wide elements", "buffers in reach", "helpers",
                                "places known",        "no wait before"};
  static_assert(names.size() == kFacts);
  return names[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(fact)))];
}

Facts facts_of(const Situation& situation, Collective collective, Needs needs) {
  const bool cheap = is_kernel_cheap(situation.costs, collective, needs);
  unsigned facts = 0;
  const auto add = [&](bool so, Fact fact) { facts |= so ? unsigned{fact} : 0U; };
  add(situation.nodes > 1, kNodes);
  add(situation.nodes > 1 || situation.numa, kRegions);
  add(situation.oversubscribed, kTurns);
  add(situation.direct, kDirect);
  add(situation.direct && situation.addressable, kLoads);
  add(situation.addressable && !situation.direct && cheap, kKernel);
  add(needs.strict, kStrict);
  add(needs.wide, kWide);
  add(situation.addressable, kReach);
  add(situation.helpers > 0, kHelped);
  add(needs.placed, kPlaced);
  add(needs.early, kEarly);
  return static_cast<Facts>(facts);
}

}  // namespace copse::choose
