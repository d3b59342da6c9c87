// The rows of rules.def, checked against the registry at compile time.
#include "choose/rules.hpp"

#include <iterator>

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
// Numbers of ranks for which a rank has an area for each round of doubling up. Where ranks are no power of two, an allreduce by
// recursive doubling needs two areas more than it has rounds.
constexpr Bounds doubling{5, std::size_t{1} << plan::kPublishArea}, doubling_allreduce = upto(doubling.to / 2);
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

}  // namespace

std::span<const Rule> rules() { return kRules; }

}  // namespace copse::choose
