// What may run calls of a kind, and what was learned, in words and in a file.
#include "communicator/ways.hpp"

#include <algorithm>
#include <cstdio>

#include "choose/alternatives.hpp"
#include "choose/table.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

// A kind of call consists of the collective, the variant and, in the last bits, the place in the decisions by size class. A long
// table may make more decisions than there are places. The decisions beyond that share the last place, for which nothing is
// learned.
constexpr unsigned kClassBits = 8, kLastClass = (1U << kClassBits) - 1;
static_assert(algorithms::kCollectives * kVariants << kClassBits <= 1U << 16, "every kind needs a number");
unsigned number_of(Family family) { return static_cast<unsigned>(family.collective) * kVariants + family.variant; }
Kind kind_of(Family family, std::size_t number) {
  return static_cast<Kind>(number_of(family) << kClassBits | std::min<std::size_t>(number, kLastClass));
}

}  // namespace

Family family_of(Kind kind) {
  const unsigned number = kind >> kClassBits;
  return {static_cast<Collective>(number / kVariants), number % kVariants};
}

void Ways::begin(const Group& group, const choose::Situation& situation, Trace& trace, bool asks_mpi, std::uint64_t calls) {
  group_ = &group;
  situation_ = &situation;
  trace_ = &trace;
  asks_mpi_ = asks_mpi;
  ways_.clear();
  const Pace pace = group.settings.learn == choose::Learn::eagerly ? Pace{4, 8, 1, 32} : Pace{};
  lessons_.emplace(pace, [this](Kind kind) { return static_cast<int>(ways_of(kind).size()); }, calls);
}

void Ways::decide(Route& route, Family family, std::size_t bytes) {
  const auto& classes = classes_of(family);
  const auto at = std::lower_bound(classes.begin(), classes.end(), bytes,
                                   [](const auto& decision, std::size_t size) { return decision.to < size; });
  route.kind = kind_of(family, static_cast<std::size_t>(at - classes.begin()));
  const int current = lessons_->learner().current(route.kind);
  route.decision = current == 0 ? *at : way(route.kind, current).decision;
}

const std::vector<choose::Decision>& Ways::classes_of(Family family) {
  return group_->kin->choices.of(number_of(family), [&] {
    return choose::by_size_class(group_->settings, *situation_, family.collective, needs_in(family.variant));
  });
}

// Returns the ways that may run calls of a kind.
std::vector<choose::Decision> Ways::decisions_of(Kind kind) {
  const Family family = family_of(kind);
  const unsigned number = kind & kLastClass;
  const auto& classes = classes_of(family);
  const choose::Decision& chosen = classes[std::min<std::size_t>(number, classes.size() - 1)];
  if (number == kLastClass) return {chosen};
  choose::Situation situation = *situation_;
  situation.mpi = asks_mpi_;
  return choose::ways(group_->settings, situation, chosen, needs_in(family.variant), inexact_in(family.variant));
}

std::vector<std::unique_ptr<Route>>& Ways::ways_of(Kind kind) {
  std::vector<std::unique_ptr<Route>>& ways = ways_[kind];
  if (!ways.empty()) return ways;
  for (const choose::Decision& decision : decisions_of(kind)) {
    ways.push_back(std::make_unique<Route>());
    ways.back()->decision = decision;
    ways.back()->kind = kind;
    open(*ways.back(), group_->ranks, *trace_);
  }
  return ways;
}

bool Ways::keeps_bits(const choose::Decision& decision) {
  const Collective collective = decision.algorithm->collective;
  if (!algorithms::traits_of(collective).reduces) return true;
  const auto same = [&](const choose::Decision& way) {
    return way.algorithm == decision.algorithm && way.carrier == decision.carrier && way.radix == decision.radix &&
           way.fragment_bytes == decision.fragment_bytes && way.halves == decision.halves && way.outside == decision.outside;
  };
  for (const choose::Needs needs : {choose::Needs{}, {.wide = true}, {.strict = true}, {.strict = true, .wide = true}}) {
    if (needs.strict && !decision.algorithm->strict()) continue;  // the row is not for such calls
    const Family family{collective, variant_of(needs, true)};
    const auto& classes = classes_of(family);
    for (std::size_t number = 0; number < classes.size(); ++number) {
      if (classes[number].to < decision.from || classes[number].from > decision.to) continue;
      const auto safe = decisions_of(kind_of(family, number));
      if (std::none_of(safe.begin(), safe.end(), same)) return false;
    }
  }
  return true;
}

namespace {

std::string name_of(const choose::Decision& decision) {
  if (decision.outside) return "the MPI's own";
  return algorithm_and_carrier(decision) + (decision.radix == 2 ? "" : " with radix " + std::to_string(decision.radix));
}

// Names the calls for which a decision holds.
std::string calls_of(const choose::Decision& decision) {
  return std::string(algorithms::name_of(decision.algorithm->collective)) + " from " + std::to_string(decision.from) + " bytes" +
         (decision.to == choose::Bounds{}.to ? " on" : " to " + std::to_string(decision.to));
}

template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[96];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

}  // namespace

std::string Ways::describe(const Learner::Change& change, std::uint64_t number) {
  const choose::Decision &before = way(change.kind, change.before).decision, &now = way(change.kind, change.way).decision;
  return "learned: " + calls_of(now) + ": " + name_of(before) + " -> " + name_of(now) +
         formatted(", %.2f -> %.2f us", change.before_ns / 1e3, change.now_ns / 1e3) + ", before call " + std::to_string(number);
}

std::vector<std::string> Ways::tried() const {
  std::vector<std::string> lines;
  if (!lessons_) return lines;
  const std::string where = " on " + std::to_string(group_->ranks) + " ranks";
  for (const auto& [kind, subject] : lessons_->learner().subjects()) {
    const auto made = ways_.find(kind);
    if (made == ways_.end()) continue;
    const auto current = static_cast<std::size_t>(subject.current);
    std::string others;
    for (std::size_t i = 0; i < subject.ways.size(); ++i) {
      const Learner::Way& way = subject.ways[i];
      if (i == current || way.tries == 0 || subject.ways[current].ns <= 0) continue;
      others += ", " + name_of(made->second[i]->decision) + formatted(" %.2f times as long", way.ns / subject.ways[current].ns);
    }
    if (others.empty()) continue;
    const choose::Decision& kept = made->second[current]->decision;
    lines.push_back("tried: " + calls_of(kept) + where + ": " + name_of(kept) +
                    formatted(" takes %.2f us", subject.ways[current].ns / 1e3) + others);
  }
  if (!lines.empty())
    lines.push_back(formatted("trying took %.2f %% of the time in calls", 100 * lessons_->learner().cost()) + where);
  return lines;
}

void Ways::save(const std::string& file, const std::string& machine) {
  if (!lessons_) return;
  std::vector<choose::Rule> rules;
  std::vector<std::string> reasons;
  for (const auto& [kind, subject] : lessons_->learner().subjects()) {
    if (subject.current == 0) continue;
    const choose::Decision& learned = way(kind, subject.current).decision;
    if (group_->settings.learn != choose::Learn::reordering && !keeps_bits(learned)) continue;
    rules.push_back(choose::rule_for(learned, *situation_));
    reasons.push_back(formatted("learned: %.2f us; by the rules, %.2f us",
                                subject.ways[static_cast<std::size_t>(subject.current)].ns / 1e3, subject.ways.front().ns / 1e3));
  }
  if (!rules.empty()) choose::add_to_file(file, machine, group_->settings.mpi, rules, reasons);
}

}  // namespace copse::communicator
