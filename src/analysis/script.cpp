// Finds what a walk needs to know about the plans before the first step.
#include "analysis/script.hpp"

#include <algorithm>

namespace copse::analysis {

using plan::Kind;

Script::Script(const Case& subject) : subject_(subject) {
  acts_.reserve(subject.calls.size());
  for (const ScriptedCall& call : subject.calls) {
    const std::size_t cast = cast_for(call);
    acts_.push_back({cast, call.fragments, tickets_, posts_});
    posts_ += at(subject.ranks) * casts_[cast].first_portion.back() * at(call.fragments);
    tickets_ += call.fragments;
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
  std::uint32_t portions[plan::kAreas] = {};
  for (const plan::Plan* plan : cast.plans) {
    for (const plan::Step& step : plan->steps) {
      if (step.kind == Kind::post || step.kind == Kind::publish || step.kind == Kind::await)
        portions[step.area] = std::max<std::uint32_t>(portions[step.area], step.portion + 1U);
    }
  }
  cast.first_portion.assign(1, 0);
  for (const std::uint32_t number : portions) cast.first_portion.push_back(cast.first_portion.back() + number);
  if (replacement == nullptr) count_awaits(cast);
  return casts_.size() - 1;
}

// Counts the awaits of each post. A post that nobody will await any more need not keep what it carries.
void Script::count_awaits(Cast& cast) const {
  using plan::Turns;
  const std::size_t posts = cast.plans.size() * cast.first_portion.back();
  for (auto* counts : {&cast.awaited_once, &cast.awaited, &cast.awaited_last}) counts->assign(posts, 0);
  for (const plan::Plan* plan : cast.plans) {
    for (const plan::Section& section : plan->sections) {
      for (std::uint32_t i = 0; i < section.count; ++i) {
        const plan::Step& step = plan->steps[section.first + i];
        if (step.kind != Kind::await) continue;
        const std::size_t post = at(step.peer) * cast.first_portion.back() + cast.first_portion[step.area] + step.portion;
        if (!section.loop) ++cast.awaited_once[post];
        if (section.loop && section.turns != Turns::last) ++cast.awaited[post];
        if (section.loop && section.turns != Turns::but_last) ++cast.awaited_last[post];
      }
    }
  }
}

}  // namespace copse::analysis
