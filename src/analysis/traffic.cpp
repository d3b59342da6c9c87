// Counts what the steps of plans move; the chain of signals is the checker's.
#include "analysis/traffic.hpp"

#include <algorithm>
#include <stdexcept>

namespace copse::analysis {

using plan::Kind;
using plan::Operand;
using plan::Space;
using topology::Level;

namespace {

int owner_of(const Operand& operand, int rank) {
  return operand.space == Space::input || operand.space == Space::output || operand.space == Space::scratch
             ? rank
             : operand.rank;
}

// Where input and output are one memory, a copy from one to the other does nothing.
bool does_nothing(const plan::Step& step, bool one_buffer) {
  const auto own = [](const Operand& operand) { return operand.space == Space::input || operand.space == Space::output; };
  return one_buffer && step.kind == Kind::copy && own(step.dst) && own(step.a) && step.dst2.space == Space::none;
}

class Counter {
 public:
  Counter(Traffic& traffic, const plan::Plan& plan) : traffic_(traffic), plan_(plan) {}

  void count(const plan::Step& step) {
    switch (step.kind) {
      case Kind::copy:
      case Kind::reduce:
        (step.kind == Kind::copy ? traffic_.copied : traffic_.reduced) += bytes(step.a);
        for (const Operand* source : {&step.a, &step.b}) move(*source, owner_of(*source, plan_.rank), plan_.rank);
        for (const Operand* target : {&step.dst, &step.dst2}) move(*target, plan_.rank, owner_of(*target, plan_.rank));
        break;
      case Kind::receive:  // from the sender's memory, or wherever the wire had it
        if (step.dst.space != Space::none) traffic_.copied += bytes(step.dst);
        move(step.dst, step.peer, plan_.rank);
        break;
      default:
        break;
    }
  }

 private:
  double bytes(const Operand& operand) const {
    return plan_.contents.blocks > 0 ? operand.range.count
                                     : static_cast<double>(operand.range.count) / operand.range.of;
  }
  void move(const Operand& what, int from, int to) {
    if (what.space == Space::none || from == to) return;
    traffic_.moved[static_cast<std::size_t>(from) * static_cast<std::size_t>(traffic_.ranks) +
                   static_cast<std::size_t>(to)] += bytes(what);
  }

  Traffic& traffic_;
  const plan::Plan& plan_;
};

}  // namespace

double Traffic::from_to(int from, int to) const {
  return moved[static_cast<std::size_t>(from) * static_cast<std::size_t>(ranks) + static_cast<std::size_t>(to)];
}

double Traffic::across(const topology::Placement& places, Level level) const {
  const auto id = [&](int rank) { return places[static_cast<std::size_t>(rank)].at(level); };
  double sum = 0;
  for (int from = 0; from < ranks; ++from)
    for (int to = 0; to < ranks; ++to)
      if (id(from) != id(to)) sum += from_to(from, to);
  return sum;
}

Traffic traffic_of(const Variant& variant) {
  Traffic traffic;
  traffic.ranks = variant.ranks;
  traffic.moved.resize(variant.plans->size() * variant.plans->size());
  const bool one_buffer = algorithms::traits_of(variant.row->collective).one_buffer;
  int depth = 2;
  for (const plan::Plan& plan : *variant.plans) {
    Counter counter(traffic, plan);
    for (const auto& section : plan.sections) {
      depth = std::max(depth, section.max_lag + 1);
      if (section.turns == plan::Turns::but_last) continue;  // what the last one does stands for all
      for (std::uint32_t i = 0; i < section.count; ++i)
        if (const plan::Step& step = plan.steps[section.first + i];
            !does_nothing(step, one_buffer) && step.when != plan::When::rides)  // long messages stay
          counter.count(step);
    }
  }
  const Call call{variant.plans, variant.row->collective, variant.root, variant.row->keeps_order, false, 1};
  const Verdict verdict = check({variant.ranks, variant.nodes, depth, depth, {call}, nullptr}, 1);
  if (!verdict.ok()) throw std::logic_error(variant.name() + ": " + to_text(verdict.findings.front()));
  traffic.steps = verdict.depth;
  return traffic;
}

std::vector<Division> divisions(const topology::Placement& places) {
  std::vector<Division> result;
  using Groups = std::vector<std::size_t>;  // each rank's: its first member
  std::vector<Groups> known;
  for (const Level level : topology::kAllLevels) {
    Groups groups;
    for (const topology::Place& place : places) {
      const auto first = std::find_if(places.begin(), places.end(),
                                      [&](const topology::Place& other) { return other.at(level) == place.at(level); });
      groups.push_back(static_cast<std::size_t>(first - places.begin()));
    }
    if (groups == Groups(places.size())) continue;  // all in one
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
