// Makes decisions and programs.
#include "communicator/routes.hpp"

#include <algorithm>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include "choose/table.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

constexpr std::size_t kPermutedKept = 64;

// A kind of call consists of the collective, the variant and, in the last bits, the place in the decisions by size class. A long
// table may make more decisions than there are places. The decisions beyond that share the last place, for which nothing is
// learned.
constexpr unsigned kClassBits = 8, kLastClass = (1U << kClassBits) - 1;
static_assert(algorithms::kCollectives * kVariants << kClassBits <= 1U << 16, "every kind needs a number");
unsigned place_of(Collective collective, unsigned variant) { return static_cast<unsigned>(collective) * kVariants + variant; }
Kind kind_of(Collective collective, unsigned variant, std::size_t number) {
  return static_cast<Kind>(place_of(collective, variant) << kClassBits | std::min<std::size_t>(number, kLastClass));
}
choose::Needs needs_in(unsigned variant) { return {(variant & 1U) != 0, (variant & 2U) != 0, (variant & 8U) != 0}; }

// Returns the first route of `routes` whose sizes do not end before `bytes`.
auto first_up_to(auto& routes, std::size_t bytes) {
  return std::lower_bound(routes.begin(), routes.end(), bytes,
                          [](const auto& route, std::size_t size) { return route->decision.to < size; });
}

void count(Recent& recent) {
  if (recent.route == nullptr) return;
  recent.route->calls += recent.calls;
  recent.route->bytes += recent.calls * recent.count * recent.element_bytes;
  recent.calls = 0;
}

}  // namespace

void Routes::begin(const Group& group, const engine::Executor& executor, Trace& trace, bool in_lane) {
  group_ = &group;
  situation_ = group.kin->conditions.situation;
  if (group.kin->conditions.windows_alone) situation_.addressable = situation_.anywhere = situation_.direct = false;
  situation_.delegates = situation_.delegates && !in_lane;
  executor_ = &executor;
  trace_ = &trace;
  const choose::Settings& settings = group.settings;
  if (in_lane || settings.learn == choose::Learn::never || group.ranks == 1 || settings.helpers > 0) return;
  learning_.asks_mpi = situation_.mpi;
  begin_lessons(0);
}

void Routes::begin_lessons(std::uint64_t calls) {
  const Pace pace = group_->settings.learn == choose::Learn::eagerly ? Pace{4, 8, 1, 32} : Pace{};
  learning_.lessons.emplace(pace, [this](Kind kind) { return static_cast<int>(ways_of(kind).size()); }, calls);
  look();
}

bool Routes::ask_mpi(bool may, std::uint64_t calls) {
  may = may && situation_.mpi;
  if (may == std::exchange(learning_.asks_mpi, may)) return false;
  learning_.ways.clear();
  for (auto& of_collective : routes_) of_collective.reset();
  recent_.fill({});
  begin_lessons(calls);
  return true;
}

choose::Needs Routes::needs_of(const Arguments& arguments) const {
  const bool strict =
      (order_of(arguments.combine) & kStrict) != 0 || (algorithms::traits_of(arguments.collective).pairs() && arguments.ragged);
  const bool alien = situation_.delegates && (order_of(arguments.combine) & kAlien) != 0;
  return choose::needs_of(arguments.collective, group_->ranks, arguments.element_bytes, strict, alien);
}

bool Routes::is_inexact(const Arguments& arguments) const {
  return learning_.lessons && (order_of(arguments.combine) & kInexact) != 0;
}

void Routes::decide(const Arguments& arguments, Recent& recent) {
  count(recent);
  Route& route = find(arguments, arguments.count);
  recent = recall(arguments, route, program(route, arguments, true));
}

Recent Routes::recall(const Arguments& arguments, Route& route, const engine::Program& chosen) const {
  const algorithms::Traits& traits = algorithms::traits_of(arguments.collective);
  const int root = arguments.permutation == nullptr ? arguments.root : -1;  // -1: the next permutation may be another
  Recent recent = {arguments.count,
                   arguments.element_bytes,
                   root,
                   order_of(arguments.combine),
                   &route,
                   &chosen,
                   {},
                   route.decision.outside,
                   traits.has_input_buffer(group_->rank, arguments.root),
                   traits.has_output(group_->rank, arguments.root),
                   0};
  recent.call.count = arguments.count;
  recent.call.element_bytes = arguments.element_bytes;
  set_cut(recent.call, route);
  return recent;
}

Recent& Routes::relaxed(const Arguments& arguments, plan::Modes modes) {
  if (!relaxed_) relaxed_ = std::make_unique<Relaxed>();
  const auto collective = static_cast<std::size_t>(arguments.collective);
  Recent& known = relaxed_->recent[collective][number_of(modes)];
  if (known.route != nullptr && known.count == arguments.count && known.element_bytes == arguments.element_bytes &&
      known.root == arguments.root)
    return known;
  choose::Needs needs = needs_of(arguments);
  needs.placed = true;
  needs.early = modes.in == plan::Sync::none;
  auto& routes = relaxed_->routes[collective][number_of(modes)];
  const std::size_t bytes = arguments.count * arguments.element_bytes;
  auto at = first_up_to(routes, bytes);
  if (at == routes.end() || (*at)->decision.from > bytes) {
    auto route = std::make_unique<Route>();
    choose::Situation situation = group_->kin->conditions.situation;  // windows can be reached, even where nothing else can
    situation.delegates = situation_.delegates;
    route->decision = choose::choose(group_->settings, situation, arguments.collective, bytes, needs);
    open(*route);
    at = routes.insert(at, std::move(route));
  }
  Route& route = **at;
  const auto made = [&]() -> const engine::Program& {
    return arguments.permutation != nullptr ? permuted(route.decision, arguments.permutation, true, modes)
                                            : program(route.decision, arguments.root, modes);
  };
  const engine::Program* chosen = &made();
  if (group_->kin->conditions.windows_alone &&
      chosen->scratch_shared) {  // peers would reach into scratches, which lie in no window
    const choose::Decision before = route.decision;
    route.decision = choose::choose(group_->settings, situation_, arguments.collective, bytes, needs);
    route.decision.from = std::max(route.decision.from, before.from);
    route.decision.to = std::min(route.decision.to, before.to);
    open(route);
    chosen = &made();
  }
  known = recall(arguments, route, *chosen);
  return known;
}

Route& Routes::find(Collective collective, choose::Needs needs, std::size_t bytes, bool inexact) {
  const unsigned variant = variant_of(needs, inexact);
  const std::unique_ptr<OfCollective>& of_collective = routes_[static_cast<std::size_t>(collective)];
  if (!of_collective) return make(collective, variant, bytes);
  const auto& known = (*of_collective)[variant];
  const auto at = first_up_to(known, bytes);
  return at != known.end() && (*at)->decision.from <= bytes ? **at : make(collective, variant, bytes);
}

Route& Routes::make(Collective collective, unsigned variant, std::size_t bytes) {
  std::unique_ptr<OfCollective>& of_collective = routes_[static_cast<std::size_t>(collective)];
  if (!of_collective) of_collective = std::make_unique<OfCollective>();
  auto route = std::make_unique<Route>();
  if (learning_.lessons) {
    const auto& classes = classes_of(collective, variant);
    const auto at = std::lower_bound(classes.begin(), classes.end(), bytes,
                                     [](const auto& decision, std::size_t size) { return decision.to < size; });
    route->kind = kind_of(collective, variant, static_cast<std::size_t>(at - classes.begin()));
    const int current = learning_.lessons->learner().current(route->kind);
    route->decision = current == 0 ? *at : way(route->kind, current).decision;
  } else {
    route->decision = choose::choose(group_->settings, situation_, collective, bytes, needs_in(variant));
  }
  open(*route);
  auto& known = (*of_collective)[variant];
  return **known.insert(first_up_to(known, bytes), std::move(route));
}

const std::vector<choose::Decision>& Routes::classes_of(Collective collective, unsigned variant) {
  return group_->kin->choices.of(place_of(collective, variant), [&] {
    return choose::by_size_class(group_->settings, situation_, collective, needs_in(variant));
  });
}

std::vector<choose::Decision> Routes::decisions_of(Kind kind) {
  const unsigned place = kind >> kClassBits, variant = place % kVariants, number = kind & kLastClass;
  const auto& classes = classes_of(static_cast<Collective>(place / kVariants), variant);
  const choose::Decision& chosen = classes[std::min<std::size_t>(number, classes.size() - 1)];
  if (number == kLastClass) return {chosen};
  choose::Situation situation = situation_;
  situation.mpi = learning_.asks_mpi;
  return choose::ways(group_->settings, situation, chosen, needs_in(variant), (variant & kInexactly) != 0);
}

std::vector<std::unique_ptr<Route>>& Routes::ways_of(Kind kind) {
  std::vector<std::unique_ptr<Route>>& ways = learning_.ways[kind];
  if (!ways.empty()) return ways;
  for (const choose::Decision& decision : decisions_of(kind)) {
    ways.push_back(std::make_unique<Route>());
    ways.back()->decision = decision;
    ways.back()->kind = kind;
    open(*ways.back());
  }
  return ways;
}

bool Routes::keeps_bits(const choose::Decision& decision) {
  const Collective collective = decision.algorithm->collective;
  if (!algorithms::traits_of(collective).reduces) return true;
  const auto same = [&](const choose::Decision& way) {
    return way.algorithm == decision.algorithm && way.carrier == decision.carrier && way.radix == decision.radix &&
           way.fragment_bytes == decision.fragment_bytes && way.halves == decision.halves && way.outside == decision.outside;
  };
  for (const choose::Needs needs : {choose::Needs{}, {.wide = true}, {.strict = true}, {.strict = true, .wide = true}}) {
    if (needs.strict && !decision.algorithm->strict()) continue;  // the row is not for such calls
    const unsigned variant = variant_of(needs, true);
    const auto& classes = classes_of(collective, variant);
    for (std::size_t number = 0; number < classes.size(); ++number) {
      if (classes[number].to < decision.from || classes[number].from > decision.to) continue;
      const auto safe = decisions_of(kind_of(collective, variant, number));
      if (std::none_of(safe.begin(), safe.end(), same)) return false;
    }
  }
  return true;
}

Route& Routes::way(Kind kind, int number) { return *ways_of(kind)[static_cast<std::size_t>(number)]; }

std::string Routes::describe(const Learner::Change& change, std::uint64_t number) {
  const choose::Decision &before = way(change.kind, change.before).decision, &now = way(change.kind, change.way).decision;
  const auto name = [](const choose::Decision& decision) {
    return decision.outside ? std::string("the MPI's own")
                            : std::string(decision.algorithm->name) + " " + plan::name_of(decision.carrier);
  };
  char times[64];
  std::snprintf(times, sizeof times, "%.2f -> %.2f us", change.before_ns / 1e3, change.now_ns / 1e3);
  return std::string(algorithms::name_of(now.algorithm->collective)) + " from " + std::to_string(now.from) + " bytes" +
         (now.to == choose::Bounds{}.to ? " on" : " to " + std::to_string(now.to)) + ": " + name(before) + " -> " + name(now) +
         ", " + times + ", before call " + std::to_string(number);
}

void Routes::save_lessons(const std::string& file, const std::string& machine) {
  if (!learning_.lessons) return;
  std::vector<choose::Rule> rules;
  std::vector<std::string> reasons;
  for (const auto& [kind, subject] : learning_.lessons->learner().subjects()) {
    if (subject.current == 0) continue;
    const choose::Decision& learned = way(kind, subject.current).decision;
    if (!keeps_bits(learned)) continue;
    rules.push_back(choose::rule_for(learned, situation_));
    char reason[96];
    std::snprintf(reason, sizeof reason, "learned: %.2f us; by the rules, %.2f us",
                  subject.ways[static_cast<std::size_t>(subject.current)].ns / 1e3, subject.ways.front().ns / 1e3);
    reasons.emplace_back(reason);
  }
  if (!rules.empty()) choose::add_to_file(file, machine, group_->settings.mpi, rules, reasons);
}

void Routes::take(const Learner::Change& change) {
  const unsigned place = change.kind >> kClassBits;
  const Route& taken = way(change.kind, change.way);
  if (const auto& of_collective = routes_[place / kVariants]) {
    for (const auto& route : (*of_collective)[place % kVariants]) {
      if (route->kind != change.kind) continue;
      route->decision = taken.decision;
      std::fill(route->by_root.begin(), route->by_root.end(), nullptr);
      route->tally = taken.tally;
    }
  }
  recent_.fill({});
}

void Routes::count_recent() {
  for (Recent& recent : recent_) count(recent);
  for (const auto& of_collective : routes_) {
    if (!of_collective) continue;
    for (const auto& of_variant : *of_collective) {
      for (const auto& route : of_variant) {
        if (route->calls > 0) learning_.lessons->count(route->kind, route->calls, route->bytes);
        route->calls = route->bytes = 0;
      }
    }
  }
}

void Routes::open(Route& route) {
  route.by_root.resize(static_cast<std::size_t>(group_->ranks));
  route.tally = &trace_->ran[{std::string(algorithms::name_of(route.decision.algorithm->collective)),
                              std::string(route.decision.algorithm->name) + " " + plan::name_of(route.decision.carrier)}];
}

Untold* Routes::without_sizes(Collective collective) {
  std::unique_ptr<Untold>& known = without_sizes_[static_cast<std::size_t>(collective)];
  if (!known) {
    const auto decision = choose::without_sizes(group_->settings, situation_, collective);
    if (!decision) return nullptr;
    auto untold = std::make_unique<Untold>();
    untold->route.decision = *decision;
    open(untold->route);
    untold->call.ragged = untold->call.untold = true;
    untold->call.ride_bytes = decision->ride_bytes;
    known = std::move(untold);
  }
  return known.get();
}

engine::Program Routes::prepare(const choose::Decision& decision, int root, algorithms::Permutation permutation,
                                plan::Modes modes) const {
  algorithms::Request request;
  request.rank = group_->rank;
  request.ranks = group_->ranks;
  request.helpers = group_->settings.helpers;
  request.root = root;
  request.permutation = permutation;
  request.graph = &group_->graph;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.modes = modes;
  request.places = &group_->kin->conditions.places;
  engine::Program program = executor_->prepare(decision.algorithm->plan(request));
  if (modes == plan::Modes{}) engine::keep_in_reach(program);  // a rank that refuses a call asks the others' journals
  return program;
}

const engine::Program& Routes::program(Route& route, int root) {
  const engine::Program*& known = route.by_root[static_cast<std::size_t>(root)];
  if (known != nullptr) return *known;
  known = &program(route.decision, root, {});
  return *known;
}

const engine::Program& Routes::program(const choose::Decision& decision, int root, plan::Modes modes) {
  const auto key = std::make_tuple(decision.algorithm, decision.carrier, decision.radix, root, number_of(modes));
  auto at = programs_.find(key);
  if (at == programs_.end()) at = programs_.emplace(key, prepare(decision, root, {}, modes)).first;
  return at->second;
}

const engine::Program& Routes::permuted(const choose::Decision& decision, const int* entries, bool settled, plan::Modes modes) {
  const algorithms::Permutation permutation{entries, static_cast<std::size_t>(group_->ranks)};
  const auto at = std::find_if(permuted_.begin(), permuted_.end(), [&](const Permuted& each) {
    return each.algorithm == decision.algorithm && each.carrier == decision.carrier && each.radix == decision.radix &&
           each.modes == modes &&
           std::equal(permutation.begin(), permutation.end(), each.permutation.begin(), each.permutation.end());
  });
  if (at != permuted_.end()) {
    permuted_.splice(permuted_.begin(), permuted_, at);
    return at->program;
  }
  while (permuted_.size() >= kPermutedKept && settled) permuted_.pop_back();
  return permuted_
      .emplace_front(Permuted{decision.algorithm,
                              decision.carrier,
                              decision.radix,
                              modes,
                              {permutation.begin(), permutation.end()},
                              prepare(decision, 0, permutation, modes)})
      .program;
}

void Routes::forget_programs() {
  const auto forget = [](Route& route) { std::fill(route.by_root.begin(), route.by_root.end(), nullptr); };
  for (Recent& recent : recent_) count(recent);
  recent_.fill({});
  for (const auto& of_collective : routes_)
    for (unsigned variant = 0; of_collective && variant < kVariants; ++variant)
      for (const auto& route : (*of_collective)[variant]) forget(*route);
  for (const auto& [kind, ways] : learning_.ways)
    for (const auto& way : ways) forget(*way);
  for (const auto& untold : without_sizes_)
    if (untold) forget(untold->route);
  relaxed_.reset();
  permuted_.clear();
  programs_.clear();
}

void Routes::set_cut(engine::Call& call, const Route& route) const {
  const choose::Cut cut = choose::cut(executor_->geometry().slots, route.decision, call.count, call.element_bytes);
  call.fragment_count = cut.fragment_count;
  call.slot_class = cut.slot_class;
  call.ride_bytes = route.decision.ride_bytes;
}

}  // namespace copse::communicator
