// Finds the recorded machine that is most like the ranks' own, and its rows.
#include "choose/recorded.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "choose/registry_names.hpp"
#include "choose/rules.hpp"
#include "shape/hierarchy.hpp"

namespace copse::choose {
namespace {

using algorithms::Collective;
using plan::Carrier;
using topology::Level;

constexpr std::size_t kFewest = 3;  // ranks: for two there are rules that were measured
// The largest distances (Seats::far_from) at which a recorded machine still counts, in thousandths of a factor of two. Inside a
// node, algorithms adapt to the regions that there are. Over nodes, the numbers matter more, so the limit is lower.
constexpr long kFarthest = 2001, kFarthestOverNodes = 1501;

// How ranks reach one another's memory.
enum class Reach : std::uint8_t { staged, kernel, loads };

constexpr Recorded kRecorded[] = {
#define MACHINE(name, packages, regions, caches, cores) {name, "recorded/" name ".def", packages, regions, caches, cores},
#define CLUSTER(name, nodes, packages, regions, caches, ranks) \
  {name, "recorded/" name ".def", packages, regions, caches, ranks, nodes},
#define ROW(...)
#include "choose/recorded.def"
#undef ROW
#undef CLUSTER
#undef MACHINE
};
constexpr int kCount = static_cast<int>(std::size(kRecorded));

// A row of the file, or the line with which a machine's rows begin. The structure is small, because there are many rows.
struct Line {
  std::uint32_t from, to, ranks_from, ranks_to;
  std::int16_t algorithm;
  std::uint16_t number;
  Collective collective;
  Reach reach;
  Carrier carrier;
  std::uint8_t radix;
  Pieces pieces;
};
constexpr std::int16_t kBegins = -1;
constexpr std::uint32_t on = UINT32_MAX;  // no end
constexpr Line kLines[] = {
#define MACHINE(...) {0, 0, 0, 0, kBegins, 0, {}, {}, {}, 0, {}},
#define CLUSTER MACHINE
#define ROW(collective, from, to, ranks_from, ranks_to, reach, algorithm, carrier, radix, pieces)                    \
  {from,                                                                                                             \
   to,                                                                                                               \
   ranks_from,                                                                                                       \
   ranks_to,                                                                                                         \
   static_cast<std::int16_t>(place_of(Collective::collective, #algorithm, Carrier::carrier, radix, Pieces::pieces)), \
   __LINE__,                                                                                                         \
   Collective::collective,                                                                                           \
   Reach::reach,                                                                                                     \
   Carrier::carrier,                                                                                                 \
   radix,                                                                                                            \
   Pieces::pieces},
#include "choose/recorded.def"
#undef ROW
#undef CLUSTER
#undef MACHINE
};

Rule rule_of(const Line& line, const Recorded& where) {
  const auto end = [](std::uint32_t last) { return last == on ? Bounds{}.to : std::size_t{last}; };
  const algorithms::Algorithm& algorithm = algorithms::all()[static_cast<std::size_t>(line.algorithm)];
  const bool reduces = algorithms::traits_of(line.collective).reduces;
  Rule rule;
  rule.collective = line.collective;
  rule.bytes = {line.from, end(line.to)};
  rule.ranks = {line.ranks_from, end(line.ranks_to)};
  if (line.reach != Reach::staged) rule.with = line.reach == Reach::kernel ? kKernel : kLoads;
  rule.without = kTurns | kHelped;
  (where.nodes > 1 ? rule.with : rule.without) |= kNodes;
  if (line.reach == Reach::staged) rule.without |= kLoads;
  if (line.reach == Reach::staged && !reduces) rule.without |= kKernel;  // sums must not depend on what a trial has found
  if (!algorithm.strict()) rule.without |= kStrict;
  if (reduces) rule.without |= kWide;
  rule.algorithm = line.algorithm;
  rule.carrier = line.carrier;
  rule.radix = line.radix;
  rule.pieces = line.pieces;
  rule.line = line.number;
  rule.file = where.file;
  return rule;
}

std::vector<Rule> rules_of(int number) {
  std::vector<Rule> rules;
  int current = -1;
  for (const Line& line : kLines) {
    if (line.algorithm == kBegins) ++current;
    else if (current == number) rules.push_back(rule_of(line, kRecorded[number]));
  }
  return rules;
}

// How far two numbers are apart, in thousandths of a factor of two. The result is a whole number, because all ranks must come to
// the same result, and processors may differ in the last bit of a logarithm.
long apart(double one, double other) { return std::labs(std::lround(1000 * std::log2(one / other))); }

// Tells whether the ranks of each group are neighbours in the order of all ranks.
bool in_blocks(const topology::Placement& places, Level level) {
  int borders = 0;
  for (std::size_t rank = 1; rank < places.size(); ++rank) borders += places[rank - 1].at(level) == places[rank].at(level) ? 0 : 1;
  return borders + 1 == shape::groups(places, level);
}

// Where the ranks sit. far_from() says how much that differs from the seats of as many ranks on a recorded machine, or on several
// nodes of it.
class Seats {
 public:
  explicit Seats(const topology::Placement& places)
      : ranks_(static_cast<int>(places.size())), nodes_(shape::groups(places, Level::node)),
        packages_(shape::groups(places, Level::package)), regions_(shape::groups(places, Level::numa)),
        caches_(shape::groups(places, Level::l3)) {}

  [[nodiscard]] long far_from(const Recorded& other) const {
    const double each = static_cast<double>(ranks_) / nodes_;  // ranks of a node
    const auto unlike = [&](int here, int there) {
      return apart(static_cast<double>(here) / nodes_, std::min<double>(there, each));
    };
    long distance = unlike(packages_, other.packages) + unlike(regions_, other.regions);
    if (nodes_ > 1) return distance + apart(nodes_, other.nodes) + apart(each, other.cores);
    // If there are as many caches as ranks, but fewer regions, the ranks are not bound to caches.
    if (caches_ < ranks_ || regions_ == ranks_) distance += unlike(caches_, other.caches);
    return distance + (ranks_ > other.cores ? apart(ranks_, other.cores) : 0);
  }
  [[nodiscard]] bool on_several_nodes() const { return nodes_ > 1; }

 private:
  int ranks_, nodes_, packages_, regions_, caches_;
};

}  // namespace

std::span<const Recorded> recorded() { return kRecorded; }

int most_like(const topology::Placement& places) {
  if (places.size() < kFewest) return kLikeNone;
  const Seats seats(places);
  // The rows are for ranks in blocks: otherwise a chain of ranks goes to and fro.
  if (!in_blocks(places, seats.on_several_nodes() ? Level::node : Level::numa)) return kLikeNone;
  int best = kLikeNone;
  long nearest = seats.on_several_nodes() ? kFarthestOverNodes : kFarthest;
  for (int number = 0; number < kCount; ++number) {
    if (seats.on_several_nodes() != (kRecorded[number].nodes > 1)) continue;
    const long distance = seats.far_from(kRecorded[number]);
    if (distance >= nearest) continue;
    nearest = distance;
    best = number;
  }
  return best;
}

std::span<const Rule> recorded_rules(int number) {
  if (number < 0 || number >= kCount) return {};
  static std::mutex mutex;
  static auto& known = *new std::array<std::vector<Rule>, kCount>;
  const std::lock_guard lock(mutex);
  std::vector<Rule>& rules = known[static_cast<std::size_t>(number)];
  if (rules.empty()) rules = rules_of(number);
  return rules;
}

bool is_of_ours(const Rule& rule) {
  const auto is_of = [&](const Recorded& where) { return rule.file == where.file; };
  return rule.file == rules().front().file || std::any_of(std::begin(kRecorded), std::end(kRecorded), is_of);
}

}  // namespace copse::choose
