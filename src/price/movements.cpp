// Finds out what a step moves, from where to where, and what it passes on its way.
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "price/clock.hpp"

namespace copse::price {

using analysis::at;
using analysis::Moment;
using plan::Operand;
using plan::Space;
using topology::Level;

namespace {

constexpr double kPage = 4096;

int owner_of(const Operand& operand, int rank) { return operand.rank < 0 ? rank : operand.rank; }
bool is_peers_buffer(Space space) {
  return space == Space::peer_input || space == Space::peer_output || space == Space::peer_scratch;
}
bool is_input(Space space) { return space == Space::input || space == Space::peer_input; }
bool is_output(Space space) { return space == Space::output || space == Space::peer_output; }

// The bytes of one rank's input and output.
double bytes_of_rank(const Question& question) {
  const algorithms::Traits& traits = algorithms::traits_of(question.variant.row->collective);
  const auto of = [&](plan::Extent extent) { return plan::blocks_in(extent, question.variant.callers()); };
  return static_cast<double>(question.bytes) * (of(traits.input) + (traits.one_buffer ? 0 : of(traits.output)));
}

// Returns the bytes of cache that a rank has on average. Ranks that take turns share the caches of their processor.
double cache_of_rank(const Parameters& machine, std::size_t ranks_here) {
  const topology::Machine& shape = machine.machine;
  const double cores = std::max<double>(1, static_cast<double>(shape.cores().size())),
               ranks = std::max(cores, static_cast<double>(ranks_here));
  double bytes = 0;
  for (const Level level : {Level::l2, Level::l3})
    bytes += static_cast<double>(shape.cache_bytes(level).value_or(0)) * shape.count(level) / ranks;
  return bytes;
}

// Returns the fraction of a rank's accesses that miss its second cache. The rank's own buffers pass through that cache, and about
// as much memory of others and of slots. If the own buffers fill up to half of the cache, everything stays in it. If they are as
// large as the cache, nothing is still there when it is used again.
double beyond_second_cache(const Question& question, const Parameters& machine) {
  const auto second = machine.machine.cache_bytes(Level::l2);
  if (!second) return 0;
  return std::clamp(2 * bytes_of_rank(question) / static_cast<double>(*second) - 1, 0.0, 1.0);
}

}  // namespace

Movements::Movements(const Question& question, const Parameters& machine, Flows& flows)
    : question_(question), machine_(machine), places_(*question.variant.places),
      nodes_(question.variant.ranks, &places_, Level::node), flows_(flows),
      one_buffer_(algorithms::traits_of(question.variant.row->collective).one_buffer),
      too_large_(bytes_of_rank(question) > cache_of_rank(machine, nodes_.front().size())),  // blocks fill the nodes evenly
      beyond_(machine.last ? beyond_second_cache(question, machine) : 0), write_rates_(places_.size()) {}

double Movements::bytes(const Moment& now, const Operand& operand) const {
  const auto whole = static_cast<double>(question_.bytes), cut = static_cast<double>(question_.fragment_bytes);
  const bool in_parts = now.section != nullptr && now.section->loop && cut > 0 && cut < whole;
  const double fragment = in_parts ? std::clamp(whole - cut * now.fragment, 0.0, cut) : whole;
  return now.plan->contents.blocks > 0 ? fragment * operand.range.count : fragment * operand.range.count / operand.range.of;
}

const Nearness& Movements::between(int a, int b) const { return machine_.between(places_[at(a)], places_[at(b)]); }
Level Movements::level_between(int a, int b) const { return a == b ? Level::core : between(a, b).level; }

// What a rank has written in this call is in its caches, unless they are too small.
bool Movements::is_read_from_memory(const Operand& operand, int owner) const {
  const bool given = is_input(operand.space) || (is_output(operand.space) && one_buffer_ && owner == question_.variant.root);
  return (given && question_.cold) || (too_large_ && (given || is_output(operand.space)));
}
bool Movements::is_written_to_memory(const Operand& operand) const {
  return (too_large_ || question_.cold) && is_output(operand.space);
}

void Movements::use(Movement& movement, Way way, std::size_t which, std::pair<std::int32_t, std::int32_t> of, double capacity) {
  if (capacity >= kUnbounded) return;
  const auto [found, fresh] = resources_.try_emplace({way, which, of}, 0);
  if (fresh) found->second = flows_.add_resource(capacity);
  if (std::find(movement.resources.begin(), movement.resources.end(), found->second) == movement.resources.end())
    movement.resources.push_back(found->second);
}

void Movements::use_memory(Movement& movement, int owner) {
  movement.rate = std::min(movement.rate, machine_.memory.one);
  use(movement, Way::memory, 0, {places_[at(owner)].at(Level::numa), 0}, machine_.memory.all);
}

// What goes from one rank's caches to another's passes the level that has both.
void Movements::pass(Movement& movement, const Nearness& nearness, int from, int to) {
  const auto which = static_cast<std::size_t>(&nearness - machine_.nearness.data());
  if (nearness.shared == Nearness::Scope::all)
    return use(movement, Way::whole, which, {places_[at(from)].at(nearness.level), 0}, nearness.read.all);
  std::size_t inner = which;  // the level of the parts
  while (inner > 0 && machine_.nearness[inner].level == nearness.level) --inner;
  const Level level = machine_.nearness[inner].level == nearness.level ? Level::core : machine_.nearness[inner].level;
  const std::int32_t out = places_[at(from)].at(level), in = places_[at(to)].at(level);
  if (nearness.shared == Nearness::Scope::links) return use(movement, Way::link, which, {out, in}, nearness.read.all);
  use(movement, Way::out, which, {out, 0}, nearness.read.all);
  use(movement, Way::in, which, {in, 0}, nearness.read.all);
}

// Returns the outermost cache of the reader that keeps what comes from the owner, or null if no cache does.
const Nearness* Movements::keeper(int owner, int rank) const {
  const topology::Place &here = places_[at(rank)], &there = places_[at(owner)];
  const Nearness* found = nullptr;
  for (const Nearness& each : machine_.nearness)
    if (each.keeps_reads && here.at(each.level) != there.at(each.level)) found = &each;
  return found;
}

// If the reader's cache keeps what is read, the bytes come only once for all ranks that read them now. All of these get them from
// that cache.
void Movements::join(Movement& movement, const Operand& operand, const Moment& now, int owner) {
  const Nearness* const cache = keeper(owner, now.rank);
  if (cache == nullptr) return;
  const auto which = static_cast<std::size_t>(cache - machine_.nearness.data());
  const std::int32_t part = places_[at(now.rank)].at(cache->level);
  movement.read_with = {static_cast<std::int64_t>(which),
                        part,
                        owner,
                        static_cast<std::int64_t>(operand.space),
                        operand.area,
                        operand.range.first,
                        operand.range.count,
                        operand.range.of,
                        now.fragment,
                        static_cast<std::int64_t>(now.call)};
  const auto last =
      resources_.find({Way::last, 0, {places_[at(now.rank)].at(Level::l3), 0}});  // of the reader: each passes it by itself
  for (const std::size_t resource : std::exchange(movement.resources, {}))
    (last != resources_.end() && resource == last->second ? movement.resources : movement.together.resources).push_back(resource);
  use(movement, Way::whole, which, {part, 0}, cache->read.all);
}

// Finds the group of a movement, when all resources that it passes are known. A resource that it also writes to is not shared with
// the group.
void Movements::group(Movement& movement) {
  auto& shared = movement.together.resources;
  std::erase_if(shared, [&](std::size_t resource) {
    return std::find(movement.resources.begin(), movement.resources.end(), resource) != movement.resources.end();
  });
  if (shared.empty()) return;
  auto what = movement.read_with;
  what.insert(what.end(), shared.begin(), shared.end());  // a group has one list of these
  movement.together.group = groups_.try_emplace(std::move(what), static_cast<int>(groups_.size())).first->second;
}

// Bytes that do not stay in the second cache come from the last cache, which ranks share.
void Movements::use_last(Movement& movement, int rank) {
  if (beyond_ <= 0 || std::exchange(movement.through_last, true) || machine_.last->one >= movement.rate) return;
  movement.rate = 1 / ((1 - beyond_) / movement.rate + beyond_ / machine_.last->one);
  use(movement, Way::last, 0, {places_[at(rank)].at(Level::l3), 0}, machine_.last->all / beyond_);
}

void Movements::read(Movement& movement, const Operand& operand, const Moment& now, const Streams& streams) {
  const int rank = now.rank;
  int owner = owner_of(operand, rank);
  if (question_.unchanged && now.call > 0 && operand.space == Space::peer_input && beyond_ < 1) owner = rank;
  const bool from_memory = is_read_from_memory(operand, owner);
  if (from_memory) {
    movement.latency_ns += machine_.memory.line_ns;
    use_memory(movement, owner);
  }
  if (owner == rank) {
    if (!from_memory) movement.latency_ns += machine_.own.line_ns;
    movement.rate = std::min(movement.rate, machine_.own.one);
    return use_last(movement, rank);
  }
  const Nearness& nearness = between(owner, rank);
  // What lies in the line has come with its word. The slots of a peer that stays ahead are fetched as a stream is.
  const auto peer = streams.find(owner);
  const bool streamed = operand.space == Space::slot && peer != streams.end() && peer->second.streams;
  if (operand.space != Space::line && operand.space != Space::ride && !streamed) movement.latency_ns += nearness.read.line_ns;
  use_last(movement, rank);
  movement.rate = std::min(movement.rate, nearness.read.one);
  if (movement.level > nearness.level) movement.level = nearness.level;
  pass(movement, nearness, owner, rank);
  join(movement, operand, now, owner);
}

double Movements::write_rate(int rank) {
  double& rate = write_rates_[at(rank)];
  if (rate > 0) return rate;
  rate = machine_.own.one;
  for (const int other : nodes_.of(rank))
    if (other != rank) rate = std::min(rate, between(rank, other).write);
  return rate;
}

void Movements::write(Movement& movement, const Operand& operand, int rank) {
  if (operand.space == Space::none) return;
  const int owner = owner_of(operand, rank);
  const bool to_memory = is_written_to_memory(operand);
  if (to_memory) use_memory(movement, owner);
  if (owner != rank) {
    const Nearness& nearness = between(rank, owner);
    movement.rate = std::min(movement.rate, nearness.write);
    movement.latency_ns += nearness.read.line_ns;
    if (movement.level > nearness.level) movement.level = nearness.level;
    return pass(movement, nearness, rank, owner);
  }
  const bool shared = operand.space == Space::slot || operand.space == Space::ride;
  movement.rate = std::min(movement.rate, shared ? write_rate(rank) : machine_.own.one);
  if (!to_memory) use_last(movement, rank);
  if (!to_memory) movement.latency_ns += machine_.own.line_ns;
}

Movement Movements::of(const Moment& now, int kernel_copies, const Streams& streams) {
  const plan::Step& step = *now.step;
  const bool reduces = step.kind == plan::Kind::reduce;
  Movement movement;
  movement.part = reduces ? Part::reductions : Part::copies;
  movement.bytes = bytes(now, step.a);
  if (movement.bytes <= 0) return movement;
  read(movement, step.a, now, streams);
  if (reduces) {
    Movement other;
    read(other, step.b, now, streams);
    const bool both = owner_of(step.a, now.rank) != now.rank && owner_of(step.b, now.rank) != now.rank;
    movement.rate = both || beyond_ >= 0.5 ? 1 / (1 / movement.rate + 1 / other.rate) : std::min(movement.rate, other.rate);
    movement.rate = std::min(movement.rate, machine_.reduction_rate(question_.operation, question_.type));
    movement.latency_ns += other.latency_ns;
    movement.level = std::min(movement.level, other.level);
    if (movement.read_with.empty()) {
      movement.read_with = std::move(other.read_with);
      movement.together = std::move(other.together);
    } else {  // a flow has one group
      other.resources.insert(other.resources.end(), other.together.resources.begin(), other.together.resources.end());
    }
    for (const std::size_t resource : other.resources)
      if (std::find(movement.resources.begin(), movement.resources.end(), resource) == movement.resources.end())
        movement.resources.push_back(resource);
  }
  write(movement, step.dst, now.rank);
  write(movement, step.dst2, now.rank);
  group(movement);
  const bool foreign = is_peers_buffer(step.a.space) || is_peers_buffer(step.b.space) || is_peers_buffer(step.dst.space);
  if (foreign && question_.reach == Reach::kernel) {
    if (!machine_.kernel)
      throw std::invalid_argument(machine_.name + ": the machine's file does not say what the kernel's copy costs (\"kernel\")");
    const KernelCopy& kernel = *machine_.kernel;
    const double of_page = kernel.page_ns * (1 + kernel.contention * kernel_copies) / kPage;
    const double copied = 1 / (of_page + 1 / std::min(kernel.rate, movement.rate));
    movement.rate = reduces ? 1 / (1 / copied + 1 / movement.rate) : copied;  // through a buffer of its own
    movement.latency_ns += kernel.call_ns;
    movement.part = Part::kernel;
  }
  return movement;
}

}  // namespace copse::price
