// Shares resources among flows, and advances them.
#include "price/flows.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace copse::price {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

Flows::Flows() : next_end_(kNever) {}

std::size_t Flows::add_resource(double capacity) {
  capacities_.push_back(capacity);
  return capacities_.size() - 1;
}

void Flows::start(double now, int flow, double bytes, double most, std::vector<std::size_t> resources, Together together) {
  go_to(now);
  if (together.group >= static_cast<int>(members_.size())) members_.resize(static_cast<std::size_t>(together.group) + 1);
  active_.push_back({flow, bytes, most, 0, std::move(resources), std::move(together)});
  share();
}

int Flows::end_next() {
  go_to(next_end_);
  const int number = active_[first_to_end_].number;
  active_[first_to_end_] = std::move(active_.back());
  active_.pop_back();
  share();
  return number;
}

void Flows::go_to(double now) {
  assert(now >= now_);
  for (Flow& flow : active_) flow.left = std::max(0.0, flow.left - flow.rate * (now - now_));
  now_ = now;
}

double Flows::possible(const Flow& flow) const {
  double rate = flow.most;
  for (const auto* list : {&flow.resources, &flow.together.resources})
    for (const std::size_t resource : *list)
      rate = std::min(rate, std::max(0.0, left_[resource]) / static_cast<double>(sharers_[resource]));
  return rate;
}

void Flows::take(const std::vector<std::size_t>& resources, double rate) {
  for (const std::size_t resource : resources) {
    left_[resource] -= rate;
    --sharers_[resource];
  }
}

// Gives rates in rounds. In each round the scarcest resource, or the slowest flow, decides: those flows get their rates, and
// what they take is no longer there for the others. Rates grow from round to round. So a group takes the rate of its last member.
void Flows::share() {
  left_ = capacities_;
  sharers_.assign(capacities_.size(), 0);
  const auto group_of = [](const Flow& flow) { return static_cast<std::size_t>(flow.together.group); };
  for (Flow& flow : active_) {
    flow.rate = -1;
    for (const std::size_t resource : flow.resources) ++sharers_[resource];
    if (flow.together.group >= 0 && members_[group_of(flow)]++ == 0)
      for (const std::size_t resource : flow.together.resources) ++sharers_[resource];
  }
  for (std::size_t given = 0; given < active_.size();) {
    double least = kNever;
    for (const Flow& flow : active_)
      if (flow.rate < 0) least = std::min(least, possible(flow));
    for (Flow& flow : active_) {
      if (flow.rate >= 0 || possible(flow) > least * (1 + 1e-12)) continue;
      flow.rate = least;
      ++given;
      take(flow.resources, least);
      if (flow.together.group >= 0 && --members_[group_of(flow)] == 0) take(flow.together.resources, least);
    }
  }
  next_end_ = kNever;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double end = now_ + (active_[i].left <= 0 ? 0 : active_[i].left / active_[i].rate);
    if (end >= next_end_) continue;
    next_end_ = end;
    first_to_end_ = i;
  }
}

}  // namespace copse::price
