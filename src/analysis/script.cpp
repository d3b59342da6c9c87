// Finds what a walk needs to know about the plans before the first step.
#include "analysis/script.hpp"

#include <algorithm>
#include <numeric>

namespace copse::analysis {

using plan::Kind;

Script::Script(const Case& subject) : subject_(subject) {
  find_neighbours();
  acts_.reserve(subject.calls.size());
  for (const ScriptedCall& call : subject.calls) {
    const std::size_t cast = cast_for(call);
    acts_.push_back({cast, call.fragments, tickets_, posts_});
    posts_ += casts_[cast].first_portion.back() * at(call.fragments);
    tickets_ += call.fragments;
  }
}

void Script::find_neighbours() {
  by_node_.resize(at(subject_.ranks));
  std::iota(by_node_.begin(), by_node_.end(), 0);
  near_.resize(by_node_.size(), by_node_);
  const auto& nodes = subject_.nodes;
  if (nodes.empty()) return;
  std::stable_sort(by_node_.begin(), by_node_.end(), [&](int a, int b) { return nodes[at(a)] < nodes[at(b)]; });
  for (auto first = by_node_.cbegin(); first != by_node_.cend();) {
    const auto last = std::find_if(first, by_node_.cend(), [&](int rank) { return !subject_.near(*first, rank); });
    for (auto each = first; each != last; ++each) near_[at(*each)] = {first, last};
    first = last;
  }
}

std::size_t Script::cast_for(const ScriptedCall& call) {
  for (std::size_t earlier = 0; earlier < acts_.size(); ++earlier)
    if (subject_.calls[earlier].plans == call.plans) return acts_[earlier].cast;
  Cast& cast = casts_.emplace_back();
  const Replacement* replacement = subject_.replacement;
  const bool spoilt = replacement != nullptr && replacement->in == call.plans.get();
  cast.plans.reserve(call.plans->size());
  for (const plan::Plan& plan : *call.plans) cast.plans.push_back(&plan);
  if (spoilt) cast.plans[at(replacement->rank)] = &replacement->plan;
  cast.first_portion.reserve(cast.plans.size() * plan::kAreas + 1);
  cast.first_portion.push_back(0);
  for (const plan::Plan* plan : cast.plans) {
    std::uint32_t portions[plan::kAreas] = {};
    for (const plan::Step& step : plan->steps) {
      if (step.kind == Kind::post || step.kind == Kind::publish)
        portions[step.area] = std::max<std::uint32_t>(portions[step.area], step.portion + 1U);
    }
    for (const std::uint32_t number : portions) cast.first_portion.push_back(cast.first_portion.back() + number);
  }
  if (replacement == nullptr) count_awaits(cast);
  return casts_.size() - 1;
}

// Counts the awaits of each post. A post that nobody will await any more need not keep what it carries.
void Script::count_awaits(Cast& cast) const {
  using plan::LoopFragments;
  for (auto* counts : {&cast.awaited_once, &cast.awaited, &cast.awaited_last}) counts->assign(cast.first_portion.back(), 0);
  for (const plan::Plan* plan : cast.plans) {
    for (const plan::Section& section : plan->sections) {
      for (std::uint32_t i = 0; i < section.count; ++i) {
        const plan::Step& step = plan->steps[section.first + i];
        if (step.kind != Kind::await) continue;
        const std::size_t post = cast.post_of(step.peer, step);
        if (post == Cast::kNone) continue;
        if (!section.loop) ++cast.awaited_once[post];
        if (section.loop && section.fragments != LoopFragments::last) ++cast.awaited[post];
        if (section.loop && section.fragments != LoopFragments::but_last) ++cast.awaited_last[post];
      }
    }
  }
}

}  // namespace copse::analysis
