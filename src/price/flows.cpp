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

void Flows::start(double now, int flow, double bytes, double most, std::vector<std::size_t> resources) {
  go_to(now);
  active_.push_back({flow, bytes, most, 0, std::move(resources)});
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
  for (Flow &flow : active_) flow.left = std::max(0.0, flow.left - flow.rate * (now - now_));
  now_ = now;
}

// Gives rates in rounds. In each round the scarcest resource, or the slowest flow, decides: those flows get their rates, and
// what they take is no longer there for the others.
void Flows::share() {
  left_ = capacities_;
  sharers_.assign(capacities_.size(), 0);
  for (Flow &flow : active_) {
    flow.rate = -1;
    for (const std::size_t resource : flow.resources) ++sharers_[resource];
  }
  const auto possible = [&](const Flow &flow) {
    double rate = flow.most;
    for (const std::size_t resource : flow.resources)
      rate = std::min(rate, std::max(0.0, left_[resource]) / static_cast<double>(sharers_[resource]));
    return rate;
  };
  for (std::size_t given = 0; given < active_.size();) {
    double least = kNever;
    for (const Flow &flow : active_)
      if (flow.rate < 0) least = std::min(least, possible(flow));
    for (Flow &flow : active_) {
      if (flow.rate >= 0 || possible(flow) > least * (1 + 1e-12)) continue;
      flow.rate = least;
      ++given;
      for (const std::size_t resource : flow.resources) {
        left_[resource] -= least;
        --sharers_[resource];
      }
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
