// Runs the plans of all ranks, step by step, on symbols.
#include "analysis/interpreter.hpp"

#include <algorithm>
#include <deque>

#include "plan/builder.hpp"  // kPublishArea

namespace copse::analysis {

using algorithms::Collective;
using plan::Kind;
using plan::Operand;
using plan::Space;

namespace {
}

Interpreter::Interpreter(const Case& subject, std::size_t most, WaitUse* use)
    : subject_(subject),
      most_(most),
      use_(use),
      values_(subject.ranks, static_cast<int>(subject.calls.size())),
      clocks_(subject.ranks),
      order_(clocks_),
      ranks_(at(subject.ranks)) {
  const auto count = at(subject.ranks);
  int scratches = 0;
  areas_ = 1;
  for (const Call& call : subject.calls) {
    std::vector<const plan::Plan*> plans;
    for (std::size_t rank = 0; rank < count; ++rank) {
      const bool replaced = subject.replacement != nullptr && subject.replacement->in == call.plans.get() &&
                            at(subject.replacement->rank) == rank;
      plans.push_back(replaced ? &subject.replacement->plan : &(*call.plans)[rank]);
      areas_ = std::max<int>(areas_, plans.back()->areas);
      scratches = std::max<int>(scratches, plans.back()->scratches);
    }
    CallState state{Cuts(plans, call.fragments), tickets_, std::move(plans), {}, {}, {}, {}};
    state.entries.resize(count);
    state.inputs.resize(count);
    state.outputs.resize(count);
    calls_.push_back(std::move(state));
    const std::size_t index = calls_.size() - 1;
    for (int rank = 0; rank < subject.ranks; ++rank) {
      for (const bool output : {false, true}) {
        const Buffer buffer = buffer_of(index, rank, output);
        buffer.memory->atoms.resize(atoms_of(index, buffer.extent));
      }
    }
    tickets_ += call.fragments;
  }
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
  std::vector<std::size_t> portions(at(areas_), 1);
  for (const CallState& call : calls_)
    for (const plan::Plan* plan : call.plans)
      for (const plan::Step& step : plan->steps)
        if (step.area < areas_) portions[step.area] = std::max<std::size_t>(portions[step.area], step.portion + 1U);
  first_portion_.assign(1, 0);
  for (const std::size_t number : portions) first_portion_.push_back(first_portion_.back() + number);
  posts_.resize(count * first_portion_.back() * static_cast<std::size_t>(tickets_));
  if (subject.replacement == nullptr) count_awaits();  // mutants may await what nobody should
  addresses_.assign(count * count, -1);
  if (use_ != nullptr) {
    use_->resize(count);
    for (std::size_t rank = 0; rank < count; ++rank) (*use_)[rank].resize(calls_[0].plans[rank]->steps.size());
  }
}

// A post that nobody will await any more need not keep what its rank knew.
void Interpreter::count_awaits() {
  for (std::size_t call = 0; call < calls_.size(); ++call) {
    for (const plan::Plan* plan : calls_[call].plans) {
      for (const plan::Section& section : plan->sections) {
        const int fragments = section.loop ? job(call).fragments : 1;
        for (std::uint32_t i = 0; i < section.count; ++i) {
          const plan::Step& step = plan->steps[section.first + i];
          if (step.kind != Kind::await) continue;
          for (int fragment = 0; fragment < fragments; ++fragment) {
            if (plan::has_turn(section.turns, static_cast<std::uint64_t>(fragment), static_cast<std::uint64_t>(fragments)))
              ++post_of(step.peer, step, calls_[call].first + fragment).awaited;
          }
        }
      }
    }
  }
}

Verdict Interpreter::run() {
  if (!verdict_.ok()) return std::move(verdict_);
  std::deque<int> ready;
  std::vector<std::vector<int>> waiting(ranks_.size());
  for (int rank = 0; rank < subject_.ranks; ++rank) ready.push_back(rank);
  while (!ready.empty() && verdict_.findings.size() < most_) {
    const int rank = ready.front();
    ready.pop_front();
    bool moved = false;
    while (verdict_.findings.size() < most_ && advance(rank)) moved = true;
    const int on = ranks_[at(rank)].waits_for;
    if (on >= 0) waiting[at(on)].push_back(rank);
    if (!moved) continue;
    ready.insert(ready.end(), waiting[at(rank)].begin(), waiting[at(rank)].end());
    waiting[at(rank)].clear();
  }
  if (verdict_.findings.size() >= most_) return std::move(verdict_);
  const bool stuck =
      std::any_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.call < calls_.size(); });
  verdict_.depth = clocks_.depth();
  if (stuck) {
    find_deadlock();
  } else {
    for (const Message& message : messages_) {
      if (message.received) continue;
      verdict_.findings.push_back({Fault::wire, message.to, plan::to_text({}, *message.step), message.call,
                                   message.fragment, "sent, but never received"});
    }
  }
  return std::move(verdict_);
}

// ---- Control ---------------------------------------------------------------------------------------------

void Interpreter::tick(int rank, int step, int fragment) {
  clocks_.tick(rank);
  ranks_[at(rank)].events.push_back(
      {step, static_cast<std::int16_t>(ranks_[at(rank)].call), static_cast<std::int16_t>(fragment)});
  ++verdict_.steps;
}

bool Interpreter::advance(int rank) {
  Rank& me = ranks_[at(rank)];
  me.waits_for = -1;
  if (me.call == calls_.size()) return false;
  current_ = nullptr;
  current_fragment_ = 0;
  if (!me.entered) {
    enter(rank);
    return true;
  }
  const plan::Plan& plan = plan_of(rank);
  const int fragments = job(me.call).fragments;
  // With one fragment the executor runs a loop's steps once, in their order, whatever their lag.
  const bool straight = fragments == 1;
  while (me.section < plan.sections.size()) {
    const plan::Section& section = plan.sections[me.section];
    if (me.step == section.count) {
      me.step = 0;
      if (++me.iteration == (section.loop && !straight ? fragments + section.max_lag : 1)) {
        me.iteration = 0;
        ++me.section;
      }
      continue;
    }
    const plan::Step& step = plan.steps[section.first + me.step];
    const int fragment = section.loop && !straight ? me.iteration - step.lag : 0;
    const bool runs = fragment >= 0 && plan::has_turn(section.turns, static_cast<std::uint64_t>(fragment),
                                                      static_cast<std::uint64_t>(fragments));
    if (runs) {
      current_ = &step;
      current_fragment_ = std::clamp(fragment, 0, fragments - 1);
      if (!execute(rank, section, step, current_fragment_)) return false;
    }
    ++me.step;
    if (runs) return true;
  }
  leave(rank);
  return true;
}

bool Interpreter::has_one_buffer(std::size_t call, int rank) const {
  const Call& each = job(call);
  const auto& traits = algorithms::traits_of(each.collective);
  return traits.one_buffer || (each.in_place && traits.in_place && traits.has_input(rank, each.root) &&
                               traits.has_output(rank, each.root));
}

// Where input and output are one, it is the one that holds more.
Interpreter::Buffer Interpreter::buffer_of(std::size_t call, int rank, bool output) {
  const Call& each = job(call);
  const auto& traits = algorithms::traits_of(each.collective);
  if (has_one_buffer(call, rank))
    output = plan::blocks_in(traits.input, subject_.ranks) < plan::blocks_in(traits.output, subject_.ranks);
  else if (output ? !traits.has_output(rank, each.root) : !traits.has_input(rank, each.root))
    return {&(output ? calls_[call].outputs : calls_[call].inputs)[at(rank)], plan::Extent::none};
  return {&(output ? calls_[call].outputs : calls_[call].inputs)[at(rank)], output ? traits.output : traits.input};
}

std::uint32_t Interpreter::atoms_of(std::size_t call, plan::Extent extent) const {
  const Cuts& cuts = calls_[call].cuts;
  if (extent == plan::Extent::none) return 0;
  if (extent == plan::Extent::message) return cuts.atoms();
  return cuts.fragments() * static_cast<std::uint32_t>(plan::blocks_in(extent, subject_.ranks));
}

Interpreter::Place Interpreter::in_buffer(std::size_t call, int rank, bool output, AtomSpan part, int fragment,
                                          const plan::Range& range) {
  const Buffer buffer = buffer_of(call, rank, output);
  if (buffer.extent == plan::Extent::message) return {buffer.memory, part.first, part.size(), -1, part};
  const auto held = static_cast<std::uint32_t>(plan::blocks_in(buffer.extent, subject_.ranks));
  const std::uint32_t number = calls_[call].cuts.one_fragment() ? 0 : static_cast<std::uint32_t>(fragment);
  Place place{buffer.memory, 0, part.size(), -1, part};
  place.base = number * held;
  place.around = held;
  for (std::uint32_t i = 0; i < range.count; ++i) {
    const std::uint32_t block = (range.first + i) % range.of;
    const int index = plan::index_in(buffer.extent, rank, block, subject_.ranks);
    if (i == 0) place.first = static_cast<std::uint32_t>(std::max(index, 0));
    if (index >= 0 && static_cast<std::uint32_t>(index) == (place.first + i) % held) continue;
    find(Fault::illegal, rank, "block " + std::to_string(block) + " does not lie there");
    return {};
  }
  return place;
}

template <class Visit>
void Interpreter::each_atom(std::size_t call, int rank, bool output, Visit&& visit) {
  const auto& traits = algorithms::traits_of(job(call).collective);
  const plan::Extent extent = output ? traits.output : traits.input;
  const Buffer buffer = buffer_of(call, rank, output);
  const Cuts& cuts = calls_[call].cuts;
  if (buffer.extent == plan::Extent::none || extent == plan::Extent::none) return;
  if (extent == plan::Extent::message) {
    for (std::uint32_t i = 0; i < cuts.atoms(); ++i) visit(buffer.memory->atoms[i], i);
    return;
  }
  const auto held = static_cast<std::uint32_t>(plan::blocks_in(buffer.extent, subject_.ranks));
  for (std::uint32_t fragment = 0; fragment < cuts.fragments(); ++fragment) {
    for (int i = 0; i < plan::blocks_in(extent, subject_.ranks); ++i) {
      const std::uint32_t block = plan::block_at(extent, rank, i, subject_.ranks);
      const auto index = static_cast<std::uint32_t>(plan::index_in(buffer.extent, rank, block, subject_.ranks));
      visit(buffer.memory->atoms[fragment * held + index], cuts.fragment(static_cast<int>(fragment)).first + block);
    }
  }
}

void Interpreter::enter(int rank) {
  Rank& me = ranks_[at(rank)];
  tick(rank, kEntry, 0);
  CallState& call = calls_[me.call];
  const bool contributes = algorithms::traits_of(job(me.call).collective).has_input(rank, job(me.call).root);
  call.entries[at(rank)] = clocks_.now(rank);
  for (auto* buffers : {&call.inputs, &call.outputs})
    for (Atom& atom : (*buffers)[at(rank)].atoms) atom.accesses.write = clocks_.now(rank);
  if (contributes) {
    each_atom(me.call, rank, false,
              [&](Atom& atom, std::uint32_t) { atom.value = values_.contribution(static_cast<int>(me.call), rank); });
  }
  me.entered = true;
}

void Interpreter::leave(int rank) {
  Rank& me = ranks_[at(rank)];
  tick(rank, kReturn, 0);
  if (!me.undrained.empty()) {
    const Message& message = messages_[me.undrained.front()];
    find(Fault::wire, rank, "returns before '" + plan::to_text(plan_of(rank), *message.step) + "' was drained");
    me.undrained.clear();
  }
  check_result(rank);
  CallState& call = calls_[me.call];
  touch_buffer(rank, call.inputs[at(rank)], has_one_buffer(me.call, rank) ? "buffer" : "input");
  touch_buffer(rank, call.outputs[at(rank)], "output");
  me.entered = false;
  me.section = 0;
  ++me.call;
}

// The caller reads and overwrites its buffers as soon as it has them back.
void Interpreter::touch_buffer(int rank, Memory& memory, const char* name) {
  for (Atom& atom : memory.atoms) {
    ++verdict_.accesses;
    if (const auto other = order_.write(rank, atom.accesses)) {
      find_race(rank, "the caller has its " + std::string(name) + " back", true, *other);
      return;
    }
  }
}

void Interpreter::check_result(int rank) {
  const std::size_t index = ranks_[at(rank)].call;
  const Call& each = job(index);
  const CallState& state = calls_[index];
  if (each.collective == Collective::barrier) {
    for (int peer = 0; peer < subject_.ranks; ++peer) {
      const Epoch entry = state.entries[at(peer)];
      if (entry.rank >= 0 && clocks_.knows(rank, entry)) continue;
      find(Fault::wrong, rank, "leaves the barrier without knowing that rank " + std::to_string(peer) + " entered");
      return;
    }
    return;
  }
  if (!algorithms::traits_of(each.collective).has_output(rank, each.root)) return;
  bool told = false;
  each_atom(index, rank, true, [&](const Atom& atom, std::uint32_t place) {
    if (told) return;
    const std::string wrong = wrong_result(index, rank, place, atom.value);
    if (wrong.empty()) return;
    told = true;
    find(Fault::wrong, rank,
         "atom " + std::to_string(place) + " of " + std::to_string(calls_[index].cuts.atoms()) + " of the result, " +
             values_.text(atom.value) + ", " + wrong);
  });
}

// What is wrong with a result at a place of the message; empty if nothing is.
std::string Interpreter::wrong_result(std::size_t index, int rank, std::uint32_t place, Values::Id value) {
  const int call = static_cast<int>(index);
  const Call& each = job(index);
  CallState& state = calls_[index];
  const std::uint32_t blocks = state.plans.front()->contents.blocks;
  const int block = blocks > 0 ? static_cast<int>(place % blocks) : 0;
  const auto copied_from = [&](int source) {
    return value == values_.contribution(call, source) ? "" : "is not that of rank " + std::to_string(source);
  };
  int last = subject_.ranks - 1;  // the ranks from 0 to here are to be combined
  switch (each.collective) {
    case Collective::barrier: return {};
    case Collective::broadcast:
    case Collective::scatter: return copied_from(each.root);
    case Collective::gather:
    case Collective::allgather: return copied_from(block);
    case Collective::alltoall: return copied_from(block / subject_.ranks);
    case Collective::scan: last = rank; break;
    case Collective::exscan: last = rank - 1; break;
    case Collective::reduce:
    case Collective::allreduce:
    case Collective::reduce_scatter: break;
  }
  if (last < 0) return {};  // MPI-4.1 6.11.2: rank 0 has no result
  if (!values_.complete(value, call, last)) {
    return "does not have the contributions to this call of the ranks 0 to " + std::to_string(last) + " exactly once";
  }
  if (each.keeps_order && !values_.in_order(value)) return "does not keep the order of the ranks";
  if (each.collective != Collective::allreduce) return {};
  state.reference.resize(state.cuts.atoms(), Values::kNothing);
  if (state.reference[place] == Values::kNothing) state.reference[place] = value;
  if (state.reference[place] == value) return {};
  return "is not computed as another rank's " + values_.text(state.reference[place]);
}

// ---- Steps -----------------------------------------------------------------------------------------------

bool Interpreter::execute(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  const CallState& call = calls_[ranks_[at(rank)].call];
  const Ticket ticket = call.first + fragment;
  // What `done` means here: past this fragment in a loop, past all of them otherwise.
  const Ticket passed = section.loop ? ticket + 1 : call.first + job(ranks_[at(rank)].call).fragments;
  const int index = static_cast<int>(&step - plan_of(rank).steps.data());
  switch (step.kind) {
    case Kind::acquire:
      if (!acquire(rank, step, ticket)) return false;
      break;
    case Kind::await:
      if (!await(rank, step, ticket)) return false;
      break;
    case Kind::await_done:
      if (!await_done(rank, step.peer, passed - lateness(rank))) return false;
      break;
    case Kind::receive:
      if (!receive(rank, section, step, fragment)) return false;
      break;
    case Kind::drain:
      if (!drain(rank)) return false;
      break;
    case Kind::post:
    case Kind::publish:
      tick(rank, index, fragment);
      post(rank, step, ticket);
      break;
    case Kind::done:
      tick(rank, index, fragment);
      done(rank, passed);
      break;
    case Kind::copy:
    case Kind::reduce:
      tick(rank, index, fragment);
      move_data(rank, section, step, fragment);
      break;
    case Kind::send:
      tick(rank, index, fragment);
      send(rank, section, step, fragment);
      break;
  }
  return true;
}

int Interpreter::lateness(int rank) const {
  const Replacement* replacement = subject_.replacement;
  if (replacement == nullptr || replacement->late_step < 0 || replacement->rank != rank) return 0;
  const plan::Plan& plan = plan_of(rank);
  if (&plan != &replacement->plan || current_ - plan.steps.data() != replacement->late_step) return 0;
  return replacement->late_by;
}

void Interpreter::inform(int rank, const Signal& signal) {
  const bool news = clocks_.join(rank, signal);
  if (use_ == nullptr || current_ == nullptr) return;
  const plan::Plan& plan = plan_of(rank);
  if (&plan != calls_[0].plans[at(rank)]) return;
  auto& mark = (*use_)[at(rank)][static_cast<std::size_t>(current_ - plan.steps.data())];
  mark = std::max<std::uint8_t>(mark, news ? 2 : 1);
}

const Interpreter::Progress* Interpreter::progress_of(int rank, Ticket needed) const {
  const auto& progress = ranks_[at(rank)].progress;
  const auto found = std::lower_bound(progress.begin(), progress.end(), needed,
                                      [](const Progress& entry, Ticket bound) { return entry.value < bound; });
  return found == progress.end() ? nullptr : &*found;
}

bool Interpreter::acquire(int rank, const plan::Step& step, Ticket ticket) {
  const plan::Plan& plan = plan_of(rank);
  const Ticket first = calls_[ranks_[at(rank)].call].first;
  const int depth =
      step.dst.space == Space::slot ? std::min(subject_.line_depth, subject_.slot_depth) : subject_.line_depth;
  const Ticket previous = ticket - depth - lateness(rank);
  // This call's own use has readers that are known; for that of an earlier call every rank of the node may be one.
  const bool own = previous >= first;
  const auto readers = plan.peers_of(step);
  const int count = previous < 0 ? 0 : own ? static_cast<int>(readers.size()) : subject_.ranks;
  const auto reader = [&](int i) { return own ? readers[at(i)] : i; };
  const auto counts = [&](int i) { return own || near(rank, i); };
  int& passed = ranks_[at(rank)].passed;  // whoever has passed stays so: no second look while this waits
  for (; passed < count; ++passed) {
    if (!counts(passed) || progress_of(reader(passed), previous + 1) != nullptr) continue;
    ranks_[at(rank)].waits_for = reader(passed);
    return false;
  }
  passed = 0;
  tick(rank, static_cast<int>(&step - plan.steps.data()), current_fragment_);
  for (int i = 0; i < count; ++i) {
    if (!counts(i)) continue;
    const Signal& signal = progress_of(reader(i), previous + 1)->signal;
    if (!clocks_.knows(rank, signal.at)) inform(rank, signal);
  }
  return true;
}

Interpreter::Post& Interpreter::post_of(int rank, const plan::Step& step, Ticket ticket) {
  return posts_[(at(rank) * first_portion_.back() + first_portion_[step.area] + step.portion) *
                    static_cast<std::size_t>(tickets_) +
                static_cast<std::size_t>(ticket)];
}

bool Interpreter::await(int rank, const plan::Step& step, Ticket ticket) {
  ticket -= lateness(rank);
  const auto ring = at(step.peer) * at(areas_) + step.area;
  Post* post = nullptr;
  if (ticket >= 0) {
    post = &post_of(step.peer, step, ticket);
    if (!post->posted) {
      ranks_[at(rank)].waits_for = step.peer;
      return false;
    }
  }
  tick(rank, static_cast<int>(&step - plan_of(rank).steps.data()), current_fragment_);
  if (post == nullptr) return true;
  inform(rank, post->signal);
  if (--post->awaited == 0) clocks_.release(post->signal);
  const auto depth = at(subject_.line_depth);
  Line& line = lines_[ring * depth + static_cast<std::size_t>(ticket) % depth];
  ++verdict_.accesses;
  if (const auto other = order_.read(rank, line.word))
    find_race(rank, "line " + std::to_string(step.peer) + "." + std::to_string(step.area), false, *other);
  const Rank& me = ranks_[at(rank)];
  if (step.area == plan::kPublishArea && ticket >= calls_[me.call].first) {
    if (post->addresses) {
      addresses_[at(rank) * ranks_.size() + at(step.peer)] = static_cast<std::int32_t>(me.call);
    } else {
      find(Fault::illegal, rank, "what was posted there has no addresses");
    }
  }
  return true;
}

bool Interpreter::await_done(int rank, int peer, Ticket needed) {
  const Progress* progress = needed > 0 ? progress_of(peer, needed) : nullptr;
  if (needed > 0 && progress == nullptr) {
    ranks_[at(rank)].waits_for = peer;
    return false;
  }
  tick(rank, static_cast<int>(current_ - plan_of(rank).steps.data()), current_fragment_);
  if (progress != nullptr) inform(rank, progress->signal);
  return true;
}

void Interpreter::post(int rank, const plan::Step& step, Ticket ticket) {
  const auto ring = at(rank) * at(areas_) + step.area;
  const auto depth = at(subject_.line_depth);
  Line& line = lines_[ring * depth + static_cast<std::size_t>(ticket) % depth];
  Post& post = post_of(rank, step, ticket);
  if (line.posted > ticket || (line.posted == ticket && line.portion >= step.portion)) {
    find(Fault::illegal, rank,
         "portion " + std::to_string(line.portion) + " of ticket " + std::to_string(line.posted) +
             " was already posted on this area");
    return;
  }
  ++verdict_.accesses;
  if (line.posted != ticket) {  // further portions take nothing from those who still look at the first
    if (const auto other = order_.write(rank, line.word))
      find_race(rank, "line " + std::to_string(rank) + "." + std::to_string(step.area), true, *other);
  }
  line.posted = ticket;
  line.portion = step.portion;
  post = {true, step.kind == Kind::publish, post.awaited, clocks_.signal(rank)};
}

void Interpreter::done(int rank, Ticket value) {
  auto& progress = ranks_[at(rank)].progress;
  if (!progress.empty() && progress.back().value > value) {
    find(Fault::illegal, rank, "takes the rank's progress back to " + std::to_string(value));
    return;
  }
  progress.push_back({value, clocks_.signal(rank)});
}

// ---- Data ------------------------------------------------------------------------------------------------

Interpreter::Place Interpreter::locate(int rank, const Operand& operand, bool loop, int fragment) {
  const std::size_t index = ranks_[at(rank)].call;
  CallState& call = calls_[index];
  const Ticket ticket = call.first + fragment;
  const AtomSpan part = call.cuts.span_of(loop, fragment, operand.range);
  const bool one = call.cuts.one_fragment();
  const AtomSpan whole = loop || one ? call.cuts.fragment(fragment) : AtomSpan{0, call.cuts.atoms()};
  const std::uint32_t blocks = call.plans.front()->contents.blocks;
  const auto in_ring = [&](Memory& memory, Ticket tag) {
    if (blocks == 0) return Place{&memory, part.first - whole.first, part.size(), tag, part, whole.size(), true};
    const std::uint32_t first = (operand.range.first + blocks - operand.origin) % blocks;
    Place place{&memory, first, part.size(), tag, part, first + part.size(), true};
    place.block = operand.range.first;
    place.blocks = blocks;
    return place;
  };
  const auto peers = [&](bool output) { return in_buffer(index, operand.rank, output, part, fragment, operand.range); };
  const auto ring = [&](std::vector<Memory>& memories, int depth) -> Memory& {
    return memories[(at(operand.rank) * at(areas_) + operand.area) * at(depth) +
                    static_cast<std::size_t>(ticket) % at(depth)];
  };
  const auto in_scratch = [&](int owner, int number) {
    const auto scratches = scratches_.size() / ranks_.size();
    // A scratch of a whole message is not a scratch of fragments, unless they are the same.
    const Ticket tag = loop || one ? ticket : -2 - static_cast<Ticket>(index);
    return in_ring(scratches_[at(owner) * scratches + at(number)], tag);
  };
  switch (operand.space) {
    case Space::none:
      break;
    case Space::input:
    case Space::output:
      return in_buffer(index, rank, operand.space == Space::output, part, fragment, operand.range);
    case Space::scratch:
      return in_scratch(rank, operand.area);
    case Space::line:
      return in_ring(ring(payloads_, subject_.line_depth), ticket);
    case Space::slot:
      return in_ring(ring(slots_, subject_.slot_depth), ticket);
    case Space::peer_input:
    case Space::peer_output:
    case Space::peer_scratch:
      if (addresses_[at(rank) * ranks_.size() + at(operand.rank)] != static_cast<std::int32_t>(index)) {
        find(Fault::illegal, rank,
             "has not awaited the addresses of rank " + std::to_string(operand.rank) + " in this call");
        break;
      }
      if (operand.space == Space::peer_scratch) return in_scratch(operand.rank, 0);
      return peers(operand.space == Space::peer_output);
  }
  return {};
}

namespace {
std::string name_of_place(const Operand& operand, int rank) {
  const std::string owner = std::to_string(operand.rank < 0 ? rank : operand.rank);
  switch (operand.space) {
    case Space::none:
      return "nothing";
    case Space::input:
    case Space::peer_input:
      return "input of " + owner;
    case Space::output:
    case Space::peer_output:
      return "output of " + owner;
    case Space::scratch:
    case Space::peer_scratch:
      return "scratch." + std::to_string(operand.area) + " of " + owner;
    case Space::line:
      return "line " + owner + "." + std::to_string(operand.area);
    case Space::slot:
      return "slot " + owner + "." + std::to_string(operand.area);
  }
  return "?";
}
}  // namespace

bool Interpreter::read(int rank, const Place& place, const Operand& operand, std::vector<Values::Id>& values) {
  values.clear();
  Memory& memory = *place.memory;
  if (place.reused && memory.tag != place.tag) {
    const auto name = [](Ticket tag) { return "of ticket " + std::to_string(tag); };
    const std::string holds = memory.atoms.empty() ? "nothing" : "that " + name(memory.tag);
    find(memory.atoms.empty() ? Fault::unwritten : Fault::stale, rank,
         "reads " + name_of_place(operand, rank) + " " + name(place.tag) + ", which holds " + holds);
    return false;
  }
  for (std::uint32_t i = 0; i < place.count; ++i) {
    if (place.index(i) >= memory.atoms.size()) {
      find(Fault::unwritten, rank, "reads " + name_of_place(operand, rank) + " beyond what was written there");
      return false;
    }
    Atom& atom = memory.atoms[place.index(i)];
    ++verdict_.accesses;
    if (const auto other = order_.read(rank, atom.accesses)) {
      find_race(rank, name_of_place(operand, rank), false, *other);
      return false;
    }
    if (atom.value == Values::kNothing) {
      find(Fault::unwritten, rank, "reads " + name_of_place(operand, rank) + " before anything was written there");
      return false;
    }
    if (atom.block != place.block_at(i)) {
      find(Fault::stale, rank,
           "reads block " + std::to_string(place.block_at(i)) + " from " + name_of_place(operand, rank) +
               ", where block " + std::to_string(atom.block) + " lies");
      return false;
    }
    values.push_back(atom.value);
  }
  return true;
}

void Interpreter::write(int rank, const Place& place, const Operand& operand, const std::vector<Values::Id>& values) {
  Memory& memory = *place.memory;
  if (place.reused && (memory.tag != place.tag || memory.atoms.empty())) {
    // The whole of what was there goes.
    for (Atom& atom : memory.atoms) {
      if (const auto other = order_.conflict_of_write(rank, atom.accesses)) {
        find_race(rank, name_of_place(operand, rank) + " (reused for ticket " + std::to_string(place.tag) + ")", true,
                  *other);
        break;
      }
    }
    for (Atom& atom : memory.atoms) order_.forget(atom.accesses);
    memory.tag = place.tag;
    memory.atoms.assign(place.whole, {});
  }
  if (place.reused && memory.atoms.size() < place.whole) memory.atoms.resize(place.whole);
  for (std::uint32_t i = 0; i < place.count; ++i) {
    Atom& atom = memory.atoms[place.index(i)];
    ++verdict_.accesses;
    atom.value = values[i];
    atom.block = place.block_at(i);
    if (const auto other = order_.write(rank, atom.accesses)) {
      find_race(rank, name_of_place(operand, rank), true, *other);
      return;
    }
  }
}

bool Interpreter::same_part(int rank, const Place& a, const Place& b) {
  if (a.part == b.part) return true;
  find(Fault::mismatch, rank, "the operands are not the same part of the message");
  return false;
}

void Interpreter::move_data(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  const Place dst = locate(rank, step.dst, section.loop, fragment);
  const Place a = locate(rank, step.a, section.loop, fragment);
  if (dst.memory == nullptr || a.memory == nullptr || !same_part(rank, dst, a)) return;
  // The executor leaves alone what is in its place already (in-place calls).
  if (step.kind == Kind::copy && dst.memory == a.memory && dst.index(0) == a.index(0) &&
      step.dst2.space == Space::none)
    return;
  if (!read(rank, a, step.a, scratch_a_)) return;
  if (step.kind == Kind::reduce) {
    const Place b = locate(rank, step.b, section.loop, fragment);
    if (b.memory == nullptr || !same_part(rank, a, b) || !read(rank, b, step.b, scratch_b_)) return;
    for (std::size_t i = 0; i < scratch_a_.size(); ++i) scratch_a_[i] = values_.combine(scratch_a_[i], scratch_b_[i]);
  }
  write(rank, dst, step.dst, scratch_a_);
  if (step.dst2.space == Space::none) return;
  const Place dst2 = locate(rank, step.dst2, section.loop, fragment);
  if (dst2.memory != nullptr && same_part(rank, a, dst2)) write(rank, dst2, step.dst2, scratch_a_);
}

// ---- The wire --------------------------------------------------------------------------------------------

namespace {
std::uint64_t channel_key(int from, int to, int tag) {
  return static_cast<std::uint64_t>(from) << 36 | static_cast<std::uint64_t>(to) << 8 | static_cast<std::uint64_t>(tag);
}
}  // namespace

void Interpreter::send(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  Rank& me = ranks_[at(rank)];
  Message message{
      static_cast<int>(me.call), fragment, &step, step.a.space != Space::none, {}, {}, {}, {}, {}, step.peer};
  if (message.data) {
    message.source = locate(rank, step.a, section.loop, fragment);
    if (message.source.memory == nullptr || !read(rank, message.source, step.a, message.values)) return;
    message.part = message.source.part;
    for (std::uint32_t i = 0; i < message.source.count; ++i)
      message.writes.push_back(message.source.memory->atoms[message.source.index(i)].accesses.write);
  }
  message.signal = clocks_.signal(rank);
  const bool reuses = !free_messages_.empty();
  const std::size_t index = reuses ? free_messages_.back() : messages_.size();
  channels_[channel_key(rank, step.peer, step.area)].messages.push_back(index);
  me.undrained.push_back(index);
  if (!reuses) {
    messages_.push_back(std::move(message));
    return;
  }
  free_messages_.pop_back();
  messages_[index] = std::move(message);
}

bool Interpreter::receive(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  Channel& channel = channels_[channel_key(step.peer, rank, step.area)];
  if (channel.received == channel.messages.size()) {
    ranks_[at(rank)].waits_for = step.peer;
    return false;
  }
  Message& message = messages_[channel.messages[channel.received++]];
  message.received = true;
  tick(rank, static_cast<int>(&step - plan_of(rank).steps.data()), fragment);
  inform(rank, message.signal);
  clocks_.release(message.signal);
  const int call = static_cast<int>(ranks_[at(rank)].call);
  const auto sent = [&] {
    return "'" + plan::to_text({}, *message.step) + "' of rank " + std::to_string(step.peer) + " (call " +
           std::to_string(message.call) + ", fragment " + std::to_string(message.fragment) + ")";
  };
  if (message.call != call) {
    find(Fault::wire, rank, "gets the message of another call: " + sent());
    return true;
  }
  if (message.data != (step.dst.space != Space::none)) {
    find(Fault::wire, rank, "one has data, the other not: " + sent());
    return true;
  }
  if (!message.data) return true;
  const Place dst = locate(rank, step.dst, section.loop, fragment);
  if (dst.memory == nullptr) return true;
  if (dst.part != message.part) {
    find(Fault::wire, rank, "is another part of the message than " + sent());
    return true;
  }
  write(rank, dst, step.dst, message.values);
  return true;
}

bool Interpreter::drain(int rank) {
  Rank& me = ranks_[at(rank)];
  const auto elsewhere = std::stable_partition(me.undrained.begin(), me.undrained.end(), [&](std::size_t index) {
    return messages_[index].step->area == current_->area;
  });
  const std::vector<std::size_t> drained(me.undrained.begin(), elsewhere);
  for (std::size_t index : drained) {
    if (messages_[index].received) continue;
    me.waits_for = messages_[index].to;
    return false;
  }
  tick(rank, static_cast<int>(current_ - plan_of(rank).steps.data()), current_fragment_);
  for (std::size_t index : drained) {
    const Message& message = messages_[index];
    const Place& source = message.source;
    for (std::uint32_t i = 0; i < message.writes.size(); ++i) {
      const bool kept = !source.reused || source.memory->tag == source.tag;
      if (!kept || source.memory->atoms[source.index(i)].accesses.write != message.writes[i]) {
        find(Fault::race, rank,
             "the source of '" + plan::to_text({}, *message.step) + "' (fragment " + std::to_string(message.fragment) +
                 ") was overwritten before it was drained");
        break;
      }
      // The wire may read the source until now.
      if (const auto other = order_.read(rank, source.memory->atoms[source.index(i)].accesses)) {
        find_race(rank, "the source of '" + plan::to_text({}, *message.step) + "'", false, *other);
        break;
      }
    }
  }
  free_messages_.insert(free_messages_.end(), drained.begin(), drained.end());
  me.undrained.erase(me.undrained.begin(), elsewhere);
  return true;
}

}  // namespace copse::analysis
