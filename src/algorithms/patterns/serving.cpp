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

namespace {

constexpr int kUp = 0, kDown = 1, kOver = 2, kExchange = 3;  // areas
constexpr Operand kInSlot = Builder::in_slot();  // where helpers keep values, unless they are in a line

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

}  // namespace

const shape::SurveyedTree& serving_tree(const Request& request) {
  return request.shared->tree({"serving", {request.radix, request.root, request.helpers}},
                              [&] { return shape::SurveyedTree(make_serving_tree(request)); });
}

const shape::SurveyedTree& serving_forest(const Request& request) {
  return request.shared->tree({"serving forest", {request.helpers}},
                              [&] { return shape::SurveyedTree(make_serving_forest(request)); });
}

Service::Service(Builder& builder, const Request& request, const shape::SurveyedTree& tree)
    : builder_(builder), rank_(request.rank), callers_(request.callers()) {
  builder.keep_in_slots();
  const Traits& traits = traits_of(request.collective);
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

// Returns the takers that wait for a post or a message.
std::vector<int> Service::readers() const {
  std::vector<int> result = takers_;
  std::erase_if(result, [&](int rank) { return rank < callers_ && in_place(rank); });
  return result;
}

void Service::call(bool gives, bool takes) const {
  const std::vector<int> helper{parent_};
  const std::vector<plan::Range> whole(1);
  builder_.loop();
  if (gives) builder_.share_input(kUp, helper, whole);
  if (in_place(parent_)) {
    if (takes) builder_.expose_output();
    builder_.once();
    builder_.await_signal(kOver, parent_);
  } else if (takes) {
    builder_.lag(gives ? kLag : 0);
    builder_.bring(kDown, parent_, kInSlot, Builder::output());
  }
}

void Service::combine(Operand place) const {
  std::vector<Fetch> items;
  for (const int rank : below_) {
    const int home = items.empty() ? 2 : 0;  // the first message waits for the second
    items.emplace_back([this, rank, home] {
      if (rank < callers_) return builder_.take_part(kUp, rank, {}, builder_.scratch(home));
      return builder_.take(kUp, rank, kInSlot, builder_.scratch(home));
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
  const Operand place = builder_.open(kUp, up, kInSlot);
  combine(place);
  builder_.post(kUp, up, place);
}

void Service::combine_and_exchange(std::span<const int> tops) const {
  if (tops.size() == 1) return combine_up();
  const auto here = static_cast<std::size_t>(std::find(tops.begin(), tops.end(), rank_) - tops.begin());
  Builder::need_areas(kExchange + std::bit_width(tops.size()) - 1);
  Operand low, high;  // what this rank has, still in two parts
  int area = kExchange;
  for (std::size_t distance = 1; distance < tops.size(); distance *= 2, ++area) {
    const std::vector<int> partner{tops[here ^ distance]};
    const Operand place = builder_.open(area, partner, kInSlot);
    if (distance == 1) {
      combine(place);
    } else {
      builder_.reduce(place, low, high);
    }
    builder_.post(area, partner, place);
    low = place;
    high = builder_.take(area, partner.front(), kInSlot, builder_.scratch(0));
    if ((here & distance) != 0) std::swap(low, high);
  }
  const Operand place = open_down();
  builder_.reduce(place, low, high);
  let_go(place);
}

// Opens a place for what the takers get. It is a scratch if none of them waits for a post.
Operand Service::open_down() const {
  const std::vector<int> to = readers();
  return to.empty() ? builder_.scratch(1) : builder_.open(kDown, to, kInSlot);
}

// Lets the takers have what lies in that place.
void Service::let_go(Operand place) const {
  if (const std::vector<int> to = readers(); !to.empty()) builder_.post(kDown, to, place);
  for (const int rank : takers_)
    if (rank < callers_ && in_place(rank)) builder_.copy(builder_.output_of(rank), place);
}

void Service::deliver(Operand value) const {
  if (takers_.empty()) return;
  const Operand place = open_down();
  builder_.copy(place, value);
  let_go(place);
}

void Service::pass_down() const {
  const Operand value = builder_.take(kDown, parent_, kInSlot, builder_.scratch(1));
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
