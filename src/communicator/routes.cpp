// Makes decisions, and finds what runs a call.
#include "communicator/routes.hpp"

#include <algorithm>
#include <utility>

#include "choose/chooser.hpp"
#include "communicator/demands.hpp"

namespace copse::communicator {

using algorithms::Collective;

namespace {

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
  situation_.graph = &group.graph;
  executor_ = &executor;
  programs_.begin(group, executor);
  trace_ = &trace;
  const choose::Settings& settings = group.settings;
  if (in_lane || settings.learn == choose::Learn::never || group.ranks == 1 || settings.helpers > 0) return;
  ways_.begin(group, situation_, trace, situation_.mpi, 0);
  look();
}

bool Routes::ask_mpi(bool may, std::uint64_t calls) {
  may = may && situation_.mpi;
  if (may == ways_.asks_mpi()) return false;
  for (auto& of_collective : routes_) of_collective.reset();
  recent_.fill({});
  ways_.begin(*group_, situation_, *trace_, may, calls);
  look();
  return true;
}

choose::Needs Routes::needs_of(const Arguments& arguments) const {
  const bool differ = arguments.ragged && !may_be_alike(arguments);
  const bool strict =
      (demands_of(arguments.combine) & kStrict) != 0 || (algorithms::traits_of(arguments.collective).pairs() && differ);
  const bool alien = situation_.delegates && (demands_of(arguments.combine) & kAlien) != 0;
  return choose::needs_of(arguments.collective, group_->callers(), arguments.element_bytes, strict, alien);
}

bool Routes::is_inexact(const Arguments& arguments) const {
  const bool reorders = group_->settings.learn == choose::Learn::reordering;
  return ways_.learns() && !reorders && (demands_of(arguments.combine) & kInexact) != 0;
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
                   demands_of(arguments.combine),
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
    open(*route, group_->ranks, *trace_);
    at = routes.insert(at, std::move(route));
  }
  Route& route = **at;
  const auto made = [&]() -> const engine::Program& {
    return arguments.permutation != nullptr ? programs_.permuted(route.decision, arguments.permutation, true, modes)
                                            : programs_.of(route.decision, arguments.root, modes);
  };
  const engine::Program* chosen = &made();
  if (group_->kin->conditions.windows_alone &&
      chosen->scratch_shared) {  // peers would reach into scratches, which lie in no window
    const choose::Decision before = route.decision;
    route.decision = choose::choose(group_->settings, situation_, arguments.collective, bytes, needs);
    route.decision.from = std::max(route.decision.from, before.from);
    route.decision.to = std::min(route.decision.to, before.to);
    open(route, group_->ranks, *trace_);
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
  // The ways that kin share are for any graph, and nothing is learned of calls with tables.
  if (ways_.learns() && !algorithms::traits_of(collective).along_edges) {
    ways_.decide(*route, {collective, variant}, bytes);
  } else {
    route->decision = choose::choose(group_->settings, situation_, collective, bytes, needs_in(variant));
  }
  open(*route, group_->ranks, *trace_);
  auto& known = (*of_collective)[variant];
  return **known.insert(first_up_to(known, bytes), std::move(route));
}

void Routes::take(const Learner::Change& change) {
  const Family family = family_of(change.kind);
  const Route& taken = ways_.way(change.kind, change.way);
  if (const auto& of_collective = routes_[static_cast<std::size_t>(family.collective)]) {
    for (const auto& route : (*of_collective)[family.variant]) {
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
        if (route->calls > 0) ways_.lessons().count(route->kind, route->calls, route->bytes);
        route->calls = route->bytes = 0;
      }
    }
  }
}

// A rank that takes blocks goes by their size. If it gives others, it makes them alike (Jobs::make_alike).
std::optional<std::size_t> Routes::alike(const Arguments& arguments) {
  if (!may_be_alike(arguments)) return std::nullopt;
  const bool takes = !group_->graph.givers_to(group_->rank).empty() || group_->graph.has_edge(group_->rank, group_->rank);
  const std::size_t count = largest(takes ? arguments.output_blocks : arguments.input_blocks, group_->ranks);
  if (!find(arguments, count).decision.algorithm->alike()) return std::nullopt;
  return count;
}

Untold* Routes::without_sizes(Collective collective) {
  std::unique_ptr<Untold>& known = without_sizes_[static_cast<std::size_t>(collective)];
  if (!known) {
    const auto decision = choose::without_sizes(group_->settings, situation_, collective);
    if (!decision) return nullptr;
    auto untold = std::make_unique<Untold>();
    untold->route.decision = *decision;
    open(untold->route, group_->ranks, *trace_);
    untold->call.ragged = untold->call.untold = true;
    untold->call.ride_bytes = decision->ride_bytes;
    known = std::move(untold);
  }
  return known.get();
}

const engine::Program& Routes::program(Route& route, int root) {
  const engine::Program*& known = route.by_root[static_cast<std::size_t>(root)];
  if (known != nullptr) return *known;
  known = &programs_.of(route.decision, root);
  return *known;
}

void Routes::forget_programs() {
  const auto forget = [](Route& route) { std::fill(route.by_root.begin(), route.by_root.end(), nullptr); };
  for (Recent& recent : recent_) count(recent);
  recent_.fill({});
  for (const auto& of_collective : routes_)
    for (unsigned variant = 0; of_collective && variant < kVariants; ++variant)
      for (const auto& route : (*of_collective)[variant]) forget(*route);
  for (const auto& [kind, ways] : ways_.all())
    for (const auto& way : ways) forget(*way);
  for (const auto& untold : without_sizes_)
    if (untold) forget(untold->route);
  relaxed_.reset();
  programs_.forget();
}

void Routes::set_cut(engine::Call& call, const Route& route) const {
  const choose::Cut cut = choose::cut(executor_->geometry().slots, route.decision, call.count, call.element_bytes);
  call.fragment_count = cut.fragment_count;
  call.slot_class = cut.slot_class;
  call.ride_bytes = route.decision.ride_bytes;
}

}  // namespace copse::communicator
