// Makes decisions and programs.
#include "communicator/routes.hpp"

#include <algorithm>
#include <string>

namespace copse::communicator {

using algorithms::Collective;

namespace {

constexpr std::size_t kPermutedKept = 64;

// Returns the first route of `routes` whose sizes do not end before `bytes`.
auto first_up_to(auto &routes, std::size_t bytes) {
  return std::lower_bound(routes.begin(), routes.end(), bytes,
                          [](const auto &route, std::size_t size) { return route->decision.to < size; });
}

}  // namespace

void Routes::begin(const Group &group, const engine::Executor &executor, Trace &trace) noexcept {
  group_ = &group;
  executor_ = &executor;
  trace_ = &trace;
}

choose::Needs Routes::needs_of(const Arguments &arguments) const {
  const bool strict = (arguments.combine != nullptr && !arguments.combine->commutative) ||
                      (algorithms::traits_of(arguments.collective).pairs() && arguments.ragged);
  return choose::needs_of(arguments.collective, group_->ranks, arguments.element_bytes, strict);
}

void Routes::decide(const Arguments &arguments, Recent &recent) {
  const choose::Needs needs = needs_of(arguments);
  Route &route = find(arguments.collective, needs, arguments.count * arguments.element_bytes);
  const engine::Program &chosen = program(route, arguments, true);
  const algorithms::Traits &traits = algorithms::traits_of(arguments.collective);
  const int root = arguments.permutation == nullptr ? arguments.root : -1;  // -1: the next permutation may be another
  recent = {arguments.count,
            arguments.element_bytes,
            root,
            needs.strict,
            &route,
            &chosen,
            {},
            route.decision.outside,
            traits.has_input_buffer(group_->rank, arguments.root),
            traits.has_output(group_->rank, arguments.root)};
  recent.call.count = arguments.count;
  recent.call.element_bytes = arguments.element_bytes;
  set_cut(recent.call, route);
}

Route &Routes::find(Collective collective, choose::Needs needs, std::size_t bytes) {
  const std::unique_ptr<OfCollective> &of_collective = routes_[static_cast<std::size_t>(collective)];
  if (!of_collective) return make(collective, needs, bytes);
  const auto &known = (*of_collective)[needs.strict + 2 * needs.wide];
  const auto at = first_up_to(known, bytes);
  return at != known.end() && (*at)->decision.from <= bytes ? **at : make(collective, needs, bytes);
}

Route &Routes::make(Collective collective, choose::Needs needs, std::size_t bytes) {
  std::unique_ptr<OfCollective> &of_collective = routes_[static_cast<std::size_t>(collective)];
  if (!of_collective) of_collective = std::make_unique<OfCollective>();
  auto route = std::make_unique<Route>();
  route->decision = choose::choose(group_->settings, group_->terms.situation, collective, bytes, needs);
  open(*route, collective);
  auto &known = (*of_collective)[needs.strict + 2 * needs.wide];
  return **known.insert(first_up_to(known, bytes), std::move(route));
}

void Routes::open(Route &route, Collective collective) {
  route.by_root.resize(static_cast<std::size_t>(group_->ranks));
  route.tally = &trace_->ran[{std::string(algorithms::name_of(collective)),
                              std::string(route.decision.algorithm->name) + " " + plan::name_of(route.decision.carrier)}];
}

Route *Routes::without_sizes(Collective collective) {
  std::unique_ptr<Route> &known = without_sizes_[static_cast<std::size_t>(collective)];
  if (!known) {
    const auto decision = choose::without_sizes(group_->settings, group_->terms.situation, collective);
    if (!decision) return nullptr;
    auto route = std::make_unique<Route>();
    route->decision = *decision;
    open(*route, collective);
    known = std::move(route);
  }
  return known.get();
}

engine::Program Routes::prepare(const choose::Decision &decision, int root, algorithms::Permutation permutation) const {
  algorithms::Request request;
  request.rank = group_->rank;
  request.ranks = group_->ranks;
  request.root = root;
  request.permutation = permutation;
  request.carrier = decision.carrier;
  request.radix = decision.radix;
  request.places = &group_->terms.places;
  return executor_->prepare(decision.algorithm->plan(request));
}

const engine::Program &Routes::program(Route &route, int root) {
  const engine::Program *&known = route.by_root[static_cast<std::size_t>(root)];
  if (known != nullptr) return *known;
  const choose::Decision &decision = route.decision;
  const auto key = std::make_tuple(decision.algorithm, decision.carrier, decision.radix, root);
  auto at = programs_.find(key);
  if (at == programs_.end()) at = programs_.emplace(key, prepare(decision, root, {})).first;
  known = &at->second;
  return *known;
}

const engine::Program &Routes::permuted(const choose::Decision &decision, const int *entries, bool settled) {
  const algorithms::Permutation permutation{entries, static_cast<std::size_t>(group_->ranks)};
  const auto at = std::find_if(permuted_.begin(), permuted_.end(), [&](const Permuted &each) {
    return each.algorithm == decision.algorithm && each.carrier == decision.carrier && each.radix == decision.radix &&
           std::equal(permutation.begin(), permutation.end(), each.permutation.begin(), each.permutation.end());
  });
  if (at != permuted_.end()) {
    permuted_.splice(permuted_.begin(), permuted_, at);
    return at->program;
  }
  while (permuted_.size() >= kPermutedKept && settled) permuted_.pop_back();
  return permuted_
      .emplace_front(Permuted{decision.algorithm, decision.carrier, decision.radix, {permutation.begin(), permutation.end()},
                              prepare(decision, 0, permutation)})
      .program;
}

void Routes::set_cut(engine::Call &call, const Route &route) const {
  const choose::Cut cut = choose::cut(executor_->geometry().slots, route.decision, call.count, call.element_bytes);
  call.fragment_count = cut.fragment_count;
  call.slot_class = cut.slot_class;
  call.ride_bytes = route.decision.ride_bytes;
}

}  // namespace copse::communicator
