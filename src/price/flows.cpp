// Shares resources among flows, and advances them.
#include "price/flows.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>

namespace copse::price {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9;  // of a time, as a fraction
constexpr double kNothing = 1e-6;  // bytes; flows that end at one time differ by rounding

}  // namespace

Flows::Flows() : next_end_(kNever) {}

std::size_t Flows::add_resource(double capacity) {
  capacities_.push_back(capacity);
  sharing_.left.push_back(0);
  sharing_.fair.push_back(0);
  sharing_.sharers.push_back(0);
  return capacities_.size() - 1;
}

void Flows::start(double now, int flow, double bytes, double most, std::vector<std::size_t> resources, Together together) {
  go_to(now);
  if (together.group >= static_cast<int>(sharing_.members.size()))
    sharing_.members.resize(static_cast<std::size_t>(together.group) + 1);
  active_.push_back({flow, bytes, most, 0, std::move(resources), std::move(together)});
  changed_ = true;
  shared_ = false;
}

int Flows::end_next() {
  go_to(next_end());
  const int number = active_[first_to_end_].number;
  active_[first_to_end_] = std::move(active_.back());
  active_.pop_back();
  changed_ = true;
  shared_ = false;
  return number;
}

void Flows::go_to(double now) {
  if (now < now_ * (1 - kRounding)) throw std::logic_error("the walk goes back in time");
  if (now <= now_) return;
  if (!shared_) share();
  for (Flow& flow : active_) {
    flow.left -= flow.rate * (now - now_);
    if (flow.left < kNothing) flow.left = 0;
  }
  now_ = now;
}

// Tells whether one of these resources is as scarce as that, or the flow itself is as slow.
bool Flows::is_bound_by(const Flow& flow, double rate) const {
  const auto scarce = [&](std::size_t resource) { return sharing_.fair[resource] <= rate; };
  return flow.most <= rate || std::any_of(flow.resources.begin(), flow.resources.end(), scarce) ||
         std::any_of(flow.together.resources.begin(), flow.together.resources.end(), scarce);
}

void Flows::ask_for(const std::vector<std::size_t>& resources) {
  for (const std::size_t resource : resources) {
    if (sharing_.sharers[resource]++ > 0) continue;
    sharing_.left[resource] = capacities_[resource];
    sharing_.wanted.push_back(resource);
  }
}

void Flows::take(const std::vector<std::size_t>& resources, double rate) {
  for (const std::size_t resource : resources) {
    sharing_.left[resource] -= rate;
    --sharing_.sharers[resource];
  }
}

// Gives rates in rounds. In each round the scarcest resource, or the slowest flow, decides: those flows get their rates, and
// what they take is no longer there for the others. Rates grow from round to round. So a group takes the rate of its last member.
void Flows::share() {
  const auto group_of = [](const Flow& flow) { return static_cast<std::size_t>(flow.together.group); };
  sharing_.wanted.clear();
  sharing_.without.clear();
  for (Flow& flow : active_) {
    sharing_.without.push_back(&flow);
    ask_for(flow.resources);
    if (flow.together.group >= 0 && sharing_.members[group_of(flow)]++ == 0) ask_for(flow.together.resources);
  }
  while (!sharing_.without.empty()) {
    double least = kNever;
    for (const Flow* flow : sharing_.without) least = std::min(least, flow->most);
    for (const std::size_t resource : sharing_.wanted) {
      if (sharing_.sharers[resource] == 0) continue;
      sharing_.fair[resource] = std::max(0.0, sharing_.left[resource]) / static_cast<double>(sharing_.sharers[resource]);
      least = std::min(least, sharing_.fair[resource]);
    }
    std::erase_if(sharing_.without, [&](Flow* flow) {
      if (!is_bound_by(*flow, least * (1 + 1e-12))) return false;
      flow->rate = least;
      take(flow->resources, least);
      if (flow->together.group >= 0 && --sharing_.members[group_of(*flow)] == 0) take(flow->together.resources, least);
      return true;
    });
  }
  shared_ = true;
}

void Flows::find_next_end() {
  changed_ = false;
  // What has already come to its end needs no rate.
  const auto over = std::find_if(active_.begin(), active_.end(), [](const Flow& flow) { return flow.left <= 0; });
  if (over != active_.end()) {
    next_end_ = now_;
    first_to_end_ = static_cast<std::size_t>(over - active_.begin());
    return;
  }
  if (!shared_) share();
  next_end_ = kNever;
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const double end = now_ + active_[i].left / active_[i].rate;
    if (end >= next_end_) continue;
    next_end_ = end;
    first_to_end_ = i;
  }
}

}  // namespace copse::price
