// The tree of service, and what callers and helpers do.
#include "algorithms/patterns/serving.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <utility>

#include "algorithms/patterns/sums.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

namespace {

constexpr int kUp = 0, kDown = 1, kOver = 2, kExchange = 3;  // areas

// Deals `callers` out to `helpers`, in runs of neighbours that differ by at most one in length.
void deal(std::vector<int>& helper_of, const std::vector<int>& callers, const std::vector<int>& helpers) {
  const std::size_t used = std::min(helpers.size(), callers.size());
  for (std::size_t i = 0; i < callers.size(); ++i)
    helper_of[static_cast<std::size_t>(callers[i])] = helpers[i * used / callers.size()];
}

// Returns the helper of every caller.
std::vector<int> assignment(const Request& request) {
  struct Node {
    std::vector<int> callers, helpers;
  };
  const auto nodes = request.shared->nodes();
  std::map<std::int32_t, Node> all;
  std::vector<int> helpers, orphans;
  for (int rank = 0; rank < request.ranks; ++rank) {
    Node& node = all[nodes.empty() ? 0 : nodes[static_cast<std::size_t>(rank)]];
    (rank < request.callers() ? node.callers : node.helpers).push_back(rank);
    if (rank >= request.callers()) helpers.push_back(rank);
  }
  std::vector<int> result(static_cast<std::size_t>(request.callers()));
  for (const auto& [number, node] : all) {
    if (!node.helpers.empty()) {
      deal(result, node.callers, node.helpers);
    } else {
      orphans.insert(orphans.end(), node.callers.begin(), node.callers.end());
    }
  }
  std::sort(orphans.begin(), orphans.end());
  deal(result, orphans, helpers);
  return result;
}

// Returns the helpers that are needed, by their first callers.
std::vector<int> members_of(const std::vector<int>& helper_of) {
  std::vector<int> members;
  for (const int helper : helper_of)
    if (std::find(members.begin(), members.end(), helper) == members.end()) members.push_back(helper);
  return members;
}

void hang_callers(shape::Tree& tree, const std::vector<int>& helper_of) {
  for (std::size_t caller = 0; caller < helper_of.size(); ++caller) {
    tree.parent[caller] = helper_of[caller];
    tree.children[static_cast<std::size_t>(helper_of[caller])].push_back(static_cast<int>(caller));
  }
}

shape::Tree make_serving_tree(const Request& request) {
  const std::vector<int> helper_of = assignment(request), members = members_of(helper_of);
  const int top = helper_of[static_cast<std::size_t>(request.root)];
  shape::Tree tree = shape::unlinked(request.ranks, top);
  const auto root = static_cast<std::size_t>(std::find(members.begin(), members.end(), top) - members.begin());
  shape::link(tree, {shape::Form::k_nomial, request.radix}, members, root);
  hang_callers(tree, helper_of);
  return tree;
}

// The first 2^n helpers are tops, and each of the others hangs below one of them.
shape::Tree make_serving_forest(const Request& request) {
  const std::vector<int> helper_of = assignment(request), members = members_of(helper_of);
  const std::size_t tops = std::bit_floor(members.size());
  shape::Tree tree = shape::unlinked(request.ranks, members.front());
  for (std::size_t i = tops; i < members.size(); ++i) {
    const int above = members[i - tops];
    tree.parent[static_cast<std::size_t>(members[i])] = above;
    tree.children[static_cast<std::size_t>(above)].push_back(members[i]);
  }
  hang_callers(tree, helper_of);
  return tree;
}

std::vector<int> tops_of(const shape::SurveyedTree& forest, const Request& request) {
  std::vector<int> result;
  for (int helper = request.callers(); helper < request.ranks; ++helper) {
    const auto at = static_cast<std::size_t>(helper);
    if (forest.parent[at] == shape::kNoParent && !forest.children[at].empty()) result.push_back(helper);
  }
  return result;
}

}  // namespace

const shape::SurveyedTree& serving_tree(const Request& request) {
  return request.shared->tree({"serving", {request.radix, request.root, request.helpers}},
                              [&] { return shape::SurveyedTree(make_serving_tree(request)); });
}

const shape::SurveyedTree& serving_forest(const Request& request) {
  return request.shared->tree({"serving forest", {request.helpers}},
                              [&] { return shape::SurveyedTree(make_serving_forest(request)); });
}

plan::Plan combine_for_all(const Request& request) {
  Builder builder = request.builder();
  const shape::SurveyedTree& forest = serving_forest(request);
  const Service service(builder, request, forest);
  if (service.is_caller()) {
    service.call(true, true);
  } else if (!service.is_idle()) {
    builder.loop();
    if (service.is_top()) {
      service.combine_and_exchange(tops_of(forest, request));
    } else {
      service.combine_up();
      builder.lag(kLag);
      service.pass_down();
    }
    service.release();
  }
  return builder.finish();
}

// Helpers keep values in slots, unless they are in a line.
Service::Service(Builder& builder, const Request& request, const shape::SurveyedTree& tree)
    : builder_(builder), tree_(tree), rank_(request.rank), callers_(request.callers()) {
  const Traits& traits = traits_of(request.collective);
  if (traits.moves_data) builder.keep_in_slots();
  if (traits.has_blocks()) whole_ = request.block(0, callers_);
  scatters_ = traits.output == plan::Extent::own;
  builder.pack(whole_.count);
  const auto me = static_cast<std::size_t>(rank_);
  parent_ = tree.parent[me];
  below_ = tree.children[me];
  std::sort(below_.begin(), below_.end());
  for (const int rank : below_) {
    const bool has_it = traits.one_buffer && rank == request.root;
    if (rank < callers_ ? traits.has_output(rank, request.root) && !has_it : !traits.output_at_root) takers_.push_back(rank);
  }
}

// Tells whether a caller and its helper reach each other's buffers where they lie.
bool Service::in_place(int other) const { return builder_.puts(other); }

// Returns which parts of a result these ranks get, together with all ranks below them.
std::vector<Range> Service::parts_for(std::vector<int> ranks) const {
  if (!scatters_) return {whole_};
  std::vector<int> callers;
  while (!ranks.empty()) {
    const int rank = ranks.back();
    ranks.pop_back();
    if (rank < callers_) callers.push_back(rank);
    const auto& below = tree_.children[static_cast<std::size_t>(rank)];
    ranks.insert(ranks.end(), below.begin(), below.end());
  }
  return runs_of(std::move(callers), callers_);
}

// Gives ranks their parts of what lies in that place.
void Service::give_parts(int area, const std::vector<Parcel>& given, Operand place) const {
  std::vector<int> readers;
  std::vector<Operand> parts;
  for (const Parcel& parcel : given) {
    readers.insert(readers.end(), parcel.blocks.size(), parcel.rank);
    for (const Range& part : parcel.blocks) parts.push_back(plan::part_of(place, part));
  }
  builder_.post(area, readers, parts);
}

// Takes these parts of what a helper gives. Returns an operand for all of it, of which only these parts are there.
Operand Service::take_parts(int area, int from, std::span<const Range> parts, Operand home) const {
  Operand taken;
  for (const Range& part : parts) taken = builder_.take(area, from, Builder::in_slot(part), plan::part_of(home, part), whole_);
  return plan::part_of(taken, whole_);
}

// Returns the takers that wait for a post or a message.
std::vector<int> Service::readers() const {
  std::vector<int> result = takers_;
  std::erase_if(result, [&](int rank) { return rank < callers_ && in_place(rank); });
  return result;
}

void Service::call(bool gives, bool takes) const {
  const std::vector<int> helper{parent_};
  const std::vector<Range> parts{whole_};
  builder_.loop();
  if (gives) builder_.share_input(kUp, helper, parts);
  if (in_place(parent_)) {
    if (takes) builder_.expose_output();
    builder_.once();
    builder_.await_signal(kOver, parent_);
  } else if (takes) {
    builder_.lag(gives ? kLag : 0);
    for (const Range& mine : parts_for({rank_}))
      builder_.bring(kDown, parent_, Builder::in_slot(mine), Builder::output(mine), whole_);
  }
}

void Service::combine(Operand place) const {
  std::vector<Fetch> items;
  for (const int rank : below_) {
    const int home = items.empty() ? 2 : 0;  // the first message waits for the second
    items.emplace_back([this, rank, home] {
      if (rank < callers_) return builder_.take_part(kUp, rank, whole_, scratch(home));
      return builder_.take(kUp, rank, in_slot(), scratch(home));
    });
  }
  fold(builder_, place, items, 0);
}

void Service::combine_up() const {
  if (is_top()) {
    const Operand place = open_down();
    combine(place);
    return let_go(place);
  }
  const std::vector<int> up{parent_};
  const Operand place = builder_.open(kUp, up, in_slot());
  combine(place);
  builder_.post(kUp, up, place);
}

void Service::combine_and_exchange(std::span<const int> tops) const {
  if (tops.size() == 1) return combine_up();
  const auto here = static_cast<std::size_t>(std::find(tops.begin(), tops.end(), rank_) - tops.begin());
  Builder::need_areas(kExchange + std::bit_width(tops.size()) - 1);
  Operand low, high;  // what this rank has, still in two parts
  std::vector<Range> needed;  // of that
  // Returns what a top must have once it has exchanged with those nearer than `distance`: what it still gives to others, and what
  // those below it get.
  const auto needs = [&](std::size_t top, std::size_t distance) {
    std::vector<int> served;
    for (std::size_t other = top % distance; other < tops.size(); other += distance) served.push_back(tops[other]);
    return parts_for(std::move(served));
  };
  const auto join_part = [&](Operand place, const Range& part) {
    builder_.reduce(plan::part_of(place, part), plan::part_of(low, part), plan::part_of(high, part));
  };
  const auto join = [&](Operand place) {
    for (const Range& part : needed) join_part(place, part);
  };
  int area = kExchange;
  for (std::size_t distance = 1; distance < tops.size(); distance *= 2, ++area) {
    const int partner = tops[here ^ distance];
    const Operand place = builder_.open(area, {&partner, 1}, in_slot());
    if (distance == 1) {
      combine(place);
    } else {
      join(place);
    }
    give_parts(area, {{partner, needs(here ^ distance, 2 * distance)}}, place);
    needed = needs(here, 2 * distance);
    low = place;
    high = take_parts(area, partner, needed, scratch(0));
    if ((here & distance) != 0) std::swap(low, high);
  }
  if (scatters_ && readers().empty()) {  // each part has one taker, and is written where that wants it
    for (const int rank : takers_)
      for (const Range& part : parts_for({rank})) join_part(builder_.output_of(rank), part);
    return;
  }
  const Operand place = open_down();
  join(place);
  let_go(place);
}

// Opens a place for what the takers get. It is a scratch if none of them waits for a post.
Operand Service::open_down() const {
  const std::vector<int> to = readers();
  return to.empty() ? scratch(1) : builder_.open(kDown, to, in_slot());
}

// Lets the takers have their parts of what lies in that place.
void Service::let_go(Operand place) const {
  std::vector<Parcel> given;
  for (const int rank : readers()) given.push_back({rank, parts_for({rank})});
  if (!given.empty()) give_parts(kDown, given, place);
  for (const int rank : takers_) {
    if (rank >= callers_ || !in_place(rank)) continue;
    for (const Range& part : parts_for({rank})) builder_.copy(builder_.output_of(rank, part), plan::part_of(place, part));
  }
}

void Service::deliver(Operand value) const {
  if (takers_.empty()) return;
  const Operand place = open_down();
  for (const Range& part : parts_for({rank_})) builder_.copy(plan::part_of(place, part), plan::part_of(value, part));
  let_go(place);
}

void Service::pass_down() const {
  const Operand value = take_parts(kDown, parent_, parts_for({rank_}), scratch(1));
  if (readers().empty()) return let_go(value);
  deliver(value);
}

void Service::release() const {
  std::vector<int> released = below_;
  std::erase_if(released, [&](int rank) { return rank >= callers_ || !in_place(rank); });
  if (released.empty()) return;
  builder_.once();
  builder_.signal(kOver, released);
}

}  // namespace copse::algorithms
