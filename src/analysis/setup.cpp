// What the interpreter lays out before the first step: plans, posts and memory of all calls.
#include <algorithm>

#include "analysis/interpreter.hpp"

namespace copse::analysis {

using plan::Kind;

Interpreter::Interpreter(const Case& subject, std::size_t most, WaitUse* use)
    : subject_(subject),
      most_(most),
      use_(use),
      values_(subject.ranks, static_cast<int>(subject.calls.size())),
      clocks_(subject.ranks),
      order_(clocks_),
      ranks_(at(subject.ranks)) {
  const auto count = at(subject.ranks);
  std::size_t posts = 0;
  areas_ = 1;
  calls_.reserve(subject.calls.size());
  for (const Call& call : subject.calls) {
    const std::size_t cast = cast_of(call);
    std::size_t like = 0;  // an earlier call that is cut alike
    while (like < calls_.size() && (calls_[like].cast != cast || job(like).fragments != call.fragments)) ++like;
    const Cuts cuts = like < calls_.size() ? calls_[like].cuts : Cuts(casts_[cast].plans, call.fragments);
    calls_.push_back({cuts, tickets_, cast, casts_[cast].plans.front()->contents.blocks, posts, {}, {}});
    posts += count * casts_[cast].first_portion.back() * at(call.fragments);
    tickets_ += call.fragments;
  }
  int scratches = 0;
  for (const Cast& cast : casts_) {
    for (const plan::Plan* plan : cast.plans) {
      areas_ = std::max<int>(areas_, plan->areas);
      scratches = std::max<int>(scratches, plan->scratches);
    }
  }
  buffers_.resize(calls_.size() * count * 2);
  buffer_memories_.resize(buffers_.size());
  for (std::size_t call = 0; call < calls_.size(); ++call) make_buffers(call);
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    if (calls_[call].cuts.clash().empty()) continue;
    verdict_.findings.push_back(
        {Fault::mismatch, 0, "plan", static_cast<int>(call), 0, "the message is " + calls_[call].cuts.clash()});
  }
  const std::size_t rings = count * at(areas_);
  lines_.resize(rings * at(subject.line_depth));
  payloads_.resize(lines_.size());
  slots_.resize(rings * at(subject.slot_depth));
  scratches_.resize(count * at(scratches));
  posts_.resize(posts);
  reached_.resize(count * static_cast<std::size_t>(tickets_ + 1));
  addresses_.assign(count * count, -1);
  if (use_ != nullptr) {
    use_->resize(count);
    for (std::size_t rank = 0; rank < count; ++rank)
      (*use_)[rank].resize(plan_of(0, static_cast<int>(rank)).steps.size());
  }
}

std::size_t Interpreter::cast_of(const Call& call) {
  for (std::size_t earlier = 0; earlier < calls_.size(); ++earlier)
    if (job(earlier).plans == call.plans) return calls_[earlier].cast;
  Cast& cast = casts_.emplace_back();
  const Replacement* replacement = subject_.replacement;
  const bool spoilt = replacement != nullptr && replacement->in == call.plans.get();
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
  if (replacement == nullptr) count_awaits(cast);  // mutants may await what nobody should
  return casts_.size() - 1;
}

// A post that nobody will await any more need not keep what its rank knew.
void Interpreter::count_awaits(Cast& cast) {
  using plan::Turns;
  const std::size_t posts = cast.plans.size() * cast.first_portion.back();
  for (auto* counts : {&cast.awaited_once, &cast.awaited, &cast.awaited_last}) counts->assign(posts, 0);
  for (const plan::Plan* plan : cast.plans) {
    for (const plan::Section& section : plan->sections) {
      for (std::uint32_t i = 0; i < section.count; ++i) {
        const plan::Step& step = plan->steps[section.first + i];
        if (step.kind != Kind::await) continue;
        const std::size_t post =
            at(step.peer) * cast.first_portion.back() + cast.first_portion[step.area] + step.portion;
        if (!section.loop) ++cast.awaited_once[post];
        if (section.loop && section.turns != Turns::last) ++cast.awaited[post];
        if (section.loop && section.turns != Turns::but_last) ++cast.awaited_last[post];
      }
    }
  }
}

// Where input and output are one, it is the one that holds more.
void Interpreter::make_buffers(std::size_t call) {
  const Call& each = job(call);
  const auto& traits = algorithms::traits_of(each.collective);
  const bool output_holds_more =
      plan::blocks_in(traits.input, subject_.ranks) < plan::blocks_in(traits.output, subject_.ranks);
  for (int rank = 0; rank < subject_.ranks; ++rank) {
    Memory* const memories = &buffer_memories_[(call * ranks_.size() + at(rank)) * 2];
    const bool one = has_one_buffer(call, rank);
    for (const bool output : {false, true}) {
      Buffer& buffer = buffer_of(call, rank, output);
      const bool which = one ? output_holds_more : output;
      const bool none = !one && (output ? !traits.has_output(rank, each.root) : !traits.has_input(rank, each.root));
      buffer = {&memories[which ? 1 : 0], none ? plan::Extent::none : which ? traits.output : traits.input};
      resize(*buffer.memory, atoms_in(call, buffer.extent));
    }
  }
}

// What is there stays.
void Interpreter::resize(Memory& memory, std::uint32_t size) {
  if (size > memory.room) {
    const std::size_t first = atoms_.size();
    atoms_.resize(first + size);
    std::copy_n(atoms_.begin() + static_cast<std::ptrdiff_t>(memory.first), memory.size,
                atoms_.begin() + static_cast<std::ptrdiff_t>(first));
    memory.first = first;
    memory.room = size;
  } else if (size > memory.size) {
    std::fill(atoms_of(memory) + memory.size, atoms_of(memory) + size, Atom{});
  }
  memory.size = size;
}

bool Interpreter::has_one_buffer(std::size_t call, int rank) const {
  const Call& each = job(call);
  const auto& traits = algorithms::traits_of(each.collective);
  return traits.one_buffer || (each.in_place && traits.in_place && traits.has_input(rank, each.root) &&
                               traits.has_output(rank, each.root));
}

std::uint32_t Interpreter::atoms_in(std::size_t call, plan::Extent extent) const {
  const Cuts& cuts = calls_[call].cuts;
  if (extent == plan::Extent::none) return 0;
  if (extent == plan::Extent::message) return cuts.atoms();
  return cuts.fragments() * static_cast<std::uint32_t>(plan::blocks_in(extent, subject_.ranks));
}

}  // namespace copse::analysis
