// Runs the plans of all ranks, step by step, on symbols.
#include "analysis/interpreter.hpp"

#include <algorithm>

#include "plan/builder.hpp"  // kPublishArea

namespace copse::analysis {

using algorithms::Collective;
using plan::Kind;
using plan::Operand;
using plan::Space;

Verdict Interpreter::run() {
  if (!verdict_.ok()) return std::move(verdict_);
  std::vector<int> ready(ranks_.size());  // a ring: every rank stands in it once, or waits, or has finished
  std::size_t first = 0, last = ready.size();
  for (int rank = 0; rank < subject_.ranks; ++rank) ready[at(rank)] = rank;
  while (first != last && verdict_.findings.size() < most_) {
    const int rank = ready[first++ % ready.size()];
    Rank& me = ranks_[at(rank)];
    bool moved = false;
    while (verdict_.findings.size() < most_ && advance(rank)) moved = true;
    if (me.waits_for >= 0) {
      Rank& other = ranks_[at(me.waits_for)];
      me.next_waiting = -1;
      (other.first_waiting < 0 ? other.first_waiting : ranks_[at(other.last_waiting)].next_waiting) = rank;
      other.last_waiting = rank;
    }
    if (!moved) continue;
    for (int next = me.first_waiting; next >= 0; next = ranks_[at(next)].next_waiting)
      ready[last++ % ready.size()] = next;
    me.first_waiting = -1;
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

void Interpreter::tick(int rank) {
  clocks_.tick(rank);
  ++verdict_.steps;
}

const plan::Step* Interpreter::upcoming(Cursor& cursor, int& fragment) {
  const plan::Plan& plan = *cursor.plan;
  const int fragments = cursor.fragments;
  // With one fragment the executor runs a loop's steps once, in their order, whatever their lag.
  const bool straight = fragments == 1;
  while (cursor.section < plan.sections.size()) {
    const plan::Section& section = plan.sections[cursor.section];
    if (cursor.step == section.count) {
      cursor.step = 0;
      if (++cursor.iteration == (section.loop && !straight ? fragments + section.max_lag : 1)) {
        cursor.iteration = 0;
        ++cursor.section;
      }
      continue;
    }
    const plan::Step& step = plan.steps[section.first + cursor.step];
    fragment = section.loop && !straight ? cursor.iteration - step.lag : 0;
    if (fragment >= 0 && plan::has_turn(section.turns, static_cast<std::uint64_t>(fragment),
                                        static_cast<std::uint64_t>(fragments)))
      return &step;
    ++cursor.step;
  }
  return nullptr;
}

bool Interpreter::advance(int rank) {
  Rank& me = ranks_[at(rank)];
  me.waits_for = -1;
  if (me.call == calls_.size()) return false;
  current_ = nullptr;
  current_fragment_ = 0;
  if (me.plan == nullptr) {
    enter(rank);
    return true;
  }
  int fragment = 0;
  const plan::Step* const step = upcoming(me, fragment);
  if (step == nullptr) {
    leave(rank);
    return true;
  }
  current_ = step;
  current_fragment_ = fragment;
  if (!execute(rank, me.plan->sections[me.section], *step, fragment)) return false;
  ++me.step;
  return true;
}

Interpreter::Place Interpreter::in_buffer(std::size_t call, int rank, bool output, AtomSpan part, int fragment,
                                          const plan::Range& range) {
  const Buffer& buffer = buffer_of(call, rank, output);
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
  const Buffer& buffer = buffer_of(call, rank, output);
  const Cuts& cuts = calls_[call].cuts;
  if (buffer.extent == plan::Extent::none || extent == plan::Extent::none) return;
  if (extent == plan::Extent::message) {
    for (std::uint32_t i = 0; i < cuts.atoms(); ++i) visit(atoms_of(*buffer.memory)[i], i);
    return;
  }
  const auto held = static_cast<std::uint32_t>(plan::blocks_in(buffer.extent, subject_.ranks));
  for (std::uint32_t fragment = 0; fragment < cuts.fragments(); ++fragment) {
    for (int i = 0; i < plan::blocks_in(extent, subject_.ranks); ++i) {
      const std::uint32_t block = plan::block_at(extent, rank, i, subject_.ranks);
      const auto index = static_cast<std::uint32_t>(plan::index_in(buffer.extent, rank, block, subject_.ranks));
      visit(atoms_of(*buffer.memory)[fragment * held + index], cuts.fragment(static_cast<int>(fragment)).first + block);
    }
  }
}

void Interpreter::enter(int rank) {
  Rank& me = ranks_[at(rank)];
  tick(rank);
  CallState& call = calls_[me.call];
  const bool contributes = algorithms::traits_of(job(me.call).collective).has_input(rank, job(me.call).root);
  if (!algorithms::traits_of(job(me.call).collective).moves_data) {
    call.entries.resize(ranks_.size());
    call.entries[at(rank)] = clocks_.now(rank);
  }
  for (const bool output : {false, true}) {
    const Memory& memory = *buffer_of(me.call, rank, output).memory;
    for (std::uint32_t i = 0; i < memory.size; ++i) atoms_of(memory)[i].accesses.write = clocks_.now(rank);
  }
  if (contributes) {
    each_atom(me.call, rank, false,
              [&](Atom& atom, std::uint32_t) { atom.value = values_.contribution(static_cast<int>(me.call), rank); });
  }
  static_cast<Cursor&>(me) = entered(me.call, rank);
}

void Interpreter::leave(int rank) {
  Rank& me = ranks_[at(rank)];
  tick(rank);
  if (!me.undrained.empty()) {
    const Message& message = messages_[me.undrained.front()];
    find(Fault::wire, rank, "returns before '" + plan::to_text(*me.plan, *message.step) + "' was drained");
    me.undrained.clear();
  }
  check_result(rank);
  Memory &input = *buffer_of(me.call, rank, false).memory, &output = *buffer_of(me.call, rank, true).memory;
  touch_buffer(rank, input, &input == &output ? "buffer" : "input");
  if (&input != &output) touch_buffer(rank, output, "output");
  static_cast<Cursor&>(me) = {me.call + 1};
}

// The caller reads and overwrites its buffers as soon as it has them back.
void Interpreter::touch_buffer(int rank, Memory& memory, const char* name) {
  for (std::uint32_t i = 0; i < memory.size; ++i) {
    ++verdict_.accesses;
    if (const auto other = order_.write(rank, atoms_of(memory)[i].accesses)) {
      find_race(rank, "the caller has its " + std::string(name) + " back", true, *other);
      return;
    }
  }
}

void Interpreter::check_result(int rank) {
  const std::size_t index = ranks_[at(rank)].call;
  const Call& each = job(index);
  const CallState& state = calls_[index];
  if (!algorithms::traits_of(each.collective).moves_data) {
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
  const std::uint32_t blocks = state.blocks;
  const int block = blocks > 0 ? static_cast<int>(place % blocks) : 0;
  const algorithms::Traits& traits = algorithms::traits_of(each.collective);
  if (!traits.reduces) {
    const int source = traits.giver(block, each.root, subject_.ranks);
    return value == values_.contribution(call, source) ? "" : "is not that of rank " + std::to_string(source);
  }
  const int last = traits.last_combined(rank, subject_.ranks);
  if (!values_.complete(value, call, last)) {
    return "does not have the contributions to this call of the ranks 0 to " + std::to_string(last) + " exactly once";
  }
  if (each.keeps_order && !values_.in_order(value)) return "does not keep the order of the ranks";
  if (!traits.same_result()) return {};
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
      tick(rank);
      post(rank, step, ticket);
      break;
    case Kind::done:
      tick(rank);
      done(rank, passed);
      break;
    case Kind::copy:
    case Kind::reduce:
      tick(rank);
      move_data(rank, section, step, fragment);
      break;
    case Kind::send:
      tick(rank);
      send(rank, section, step, fragment);
      break;
  }
  return true;
}

int Interpreter::lateness(int rank) const {
  const Replacement* replacement = subject_.replacement;
  if (replacement == nullptr || replacement->late_step < 0 || replacement->rank != rank) return 0;
  const plan::Plan& plan = *ranks_[at(rank)].plan;
  if (&plan != &replacement->plan || current_ - plan.steps.data() != replacement->late_step) return 0;
  return replacement->late_by;
}

void Interpreter::inform(int rank, const Signal& signal) {
  const bool news = clocks_.join(rank, signal);
  if (use_ == nullptr || current_ == nullptr) return;
  const plan::Plan& plan = *ranks_[at(rank)].plan;
  if (&plan != &plan_of(0, rank)) return;
  auto& mark = (*use_)[at(rank)][static_cast<std::size_t>(current_ - plan.steps.data())];
  mark = std::max<std::uint8_t>(mark, news ? 2 : 1);
}

const Signal* Interpreter::progress_of(int rank, Ticket needed) const {
  if (ranks_[at(rank)].progress < needed) return nullptr;
  return &reached_[at(rank) * static_cast<std::size_t>(tickets_ + 1) + static_cast<std::size_t>(needed)];
}

bool Interpreter::acquire(int rank, const plan::Step& step, Ticket ticket) {
  const plan::Plan& plan = *ranks_[at(rank)].plan;
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
  tick(rank);
  for (int i = 0; i < count; ++i) {
    if (!counts(i)) continue;
    const Signal& signal = *progress_of(reader(i), previous + 1);
    if (!clocks_.knows(rank, signal.at)) inform(rank, signal);
  }
  return true;
}

Interpreter::Awaited Interpreter::post_of(int rank, const plan::Step& step, Ticket ticket, std::size_t call) {
  const CallState& state = calls_[call];
  const Cast& cast = casts_[state.cast];
  const std::uint32_t portion = cast.first_portion[step.area] + step.portion;
  if (portion >= cast.first_portion[step.area + 1U]) return {};
  const std::size_t which = at(rank) * cast.first_portion.back() + portion;
  const auto fragments = at(job(call).fragments), fragment = static_cast<std::size_t>(ticket - state.first);
  Awaited result{&posts_[state.first_post + which * fragments + fragment], 0};
  if (subject_.replacement != nullptr) return result;
  result.times = (fragment + 1 < fragments ? cast.awaited : cast.awaited_last)[which];
  if (fragment == 0) result.times += cast.awaited_once[which];
  return result;
}

bool Interpreter::await(int rank, const plan::Step& step, Ticket ticket) {
  ticket -= lateness(rank);
  const auto ring = at(step.peer) * at(areas_) + step.area;
  Awaited awaited{};
  if (ticket >= 0) {
    std::size_t call = ranks_[at(rank)].call;
    while (calls_[call].first > ticket) --call;
    awaited = post_of(step.peer, step, ticket, call);
    if (awaited.post == nullptr || !awaited.post->posted) {
      ranks_[at(rank)].waits_for = step.peer;
      return false;
    }
  }
  tick(rank);
  Post* const post = awaited.post;
  if (post == nullptr) return true;
  inform(rank, post->signal);
  if (++post->awaited == awaited.times) clocks_.release(post->signal);
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
  const Signal* signal = needed > 0 ? progress_of(peer, needed) : nullptr;
  if (needed > 0 && signal == nullptr) {
    ranks_[at(rank)].waits_for = peer;
    return false;
  }
  tick(rank);
  if (signal != nullptr) inform(rank, *signal);
  return true;
}

void Interpreter::post(int rank, const plan::Step& step, Ticket ticket) {
  const auto ring = at(rank) * at(areas_) + step.area;
  const auto depth = at(subject_.line_depth);
  Line& line = lines_[ring * depth + static_cast<std::size_t>(ticket) % depth];
  Post& post = *post_of(rank, step, ticket, ranks_[at(rank)].call).post;
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
  post = {true, step.kind == Kind::publish, 0, clocks_.signal(rank)};
}

void Interpreter::done(int rank, Ticket value) {
  Ticket& progress = ranks_[at(rank)].progress;
  if (progress > value) return find(Fault::illegal, rank, "takes the rank's progress back to " + std::to_string(value));
  if (progress == value) return;
  Signal* const reached = &reached_[at(rank) * static_cast<std::size_t>(tickets_ + 1)];
  std::fill(reached + progress + 1, reached + value + 1, clocks_.signal(rank));
  progress = value;
}

// ---- Data ------------------------------------------------------------------------------------------------

Interpreter::Place Interpreter::locate(int rank, const Operand& operand, bool loop, int fragment) {
  const std::size_t index = ranks_[at(rank)].call;
  CallState& call = calls_[index];
  const Ticket ticket = call.first + fragment;
  const AtomSpan part = call.cuts.span_of(loop, fragment, operand.range);
  const bool one = call.cuts.one_fragment();
  const AtomSpan whole = loop || one ? call.cuts.fragment(fragment) : AtomSpan{0, call.cuts.atoms()};
  const std::uint32_t blocks = call.blocks;
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
    const bool uncut = job(index).plans->front().whole_scratch;
    const Ticket tag = (loop || one) && !uncut ? ticket : -2 - static_cast<Ticket>(index);
    Place place = in_ring(scratches_[at(owner) * scratches + at(number)], tag);
    if (!uncut) return place;
    place.first = blocks == 0 ? part.first : place.first + static_cast<std::uint32_t>(fragment) * blocks;
    place.whole = std::max(call.cuts.atoms(), place.first + place.count);
    return place;
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
      if (operand.space == Space::peer_scratch) return in_scratch(operand.rank, operand.area);
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
    const std::string holds = memory.size == 0 ? "nothing" : "that " + name(memory.tag);
    find(memory.size == 0 ? Fault::unwritten : Fault::stale, rank,
         "reads " + name_of_place(operand, rank) + " " + name(place.tag) + ", which holds " + holds);
    return false;
  }
  for (std::uint32_t i = 0; i < place.count; ++i) {
    if (place.index(i) >= memory.size) {
      find(Fault::unwritten, rank, "reads " + name_of_place(operand, rank) + " beyond what was written there");
      return false;
    }
    Atom& atom = atoms_of(memory)[place.index(i)];
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
  if (place.reused && (memory.tag != place.tag || memory.size == 0)) {
    // The whole of what was there goes.
    for (std::uint32_t i = 0; i < memory.size; ++i) {
      if (const auto other = order_.conflict_of_write(rank, atoms_of(memory)[i].accesses)) {
        find_race(rank, name_of_place(operand, rank) + " (reused for ticket " + std::to_string(place.tag) + ")", true,
                  *other);
        break;
      }
    }
    for (std::uint32_t i = 0; i < memory.size; ++i) order_.forget(atoms_of(memory)[i].accesses);
    memory.tag = place.tag;
    resize(memory, 0);
  }
  if (place.reused && memory.size < place.whole) resize(memory, place.whole);
  for (std::uint32_t i = 0; i < place.count; ++i) {
    Atom& atom = atoms_of(memory)[place.index(i)];
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

Interpreter::Channel& Interpreter::channel_of(int from, int to, int tag) {
  const auto [number, fresh] = channel_numbers_.of((at(from) * ranks_.size() + at(to)) * plan::kAreas + at(tag));
  if (fresh) channels_.emplace_back();
  return channels_[number];
}

void Interpreter::send(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  Rank& me = ranks_[at(rank)];
  Place source;
  if (step.a.space != Space::none) {
    source = locate(rank, step.a, section.loop, fragment);
    if (source.memory == nullptr || !read(rank, source, step.a, scratch_a_)) return;
  }
  std::size_t index = messages_.size();
  if (free_messages_.empty()) {
    messages_.emplace_back();
  } else {
    index = free_messages_.back();
    free_messages_.pop_back();
  }
  Message& message = messages_[index];
  message.call = static_cast<int>(me.call);
  message.fragment = fragment;
  message.step = &step;
  message.data = source.memory != nullptr;
  message.to = step.peer;
  message.received = false;
  message.next = -1;
  message.part = source.part;
  message.source = source;
  message.values.clear();
  message.writes.clear();
  if (message.data) {
    message.values.swap(scratch_a_);
    for (std::uint32_t i = 0; i < source.count; ++i)
      message.writes.push_back(atoms_of(*source.memory)[source.index(i)].accesses.write);
  }
  message.signal = clocks_.signal(rank);
  Channel& channel = channel_of(rank, step.peer, step.area);
  (channel.first < 0 ? channel.first : messages_[at(channel.last)].next) = static_cast<std::int32_t>(index);
  channel.last = static_cast<std::int32_t>(index);
  if (!step.more) channel.unfinished = -1;
  if (step.more && channel.unfinished < 0) channel.unfinished = static_cast<std::int32_t>(index);
  me.undrained.push_back(index);
}

bool Interpreter::receive(int rank, const plan::Section& section, const plan::Step& step, int fragment) {
  Channel& channel = channel_of(step.peer, rank, step.area);
  if (channel.first == channel.unfinished) {  // both -1: none
    ranks_[at(rank)].waits_for = step.peer;
    return false;
  }
  Message& message = messages_[at(channel.first)];
  channel.first = message.next;
  message.received = true;
  tick(rank);
  inform(rank, message.signal);
  clocks_.release(message.signal);
  const int call = static_cast<int>(ranks_[at(rank)].call);
  const auto sent = [&] {
    return std::string("'").append(plan::to_text({}, *message.step)) + "' of rank " + std::to_string(step.peer) +
           " (call " + std::to_string(message.call) + ", fragment " + std::to_string(message.fragment) + ")";
  };
  if (message.call != call) {
    find(Fault::wire, rank, "gets the message of another call: " + sent());
    return true;
  }
  if (message.data != (step.dst.space != Space::none) || message.step->more != step.more) {
    find(Fault::wire, rank, "one has data, or goes on, the other not: " + sent());
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
  const auto drains = [&](std::size_t index) { return messages_[index].step->area == current_->area; };
  for (const std::size_t index : me.undrained) {
    if (!drains(index) || messages_[index].received) continue;
    me.waits_for = messages_[index].to;
    return false;
  }
  tick(rank);
  std::size_t kept = 0;
  for (const std::size_t index : me.undrained) {
    if (!drains(index)) {
      me.undrained[kept++] = index;
      continue;
    }
    free_messages_.push_back(index);
    const Message& message = messages_[index];
    const Place& source = message.source;
    for (std::uint32_t i = 0; i < message.writes.size(); ++i) {
      const bool same = !source.reused || source.memory->tag == source.tag;
      if (!same || atoms_of(*source.memory)[source.index(i)].accesses.write != message.writes[i]) {
        find(Fault::race, rank,
             "the source of '" + plan::to_text({}, *message.step) + "' (fragment " + std::to_string(message.fragment) +
                 ") was overwritten before it was drained");
        break;
      }
      // The wire may read the source until now.
      if (const auto other = order_.read(rank, atoms_of(*source.memory)[source.index(i)].accesses)) {
        find_race(rank, "the source of '" + plan::to_text({}, *message.step) + "'", false, *other);
        break;
      }
    }
  }
  me.undrained.resize(kept);
  return true;
}

}  // namespace copse::analysis
