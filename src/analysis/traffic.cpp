// Walks through all plans and counts what their steps move, and the chain of their signals.
#include "analysis/traffic.hpp"

#include <algorithm>

#include "analysis/outline.hpp"

namespace copse::analysis {

using plan::Kind;
using plan::Operand;
using plan::Space;
using topology::Level;

namespace {

int owner_of(const Operand& operand, int rank) {
  return operand.space == Space::input || operand.space == Space::output || operand.space == Space::scratch ? rank : operand.rank;
}

// Tells whether the step does nothing: input and output are one memory, and it copies from one to the other.
bool does_nothing(const plan::Step& step, bool one_buffer) {
  const auto own = [](const Operand& operand) { return operand.space == Space::input || operand.space == Space::output; };
  return one_buffer && step.kind == Kind::copy && own(step.dst) && own(step.a) && step.dst2.space == Space::none;
}

class Counter : public Timetable<ChainLength> {
 public:
  Counter(Traffic& traffic, bool one_buffer) : Timetable(traffic.ranks), traffic_(traffic), one_buffer_(one_buffer) {}

  void moves(const Moment& now) {
    const plan::Step& step = *now.step;
    if (does_nothing(step, one_buffer_)) return;
    (step.kind == Kind::copy ? traffic_.copied : traffic_.reduced) += bytes(now, step.a);
    for (const Operand* source : {&step.a, &step.b}) move(now, *source, owner_of(*source, now.rank), now.rank);
    for (const Operand* target : {&step.dst, &step.dst2}) move(now, *target, now.rank, owner_of(*target, now.rank));
  }
  // The data comes from the sender's memory, or from where the wire had it.
  void receives(const Moment& now, std::size_t, std::size_t, const Moment&, double) {
    const Operand& target = now.step->dst;
    if (target.space != Space::none) traffic_.copied += bytes(now, target);
    move(now, target, now.step->peer, now.rank);
  }

  // What a collective of the wire's own moves is not known. This is what it must: each member takes what it lacks from the one
  // before it, and what is combined goes round once more.
  void collects(const Moment& now, const Member& mine, std::span<const Member> members) {
    const Operand& target = now.step->dst;
    if (target.space == Space::none) return;
    const bool sums = plan::delegation_of(*mine.begun.step, now.rank) == plan::Delegation::allreduce;
    const auto me = std::find_if(members.begin(), members.end(), [&](const Member& each) { return each.begun.rank == now.rank; });
    const int before = (me == members.begin() ? members.back() : *(me - 1)).begun.rank;
    const auto count = static_cast<double>(members.size());
    const double moved = bytes(now, target) * (sums ? 2 * (count - 1) / count : 1);
    traffic_.copied += moved;
    traffic_.move(before, now.rank, moved);
  }

 private:
  static double bytes(const Moment& now, const Operand& operand) {
    return now.plan->contents.blocks > 0 ? operand.range.count : static_cast<double>(operand.range.count) / operand.range.of;
  }
  void move(const Moment& now, const Operand& what, int from, int to) {
    if (what.space != Space::none && from != to) traffic_.move(from, to, bytes(now, what));
  }

  Traffic& traffic_;
  bool one_buffer_;
};

}  // namespace

void Traffic::move(int from, int to, double bytes) {
  const auto [number, fresh] = pairs.of(at(from) * at(ranks) + at(to));
  if (fresh) moved.push_back({from, to, 0});
  moved[number].bytes += bytes;
}

double Traffic::across(const topology::Placement& places, Level level) const {
  double sum = 0;
  for (const Flow& flow : moved)
    if (places[at(flow.from)].at(level) != places[at(flow.to)].at(level)) sum += flow.bytes;
  return sum;
}

Traffic traffic_of(const Variant& variant) {
  Traffic traffic;
  traffic.ranks = variant.ranks;
  Counter counter(traffic, algorithms::traits_of(variant.row->collective).one_buffer);
  walk_one_call(variant, counter);
  traffic.steps = static_cast<int>(counter.end());
  return traffic;
}

std::vector<Division> divisions(const topology::Placement& places) {
  std::vector<Division> result;
  using Firsts = std::vector<int>;  // for each rank, the first member of its group
  std::vector<Firsts> known;
  for (const Level level : topology::kAllLevels) {
    const algorithms::Groups division(static_cast<int>(places.size()), &places, level);
    if (division.size() == 1) continue;
    Firsts groups;
    for (int rank = 0; rank < static_cast<int>(places.size()); ++rank) groups.push_back(division.of(rank).front());
    const auto alike = std::find(known.begin(), known.end(), groups);
    if (alike != known.end()) {
      result[static_cast<std::size_t>(alike - known.begin())].name.append(", ").append(level_name(level));
      continue;
    }
    result.push_back({level, std::string(level_name(level))});
    known.push_back(std::move(groups));
  }
  return result;
}

}  // namespace copse::analysis
