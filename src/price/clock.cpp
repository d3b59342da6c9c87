// Gives each step of a walk its time.
#include "price/clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "analysis/cases.hpp"

namespace copse::price {

using analysis::at;
using analysis::Moment;
using topology::Level;

Clock::Clock(const Question& question, const Parameters& machine)
    : question_(question), machine_(machine), movements_(question, machine, flows_), ranks_(at(question.variant.ranks)) {
  std::map<std::int32_t, int> numbers;
  std::int32_t nodes = 0;
  for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
    const topology::Place& place = (*question.variant.places)[rank];
    ranks_[rank].core = numbers.try_emplace(place.at(Level::core), static_cast<int>(numbers.size())).first->second;
    nodes = std::max(nodes, place.at(Level::node) + 1);
  }
  processors_.cores.resize(numbers.size());
  processors_.shared = numbers.size() < ranks_.size();
  wire_.free.resize(at(nodes));
  history_.returned.resize(at(question.calls));
  history_.ending.resize(at(question.calls), -1);
  // How long several calls may take is known when the first one is over (returns).
  if (question.calls == 1 || processors_.shared) bound_.ns = question.most * question.calls;
}

void Clock::spend(const Moment& now, double ns, Part part, Level level) {
  Rank& rank = ranks_[at(now.rank)];
  if (ns <= 0 && now.step != nullptr) return;
  note(now, rank.time, rank.time + ns, rank.last, part, level);
  rank.time += ns;
  if (processors_.shared) processors_.cores[at(rank.core)].free = rank.time;
}

void Clock::note(const Moment& now, double from, double to, std::int32_t before, Part part, Level level) {
  history_.events.push_back({now.step, from, to, now.rank, before, static_cast<std::int32_t>(now.call), part, level});
  ranks_[at(now.rank)].last = static_cast<std::int32_t>(history_.events.size()) - 1;
  bound_.exceeded = bound_.exceeded || to > bound_.ns;
}

// Where several ranks have one processor, only one of them runs at a time.
void Clock::take_turn(const Moment& now) {
  if (!processors_.shared) return;
  Rank& rank = ranks_[at(now.rank)];
  Core& core = processors_.cores[at(rank.core)];
  const double ready = std::max(rank.time, core.free);
  const double until = ready + (core.rank == now.rank ? 0 : machine_.steps.turn_ns);
  if (until > rank.time) spend(now, until - rank.time, Part::turns, Level::core);
  core.rank = now.rank;
}

void Clock::begins(const Moment& now) {
  Rank& rank = ranks_[at(now.rank)];
  rank.heard = 0;
  rank.arrival = 0;
  rank.giver = -1;
}

void Clock::hears(const Moment& now, const Mark& mark) {
  Rank& rank = ranks_[at(now.rank)];
  ++rank.heard;
  if (mark.event < 0 || mark.rank == now.rank) return;
  // A word that came earlier must still be fetched. But the words that an acquire looks at were usually seen long ago.
  const bool fetched = !mark.by_wire && now.step->kind != plan::Kind::acquire;
  const Wire::Since since = mark.arrival < 0 ? Wire::Since{mark.time, mark.event} : wire_.arrivals[at(mark.arrival)];
  const double given = since.time;
  const double begin = fetched ? std::max(rank.time, given) : given;
  const Nearness& nearness = movements_.between(mark.rank, now.rank);
  double flight = mark.by_wire ? 0 : nearness.flag_ns;
  if (fetched) {
    // The lines of a ring follow one another in memory. So those of a peer that stays ahead are fetched as a stream is.
    const bool early = given + flight <= rank.time;
    Listening& peer = rank.streams[mark.rank];
    const bool again = now.ticket > peer.ticket;
    peer = {now.ticket, early && (again || peer.early), early && (again ? peer.early : peer.streams)};
    if (peer.streams) flight = std::min(flight, 2 * kLine / nearness.read.one);
  }
  const double arrival = begin + flight;
  if (arrival <= rank.arrival) return;
  rank.arrival = arrival;
  rank.giver = since.event;
  rank.by_wire = mark.by_wire;
}

void Clock::acts(const Moment& now) {
  Rank& rank = ranks_[at(now.rank)];
  if (rank.arrival > rank.time) {  // the wait follows what the giver did last
    const Event& given = history_.events[at(rank.giver)];
    const Part part = rank.by_wire ? Part::wire : Part::signals;
    const Level level = movements_.level_between(given.rank, now.rank);
    const bool here = rank.time > given.to;  // it had come already
    note(now, here ? rank.time : given.to, rank.arrival, here ? rank.last : rank.giver, part, level);
    rank.time = rank.arrival;
  }
  take_turn(now);
  const bool goes_on = now.step != nullptr && now.step->kind == plan::Kind::send && now.step->more;  // the last part sends all
  if (now.step != nullptr && !goes_on)
    spend(now, machine_.steps.step_ns + machine_.steps.wait_ns * rank.heard, Part::steps, Level::core);
  if (processors_.shared) processors_.cores[at(rank.core)].free = rank.time;
}

void Clock::enters(const Moment& now) {
  take_turn(now);
  spend(now, machine_.steps.call_ns, Part::call, Level::core);
}

void Clock::returns(const Moment& now) {
  const Rank& rank = ranks_[at(now.rank)];
  if (processors_.shared) processors_.cores[at(rank.core)].free = rank.time;
  if (rank.time >= history_.returned[now.call]) {
    history_.returned[now.call] = rank.time;
    history_.ending[now.call] = rank.last;
  }
  if (now.call > 0 || question_.calls == 1 || processors_.shared || ++bound_.out_of_first < ranks_.size()) return;
  bound_.ns = history_.returned.front() + question_.most * (question_.calls - 1);
}

void Clock::moves(const Moment& now) {
  Movement movement = movements_.of(now, kernel_copies_, ranks_[at(now.rank)].streams);
  if (movement.bytes <= 0) return;
  Rank& rank = ranks_[at(now.rank)];
  // Ranks that take turns move one after the other on each processor, so what they share is divided by the processors.
  if (processors_.shared || movement.behind_first_line() <= 0) {
    return spend(now, movement.latency_ns + movement.behind_first_line() / movement.rate, movement.part, movement.level);
  }
  rank.moving = true;
  kernel_copies_ += movement.part == Part::kernel ? 1 : 0;
  const double start = rank.time + movement.latency_ns;
  note(now, rank.time, start, rank.last, movement.part, movement.level);
  starts_.push({start, now.rank, std::move(movement)});
}

const Network& Clock::network() const {
  if (machine_.network) return *machine_.network;
  throw std::invalid_argument(machine_.name + ": the machine's file does not say what its network costs (\"network\")");
}

namespace {

// Tells whether what `b` names lies right behind what `a` names.
bool follows(const plan::Operand& a, const plan::Operand& b) {
  const auto place = [](const plan::Operand& operand) {
    return (operand.range.first + operand.range.of - operand.origin) % operand.range.of;
  };
  return a.space == b.space && a.area == b.area && a.rank == b.rank && a.range.of == b.range.of && a.range.of > 0 &&
         place(a) + a.range.count == place(b);
}

}  // namespace

// The network of a node takes messages in the order of time. So a rank pauses before it sends, until no other rank can be earlier.
bool Clock::is_due(const Moment& now) {
  // A message goes with its last part. Ranks that share processors run one after the other, so the walk has their order already.
  if (now.step->more || processors_.shared) return true;
  Rank& rank = ranks_[at(now.rank)];
  rank.waits_to_send = !rank.waits_to_send;
  if (rank.waits_to_send) starts_.push({rank.time, now.rank, {}});
  return !rank.waits_to_send;
}

// The parts of a message go as one message with the last of them. They are packed, unless they lie one behind the other.
bool Clock::sends(const Moment& now, std::size_t) {
  const Network& network = this->network();
  const plan::Step& step = *now.step;
  Wire::Unfinished& message = wire_.unfinished[{now.rank, step.peer, step.area}];
  if (step.a.space != plan::Space::none) {
    message.bytes += movements_.bytes(now, step.a);
    message.loose = message.loose || (message.last.space != plan::Space::none && !follows(message.last, step.a));
    message.last = step.a;
  }
  if (step.more && message.arrival < 0) {
    message.arrival = static_cast<std::int32_t>(wire_.arrivals.size());
    wire_.arrivals.push_back({kTooLong, -1});
  }
  if (step.more) return true;
  if (message.loose) spend(now, message.bytes / machine_.own.one, Part::copies, Level::core);
  spend(now, network.overhead_ns, Part::wire, Level::node);
  const double time = ranks_[at(now.rank)].time;
  double& free = wire_.free[at((*question_.variant.places)[at(now.rank)].at(Level::node))];
  wire_.sent = std::max(time, free) + message.bytes / network.rate;
  free = std::max(wire_.sent, std::max(time, free) + network.gap_ns);
  if (message.arrival >= 0) wire_.arrivals[at(message.arrival)] = {wire_.sent + network.latency_ns, ranks_[at(now.rank)].last};
  return true;
}

void Clock::receives(const Moment& now, std::size_t, std::size_t message, const Moment&, const Mark& mark) {
  const plan::Step& step = *now.step;
  const bool is_part = mark.arrival >= 0 && step.dst.space != plan::Space::none;
  if (is_part) spend(now, movements_.bytes(now, step.dst) / machine_.own.one, Part::copies, Level::core);
  if (!step.more) spend(now, machine_.network->overhead_ns, Part::wire, Level::node);
  if (wire_.taken.size() <= message) wire_.taken.resize(message + 1);
  wire_.taken[message] = {ranks_[at(now.rank)].time, ranks_[at(now.rank)].last};
}

// Lets a rank wait until something has happened at another rank, although the plan has no signal for it.
void Clock::wait_until(const Moment& now, const Wire::Since& since) {
  Rank& rank = ranks_[at(now.rank)];
  if (since.time <= rank.time) return;
  note(now, since.time, since.time, since.event, Part::wire, Level::node);
  rank.time = since.time;
}

// The walk goes on when the receiver has taken the message, as under rendezvous.
void Clock::drains(const Moment& now, std::size_t message, const Moment&) { wait_until(now, wire_.taken[message]); }

// A collective of the wire's own is priced as a good MPI makes it: short ones in rounds of whole messages, long ones by halves and
// back (Thakur et al. 2005). The link of each member is busy with it from the time at which that member has come.
void Clock::delegates(const Moment& now, std::size_t number) {
  const Network& network = this->network();
  spend(now, network.overhead_ns, Part::wire, Level::node);
  if (wire_.delegated.size() <= number) wire_.delegated.resize(number + 1);
  wire_.delegated[number] = {ranks_[at(now.rank)].time, ranks_[at(now.rank)].last};
  const plan::Step& step = *now.step;
  const plan::Operand& moved = step.a.space != plan::Space::none ? step.a : step.dst;
  const double bytes = moved.space == plan::Space::none ? 0 : movements_.bytes(now, moved);
  const auto members = static_cast<double>(now.plan->peers_of(step).size());
  const double rounds = std::ceil(std::log2(members)), round_ns = network.latency_ns + 2 * network.overhead_ns;
  const plan::Delegation delegation = plan::delegation_of(step, now.rank);
  const bool combines = delegation == plan::Delegation::reduce || delegation == plan::Delegation::allreduce;
  const double per_byte = combines ? 1 / machine_.reduction_rate(question_.operation, question_.type) : 0;
  const double share = (members - 1) / members;
  const double whole = rounds * bytes * (1 / network.rate + per_byte);
  const double halved = rounds * round_ns + share * bytes * (2 / network.rate + per_byte);
  const double busy = std::min(whole, halved);
  double& free = wire_.free[at((*question_.variant.places)[at(now.rank)].at(Level::node))];
  free = std::max(ranks_[at(now.rank)].time, free) + busy;
  wire_.sent = free + rounds * round_ns - network.latency_ns;  // gives() adds one latency
}

// The walk goes on when all members have come, also those from which this rank gets nothing.
void Clock::collects(const Moment& now, const analysis::Member&, std::span<const analysis::Member> members) {
  for (const analysis::Member& member : members) wait_until(now, wire_.delegated[member.number]);
}

Clock::Mark Clock::gives(const Moment& now) {
  Rank& rank = ranks_[at(now.rank)];
  if (rank.last < 0) spend(now, 0, Part::steps, Level::core);
  const plan::Step& step = *now.step;
  const bool by_wire = step.kind == plan::Kind::send || step.kind == plan::Kind::delegate;
  Mark mark{by_wire ? wire_.sent + machine_.network->latency_ns : rank.time, now.rank, rank.last, by_wire, -1};
  if (step.kind != plan::Kind::send) return mark;
  const auto message = wire_.unfinished.find({now.rank, step.peer, step.area});
  mark.arrival = message->second.arrival;
  if (!step.more) wire_.unfinished.erase(message);
  return mark;
}

bool Clock::pauses(const Moment& now) { return ranks_[at(now.rank)].moving; }

// Goes to the next time at which a movement begins to share what it passes, or ends.
bool Clock::idles() {
  while (!starts_.empty() || !flows_.empty()) {
    if (!starts_.empty() && (starts_.top().time <= flows_.now() || starts_.top().time <= flows_.next_end())) {
      Start start = starts_.top();
      starts_.pop();
      if (!start.movement) {
        walk_->wake(start.rank);
        return true;
      }
      Movement& movement = *start.movement;
      flows_.start(start.time, start.rank, movement.behind_first_line(), movement.rate, std::move(movement.resources),
                   std::move(movement.together));
      continue;
    }
    const double end = flows_.next_end();
    const int number = flows_.end_next();
    Rank& rank = ranks_[at(number)];
    Event& event = history_.events[at(rank.last)];
    event.to = rank.time = end;
    bound_.exceeded = bound_.exceeded || end > bound_.ns;
    rank.moving = false;
    kernel_copies_ -= event.part == Part::kernel ? 1 : 0;
    walk_->wake(number);
    return true;
  }
  return false;
}

Price Clock::result() const {
  Price price;
  const auto last = at(question_.calls) - 1;
  // Where ranks take turns, a rank can make several calls in its turn, because the others have already made theirs. So a call costs
  // its share of all turns.
  const bool all_count = last == 0 || processors_.shared;
  const double first = all_count ? 0 : history_.returned.front();
  price.calls = static_cast<int>(all_count ? last + 1 : last);
  price.ns = (history_.returned.back() - first) / price.calls;
  for (std::int32_t at_event = history_.ending[last]; at_event >= 0; at_event = history_.events[at(at_event)].before) {
    const Event& event = history_.events[at(at_event)];
    if (event.to <= first) break;
    if (event.to <= event.from) continue;
    price.path.push_back({event.rank, std::max(event.from, first), event.to, event.part, event.level, {}});
    if (event.step != nullptr) price.path.back().what = plan::to_text((*question_.variant.plans)[at(event.rank)], *event.step);
  }
  std::reverse(price.path.begin(), price.path.end());
  for (const Event& event : history_.events)
    if (event.rank == 0 && (all_count || event.call > 0)) price.overhead_ns += (event.to - event.from) / price.calls;
  return price;
}

const char* name_of(Part part) {
  constexpr std::array names = {"calls", "steps", "turns", "signals", "copies", "reductions", "kernel", "wire"};
  static_assert(names.size() == kParts);
  return names[static_cast<std::size_t>(part)];
}

std::vector<Price::Share> Price::shares() const {
  std::map<std::pair<Part, Level>, double> sums;
  for (const Stretch& stretch : path) sums[{stretch.part, stretch.level}] += stretch.to - stretch.from;
  std::vector<Share> shares;
  for (const auto& [of, ns] : sums) shares.push_back({of.first, of.second, ns / calls});
  return shares;
}

Price price(const Question& question, const Parameters& machine) {
  const auto fragments = question.fragment_bytes == 0 || question.bytes == 0
                             ? std::size_t{1}
                             : (question.bytes + question.fragment_bytes - 1) / question.fragment_bytes;
  analysis::ScriptedCall call = analysis::call_of(question.variant, static_cast<int>(fragments), false);
  if (question.variant.plans->front().together) call.rides.assign(at(question.variant.ranks), analysis::Ride::slot);
  const analysis::Case subject{question.variant.ranks,
                               question.variant.nodes,
                               question.line_depth,
                               question.slot_depth,
                               std::vector(at(question.calls), call),
                               nullptr};
  const analysis::Script script(subject);
  Clock clock(question, machine);
  analysis::Walk walk(script, clock);
  clock.attach(walk);
  const bool ends = walk.run();
  if (clock.enough()) return {kTooLong, {}, question.calls, kTooLong};
  if (!ends) throw std::logic_error(question.variant.name() + ": the walk does not end");
  return clock.result();
}

}  // namespace copse::price
