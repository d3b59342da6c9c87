// The rows of rules.def, checked against the registry at compile time.
#include "choose/rules.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "choose/registry_names.hpp"

namespace copse::choose {
namespace {

using algorithms::Collective;
using plan::Carrier;

constexpr std::size_t KiB = 1024, MiB = 1024 * KiB, kLine = plan::kLinePayloadBytes;
constexpr Bounds any{};
constexpr Bounds upto(std::size_t most) { return {0, most}; }
constexpr Bounds over(std::size_t less) { return {less + 1}; }
constexpr Bounds between(std::size_t less, std::size_t most) { return {less + 1, most}; }
constexpr Bounds together(std::size_t most) { return {0, most, true}; }

constexpr Rule kRules[] = {
#define RULE(collective, bytes, ranks, with, without, algorithm, carrier, radix, pieces)  \
  {Collective::collective,                                                                \
   bytes,                                                                                 \
   ranks,                                                                                 \
   with,                                                                                  \
   without,                                                                               \
   place_of(Collective::collective, #algorithm, Carrier::carrier, radix, Pieces::pieces), \
   Carrier::carrier,                                                                      \
   radix,                                                                                 \
   Pieces::pieces,                                                                        \
   __LINE__,                                                                              \
   "rules.def",                                                                           \
   0},
#include "choose/rules.def"
#undef RULE
};

constexpr bool is_for_all(const Rule& rule) {
  const auto open = [](const Bounds& bounds) { return bounds.from == 0 && bounds.to == any.to; };
  return open(rule.bytes) && open(rule.ranks) && rule.with == 0 && rule.without == 0;
}

// Tells whether every call has a row that applies. This requires that the rows of a collective stand together, and that the last
// of them, and no other, is for all remaining cases.
consteval bool is_complete() {
  int collectives = 0;
  for (std::size_t i = 0; i < std::size(kRules); ++i) {
    const bool last = i + 1 == std::size(kRules) || kRules[i + 1].collective != kRules[i].collective;
    if (last != is_for_all(kRules[i]) || static_cast<int>(kRules[i].collective) != collectives) return false;
    collectives += last ? 1 : 0;
  }
  return collectives == algorithms::kCollectives;
}
static_assert(is_complete(),
              "rules.def: in the order of collectives, each of which ends with a row for all cases, and has no other");

std::string text_of(const Bounds& bounds, const char* what) {
  const std::string unit = std::string(" ") + what + (bounds.together ? " of all ranks together" : "");
  if (bounds.from == 0 && bounds.to == any.to) return {};
  if (bounds.to == any.to) return "over " + std::to_string(bounds.from - 1) + unit;
  if (bounds.from == 0) return "up to " + std::to_string(bounds.to) + unit;
  return "over " + std::to_string(bounds.from - 1) + " up to " + std::to_string(bounds.to) + unit;
}

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

Bounds Bounds::of_one(int ranks) const {
  if (!together || to == any.to) return *this;
  return {from, to / std::bit_ceil(static_cast<std::size_t>(ranks))};
}

const char* name_of(Pieces pieces) {
  constexpr std::array names = {"whole", "staged", "large", "strips", "fixed"};
  return names[static_cast<std::size_t>(pieces)];
}

std::size_t fragment_bytes_of(const Rule& rule, const Situation& situation) {
  switch (rule.pieces) {
    case Pieces::whole: return 0;
    case Pieces::staged: return (situation.oversubscribed || situation.ranks == 2 ? 64 : 32) * KiB;
    case Pieces::large: return 64 * KiB;
    case Pieces::strips: return 16 * KiB * static_cast<std::size_t>(situation.ranks);
    case Pieces::fixed: return rule.fragment_bytes;
  }
  return 0;
}

std::span<const Rule> rules() { return kRules; }

std::string case_of(const Rule& rule) {
  std::string text;
  const auto add = [&text](const std::string& word) { text += word.empty() || text.empty() ? word : ", " + word; };
  add(text_of(rule.bytes, "bytes"));
  add(text_of(rule.ranks, "ranks"));
  for (int i = 0; i < kFacts; ++i) {
    const auto fact = static_cast<Fact>(1U << static_cast<unsigned>(i));
    if ((rule.with & fact) != 0) add(std::string("with ") + name_of(fact));
    if ((rule.without & fact) != 0) add(std::string("without ") + name_of(fact));
  }
  return text.empty() ? "all else" : text;
}

}  // namespace copse::choose
