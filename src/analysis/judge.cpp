// What must hold at every step, and for every result.
#include "analysis/judge.hpp"

#include <algorithm>

namespace copse::analysis {

using algorithms::Collective;
using plan::Kind;
using plan::Operand;
using plan::Space;

Lines::Lines(const Script& script) : depth_(at(script.subject().line_depth)) {
  for (const Cast& cast : script.casts())
    for (const plan::Plan* plan : cast.plans) areas_ = std::max<std::size_t>(areas_, plan->areas);
  lines_.resize(at(script.ranks()) * areas_ * depth_);
}

Judge::Judge(const Script& script, std::size_t most, WaitUse* use)
    : script_(script), values_(script.ranks(), static_cast<int>(script.calls())), clocks_(script.ranks()), order_(clocks_),
      store_(script), posts_{Lines(script), TakenAddresses(script.ranks())}, calls_(script.calls()), report_{most, use} {
  for (std::size_t call = 0; call < script.calls(); ++call) {
    if (store_.cuts(call).clash().empty()) continue;
    report_.verdict.findings.push_back(
        {Fault::mismatch, 0, "plan", static_cast<int>(call), 0, "the message is " + store_.cuts(call).clash()});
  }
  if (use == nullptr) return;
  use->resize(at(script.ranks()));
  for (int rank = 0; rank < script.ranks(); ++rank) (*use)[at(rank)].resize(script.plan_of(0, rank).steps.size());
}

Verdict Judge::run() {
  if (!report_.verdict.ok()) return std::move(report_.verdict);
  Walk<Judge> walk(script_, *this);
  const bool finished = walk.run();
  if (enough()) return std::move(report_.verdict);
  report_.verdict.depth = clocks_.depth();
  if (!finished) {
    find_deadlock(walk);
  } else {
    walk.each_lost([&](const Moment& sent) {
      report_.verdict.findings.push_back(
          {Fault::wire, sent.step->peer, text_of(sent), static_cast<int>(sent.call), sent.fragment, "sent, but never received"});
    });
  }
  return std::move(report_.verdict);
}

// ---- Calls -----------------------------------------------------------------------------------------------

void Judge::enters(const Moment& now) {
  const ScriptedCall& call = job(now.call);
  const bool fences = now.call + 1 < calls_.size() && job(now.call + 1).fenced_in;
  if (fences || !algorithms::traits_of(call.collective).moves_data) {
    auto& entries = calls_[now.call].entries;
    entries.resize(at(script_.ranks()));
    entries[at(now.rank)] = clocks_.now(now.rank);
  }
  if (call.fenced_in) check_fence(now, calls_[now.call - 1].entries, "entered");
  const bool first = calls_[now.call].entered++ == 0;
  if (call.modes.in == plan::Sync::mine) return hand_over(now, now.rank);
  for (int rank = 0; first && rank < script_.ranks(); ++rank) hand_over(now, rank);
}

// Acts as the caller, which has written the buffers of a rank. If that was before any rank entered, all know it.
void Judge::hand_over(const Moment& now, int rank) {
  const ScriptedCall& call = job(now.call);
  for (const bool output : {false, true}) {
    const Memory& memory = *store_.buffer_of(now.call, rank, output).memory;
    for (std::uint32_t i = 0; i < memory.size && call.modes.in == plan::Sync::mine; ++i) {
      Accesses& accesses = store_.atoms_of(memory)[i].accesses;
      if (const auto other = order_.conflict_of_write(rank, accesses))
        find_race(now, "the caller still has its buffer", true, *other);
      accesses.write = clocks_.now(rank);
    }
  }
  if (!call.has_input(rank)) return;
  const Values::Id value = values_.contribution(static_cast<int>(now.call), rank);
  store_.each_atom(now.call, rank, false, [&](Atom& atom, std::uint32_t) { atom.value = value; });
}

void Judge::returns(const Moment& now) {
  const ScriptedCall& call = job(now.call);
  CallState& state = calls_[now.call];
  if (call.fenced_out) {
    state.returns.resize(at(script_.ranks()));
    state.returns[at(now.rank)] = clocks_.now(now.rank);
  }
  if (now.call > 0 && job(now.call - 1).fenced_out) check_fence(now, calls_[now.call - 1].returns, "returned");
  // Calls of other streams use the memory of the scratches next.
  for (const Memory& scratch : store_.scratches_of(now.rank)) touch(now, scratch, "another call may have its scratch");
  const bool last = ++state.returned == script_.ranks();
  if (call.modes.out == plan::Sync::mine) {
    check_result(now);
    return take_back(now);
  }
  // The caller looks once the last rank has returned.
  for (int rank = 0; last && rank < script_.ranks(); ++rank) {
    Moment then = now;
    then.rank = rank;
    then.plan = &script_.plan_of(now.call, rank);
    check_result(then);
  }
}

// A rank must know these events of all ranks.
void Judge::check_fence(const Moment& now, const std::vector<Epoch>& events, const char* what) {
  for (int peer = 0; peer < script_.ranks(); ++peer) {
    const Epoch event = events.empty() ? Epoch{} : events[at(peer)];
    if (event.rank >= 0 && clocks_.knows(now.rank, event)) continue;
    return find(Fault::wrong, now, "goes on without knowing that rank " + std::to_string(peer) + " has " + what);
  }
}

void Judge::take_back(const Moment& now) {
  Memory& input = *store_.buffer_of(now.call, now.rank, false).memory;
  Memory& output = *store_.buffer_of(now.call, now.rank, true).memory;
  touch(now, input, &input == &output ? "the caller has its buffer back" : "the caller has its input back");
  if (&input != &output) touch(now, output, "the caller has its output back");
}

void Judge::abandons(const Moment& now, const Moment& begun) {
  const bool sent = begun.step->kind == Kind::send;
  find(Fault::wire, now, "returns before '" + plan::to_text(*now.plan, *begun.step) + (sent ? "' was drained" : "' came true"));
}

// Acts as whoever has the memory next, and reads and overwrites it at once.
void Judge::touch(const Moment& now, const Memory& memory, const char* why) {
  for (std::uint32_t i = 0; i < memory.size; ++i) {
    ++report_.verdict.accesses;
    if (const auto other = order_.write(now.rank, store_.atoms_of(memory)[i].accesses)) {
      find_race(now, why, true, *other);
      return;
    }
  }
}

void Judge::check_barrier(const Moment& now) {
  for (int peer = 0; now.rank < job(now.call).callers() && peer < job(now.call).callers(); ++peer) {
    const Epoch entry = calls_[now.call].entries[at(peer)];
    if (entry.rank >= 0 && clocks_.knows(now.rank, entry)) continue;
    find(Fault::wrong, now, "leaves the barrier without knowing that rank " + std::to_string(peer) + " entered");
    return;
  }
}

void Judge::check_result(const Moment& now) {
  const ScriptedCall& each = job(now.call);
  if (!algorithms::traits_of(each.collective).moves_data) return check_barrier(now);
  if (!each.has_output(now.rank)) return;
  bool told = false;
  store_.each_atom(now.call, now.rank, true, [&](const Atom& atom, std::uint32_t place) {
    if (told) return;
    const std::string wrong = wrong_result(now, place, atom.value);
    if (wrong.empty()) return;
    told = true;
    find(Fault::wrong, now,
         "atom " + std::to_string(place) + " of " + std::to_string(store_.cuts(now.call).atoms()) + " of the result, " +
             values_.text(atom.value) + ", " + wrong);
  });
}

// Returns what is wrong with a result at a place of the message, or nothing if it is right.
std::string Judge::wrong_result(const Moment& now, std::uint32_t place, Values::Id value) {
  const int call = static_cast<int>(now.call);
  const ScriptedCall& each = job(now.call);
  const std::uint32_t blocks = store_.blocks(now.call);
  const int block = blocks > 0 ? static_cast<int>(place % blocks) : 0;
  const algorithms::Traits& traits = algorithms::traits_of(each.collective);
  if (now.plan->together && !is_riding(each.rides, plan::kEveryone))
    return value == Values::kNothing ? "" : "was moved, although not all values ride";
  if (traits.along_edges && !each.graph.has_edge(block / script_.ranks(), now.rank))
    return value == Values::kNothing ? "" : "has come along an edge that there is not";
  if (!traits.reduces) {
    const int source = traits.giver(block, now.rank, each.root, script_.ranks(), each.permutation);
    return value == values_.contribution(call, source) ? "" : "is not that of rank " + std::to_string(source);
  }
  const int last = traits.last_combined(now.rank, each.callers());
  if (!values_.complete(value, call, last)) {
    return "does not contain the contributions to this call of the ranks 0 to " + std::to_string(last) + " exactly once";
  }
  if (each.keeps_order && !values_.in_order(value)) return "does not keep the order of the ranks";
  if (!traits.same_result()) return {};
  auto& reference = calls_[now.call].reference;
  reference.resize(store_.cuts(now.call).atoms(), Values::kNothing);
  if (reference[place] == Values::kNothing) reference[place] = value;
  if (reference[place] == value) return {};
  return "is computed differently from another rank's " + values_.text(reference[place]);
}

// ---- Signals ---------------------------------------------------------------------------------------------

void Judge::note(const Moment& now, bool news) {
  if (now.plan != &script_.plan_of(0, now.rank)) return;
  auto& mark = (*report_.use)[at(now.rank)][static_cast<std::size_t>(now.step - now.plan->steps.data())];
  mark = std::max<std::uint8_t>(mark, news ? 2 : 1);
}

void Judge::awaits(const Moment& now, Ticket ticket, bool published) {
  const int peer = now.step->peer, area = now.step->area;
  ++report_.verdict.accesses;
  Lines::Line& line = posts_.lines.of(peer, area, ticket);
  if (const auto other = order_.read(now.rank, line.word)) {
    find_race(now, "line " + std::to_string(peer) + "." + std::to_string(area), false, *other);
  } else if (line.posted != ticket) {  // in every schedule: otherwise the two would race
    find(Fault::deadlock, now, "that line holds ticket " + std::to_string(line.posted) + " by then, and not this one");
  }
  if (!now.plan->takes_addresses(*now.step) || ticket < script_.act(now.call).first) return;
  if (published) {
    posts_.addresses.take(now.rank, peer, now.call);
  } else {
    find(Fault::illegal, now, "what was posted there has no addresses");
  }
}

bool Judge::posts(const Moment& now) {
  const plan::Step& step = *now.step;
  Lines::Line& line = posts_.lines.of(now.rank, step.area, now.ticket);
  if (line.posted > now.ticket || (line.posted == now.ticket && line.portion >= step.portion)) {
    find(Fault::illegal, now,
         "portion " + std::to_string(line.portion) + " of ticket " + std::to_string(line.posted) +
             " was already posted on this area");
    return false;
  }
  ++report_.verdict.accesses;
  if (line.posted != now.ticket) {  // further portions take nothing from those who still look at the first
    if (const auto other = order_.write(now.rank, line.word))
      find_race(now, "line " + std::to_string(now.rank) + "." + std::to_string(step.area), true, *other);
  }
  line.posted = now.ticket;
  line.portion = step.portion;
  return true;
}

void Judge::goes_back(const Moment& now, Ticket value) {
  find(Fault::illegal, now, "takes the rank's progress back to " + std::to_string(value));
}

// ---- Data ------------------------------------------------------------------------------------------------

Atoms Judge::locate(const Moment& now, const Operand& operand) {
  static_assert(Space::peer_input < Space::peer_output && Space::peer_output < Space::peer_scratch &&
                Space::peer_scratch < Space::ride);
  const bool published = operand.space >= Space::peer_input && operand.rank != now.rank;
  const bool computed = now.plan->placed && operand.space < Space::peer_scratch;
  const bool unknown = published && !computed && !posts_.addresses.has(now.rank, operand.rank, now.call);
  const bool rides = published && operand.space != Space::ride && is_riding(job(now.call).rides, operand.rank) &&
                     gives_ride(script_.plan_of(now.call, operand.rank));
  const bool lost = unknown || rides;
  std::string wrong;
  // Places are made where the caller wants them, because copying one costs more than finding it.
  Atoms place = lost ? Atoms{} : store_.locate(now, operand, wrong);
  if (rides) wrong = "rank " + std::to_string(operand.rank) + " publishes no addresses in this call, because its value rides";
  if (unknown) wrong = "has not awaited the addresses of rank " + std::to_string(operand.rank) + " in this call";
  if (place.memory == nullptr && !wrong.empty()) find(Fault::illegal, now, wrong);
  return place;
}

bool Judge::read(const Moment& now, const Atoms& place, const Operand& operand, std::vector<Values::Id>& values) {
  values.clear();
  const Memory& memory = *place.memory;
  if (place.reused && memory.tag != place.tag) {
    const auto name = [](Ticket tag) { return "of ticket " + std::to_string(tag); };
    const std::string holds = memory.size == 0 ? "nothing" : "that " + name(memory.tag);
    find(memory.size == 0 ? Fault::unwritten : Fault::stale, now,
         "reads " + name_of_place(operand, now.rank) + " " + name(place.tag) + ", which holds " + holds);
    return false;
  }
  for (std::uint32_t i = 0; i < place.count; ++i) {
    if (place.index(i) >= memory.size) {
      find(Fault::unwritten, now, "reads " + name_of_place(operand, now.rank) + " beyond what was written there");
      return false;
    }
    Atom& atom = store_.atoms_of(memory)[place.index(i)];
    ++report_.verdict.accesses;
    if (const auto other = order_.read(now.rank, atom.accesses)) {
      find_race(now, name_of_place(operand, now.rank), false, *other);
      return false;
    }
    if (atom.value == Values::kNothing) {
      find(Fault::unwritten, now, "reads " + name_of_place(operand, now.rank) + " before anything was written there");
      return false;
    }
    if (atom.block != place.block_at(i)) {
      find(Fault::stale, now,
           "reads block " + std::to_string(place.block_at(i)) + " from " + name_of_place(operand, now.rank) + ", where block " +
               std::to_string(atom.block) + " lies");
      return false;
    }
    values.push_back(atom.value);
  }
  return true;
}

void Judge::write(const Moment& now, const Atoms& place, const Operand& operand, const std::vector<Values::Id>& values) {
  Memory& memory = *place.memory;
  if (place.reused && (memory.tag != place.tag || memory.size == 0)) {
    // The whole earlier content goes.
    for (std::uint32_t i = 0; i < memory.size; ++i) {
      if (const auto other = order_.conflict_of_write(now.rank, store_.atoms_of(memory)[i].accesses)) {
        find_race(now, name_of_place(operand, now.rank) + " (reused for ticket " + std::to_string(place.tag) + ")", true, *other);
        break;
      }
    }
    for (std::uint32_t i = 0; i < memory.size; ++i) order_.forget(store_.atoms_of(memory)[i].accesses);
    memory.tag = place.tag;
    store_.resize(memory, 0);
  }
  if (place.reused && memory.size < place.whole) store_.resize(memory, place.whole);
  for (std::uint32_t i = 0; i < place.count; ++i) {
    Atom& atom = store_.atoms_of(memory)[place.index(i)];
    ++report_.verdict.accesses;
    atom.value = values[i];
    atom.block = place.block_at(i);
    if (const auto other = order_.write(now.rank, atom.accesses)) {
      find_race(now, name_of_place(operand, now.rank), true, *other);
      return;
    }
  }
}

bool Judge::same_part(const Moment& now, const Atoms& a, const Atoms& b) {
  if (a.part == b.part) return true;
  find(Fault::mismatch, now, "the operands are not the same part of the message");
  return false;
}

void Judge::moves(const Moment& now) {
  const plan::Step& step = *now.step;
  const Atoms dst = locate(now, step.dst);
  const Atoms a = locate(now, step.a);
  if (dst.memory == nullptr || a.memory == nullptr || !same_part(now, dst, a)) return;
  // The executor does not copy what is in its place already (in-place calls).
  if (step.kind == Kind::copy && dst.memory == a.memory && dst.index(0) == a.index(0) && step.dst2.space == Space::none) return;
  if (!read(now, a, step.a, read_.a)) return;
  if (step.kind == Kind::reduce) {
    const Atoms b = locate(now, step.b);
    if (b.memory == nullptr || !same_part(now, a, b) || !read(now, b, step.b, read_.b)) return;
    for (std::size_t i = 0; i < read_.a.size(); ++i) read_.a[i] = values_.combine(read_.a[i], read_.b[i]);
  }
  write(now, dst, step.dst, read_.a);
  if (step.dst2.space == Space::none) return;
  const Atoms dst2 = locate(now, step.dst2);
  if (dst2.memory != nullptr && same_part(now, a, dst2)) write(now, dst2, step.dst2, read_.a);
}

// ---- The wire --------------------------------------------------------------------------------------------

bool Judge::sends(const Moment& now, std::size_t message) {
  if (message >= sent_.size()) sent_.resize(message + 1);
  return take(now, sent_[message]);
}

// Takes what the step gives to the wire. Returns false if it cannot be read.
bool Judge::take(const Moment& now, Sent& sent) {
  Atoms source;
  if (now.step->a.space != Space::none) {
    source = locate(now, now.step->a);
    if (source.memory == nullptr || !read(now, source, now.step->a, read_.a)) return false;
  }
  sent.data = source.memory != nullptr;
  sent.part = source.part;
  sent.source = source;
  sent.values.clear();
  sent.writes.clear();
  if (!sent.data) return true;
  sent.values.swap(read_.a);
  for (std::uint32_t i = 0; i < source.count; ++i)
    sent.writes.push_back(store_.atoms_of(*source.memory)[source.index(i)].accesses.write);
  return true;
}

void Judge::expects(const Moment& now, std::size_t expected) {
  if (expected >= expected_.size()) expected_.resize(expected + 1);
  expected_[expected] = {now, clocks_.signal(now.rank), 0};
}

// The wire wrote the place at some time after the message was expected and sent. If the place is renewed, all of it goes.
void Judge::arrive(const Moment& now, const Atoms& place, const Expected& expected, const Signal& sent) {
  const Memory& memory = *place.memory;
  const bool renewed = place.reused && memory.tag != place.tag;
  const std::uint32_t count = renewed ? memory.size : place.count;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t index = renewed ? i : place.index(i);
    if (index >= memory.size) continue;
    const auto other = order_.conflict_of_write(expected.signal, sent, store_.atoms_of(memory)[index].accesses);
    if (!other) continue;
    return find_race(now, name_of_place(now.step->dst, now.rank) + ", since '" + text_of(expected.begun) + "' the wire's", true,
                     *other);
  }
}

void Judge::surprises(const Moment& now) { find(Fault::wire, now, "receives what is not the next that it expects from there"); }

void Judge::receives(const Moment& now, std::size_t expected, std::size_t number, const Moment& sent, const Signal& signal) {
  const plan::Step& step = *now.step;
  const Sent& message = sent_[number];
  const Expected& place = expected_[expected];
  if (!step.more) clocks_.release(place.signal);
  const auto text = [&] {
    return std::string("'").append(text_of(sent)) + "' of rank " + std::to_string(step.peer) + " (call " +
           std::to_string(sent.call) + ", fragment " + std::to_string(sent.fragment) + ")";
  };
  if (sent.call != now.call) return find(Fault::wire, now, "gets the message of another call: " + text());
  if (message.data != (step.dst.space != Space::none) || sent.step->more != step.more)
    return find(Fault::wire, now, "only one of the two has data, or goes on: " + text());
  if (!message.data) return;
  const Atoms dst = locate(now, step.dst);
  if (dst.memory == nullptr) return;
  if (dst.part != message.part) return find(Fault::wire, now, "receives another part of the message than " + text());
  const bool is_whole = ++expected_[expected].parts == 1 && !step.more;  // the wire delivers it to its place, and not to a buffer
  if (is_whole && place.begun.step->dst.space == Space::none)
    return find(Fault::wire, now, "comes to its place, which '" + text_of(place.begun) + "' does not name");
  if (place.begun.step->dst.space != Space::none) {
    if (place.begun.step->dst != step.dst)
      return find(Fault::wire, now, "comes to another place than '" + text_of(place.begun) + "' says");
    arrive(now, dst, place, signal);
  }
  write(now, dst, step.dst, message.values);
}

void Judge::drains(const Moment& now, std::size_t number, const Moment& sent) { check_source(now, sent_[number], sent); }

// What the wire was given must still be there.
void Judge::check_source(const Moment& now, const Sent& message, const Moment& sent) {
  const Atoms& source = message.source;
  for (std::uint32_t i = 0; i < message.writes.size(); ++i) {
    const bool same = !source.reused || source.memory->tag == source.tag;
    if (!same || store_.atoms_of(*source.memory)[source.index(i)].accesses.write != message.writes[i]) {
      find(Fault::race, now,
           "the source of '" + text_of(sent) + "' (fragment " + std::to_string(sent.fragment) + ") was overwritten before it was " +
               (now.step->kind == Kind::collect ? "collected" : "drained"));
      break;
    }
    // Until now, the wire may read the source.
    if (const auto other = order_.read(now.rank, store_.atoms_of(*source.memory)[source.index(i)].accesses)) {
      find_race(now, "the source of '" + text_of(sent) + "'", false, *other);
      break;
    }
  }
}

// ---- Collectives of the wire's own -----------------------------------------------------------------------

void Judge::delegates(const Moment& now, std::size_t number) {
  if (number >= delegated_.size()) delegated_.resize(number + 1);
  Delegated& mine = delegated_[number];
  if (!take(now, mine.given)) mine.given.data = false;
  mine.result = {now, clocks_.signal(now.rank), 0};
}

void Judge::disagrees(const Moment& now, const Moment& first) {
  find(Fault::wire, now,
       "rank " + std::to_string(first.rank) + " delegates '" + text_of(first) + "' here (call " + std::to_string(first.call) +
           ", fragment " + std::to_string(first.fragment) + ")");
}

// The wire combines in the order of the members. It may write the result as soon as this rank has delegated.
void Judge::collects(const Moment& now, const Member& mine, std::span<const Member> members) {
  Delegated& own = delegated_[mine.number];
  const plan::Step& step = *now.step;
  if (step.dst != mine.begun.step->dst || step.a != mine.begun.step->a || step.peer != mine.begun.step->peer)
    return find(Fault::wire, now, "is not what the rank has delegated: '" + text_of(mine.begun) + "'");
  const Atoms dst = step.dst.space == Space::none ? Atoms{} : locate(now, step.dst);
  if (dst.memory != nullptr) arrive(now, dst, own.result, own.result.signal);
  clocks_.release(own.result.signal);
  if (own.given.data) check_source(now, own.given, mine.begun);
  if (dst.memory == nullptr) return;
  const bool broadcasts = plan::delegation_of(step, now.rank) == plan::Delegation::broadcast;
  const Sent* first = nullptr;
  for (const Member& member : members) {
    const Sent& given = delegated_[member.number].given;
    if (broadcasts && member.begun.rank != step.peer) continue;
    if (!given.data) return;  // which has been told
    if (first == nullptr) {
      first = &given;
      read_.a = given.values;
      continue;
    }
    if (given.part != first->part)
      return find(Fault::wire, now, "rank " + std::to_string(member.begun.rank) + " gives another part of the message");
    for (std::size_t i = 0; i < read_.a.size(); ++i) read_.a[i] = values_.combine(read_.a[i], given.values[i]);
  }
  if (first == nullptr || dst.part != first->part)
    return find(Fault::wire, now, "gets another part of the message than its members give");
  write(now, dst, step.dst, read_.a);
}

}  // namespace copse::analysis
