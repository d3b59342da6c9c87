// Compiles plans to programs.
#include "engine/program.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace copse::engine {

namespace {

// Tells whether this rank can load and store the operand, with `blocks` blocks (0: all of the message) in a row. For `placed` see
// Plan.
bool plain(const Ref& ref, std::uint32_t blocks, bool placed) {
  switch (ref.space) {
    case plan::Space::none: return true;
    case plan::Space::peer_input:
    case plan::Space::peer_output:
      if (!placed) return false;
      break;
    case plan::Space::input:
    case plan::Space::output:
    case plan::Space::scratch:
    case plan::Space::line:
    case plan::Space::slot: break;
    default: return false;
  }
  return blocks == 0 ? ref.range.of == 1 : ref.places == 0 || ref.place + blocks <= ref.places;
}

class Compiler {
 public:
  Compiler(const plan::Plan& plan, const Segment& segment, const std::vector<Peer>& peers)
      : plan_(plan), segment_(segment), peers_(peers) {}

  Program compile() {
    program_.pack = plan_.pack;
    program_.contents = plan_.contents;
    program_.ranks = plan_.ranks;
    program_.scratches = plan_.scratches;
    program_.scratch_depth = plan_.scratch_depth;
    program_.scratch_shared = program_.scratch_whole = plan_.whole_scratch;
    program_.slots = plan_.slots;
    program_.one_fragment = plan_.one_fragment;
    program_.together = plan_.together;
    program_.placed = plan_.placed;
    for (const plan::Section& section : plan_.sections) add(section);
    if (!program_.placed) keep_in_reach();
    return std::move(program_);
  }

 private:
  // The messages of a section over the wire, by area and peer: the parts of the message that is being sent, the operations that
  // expect messages, in their order, and whether the first of these is being received.
  struct Underway {
    std::map<std::pair<int, int>, std::vector<WirePart>> sending;
    std::map<std::pair<int, int>, std::deque<std::size_t>> expected;
    std::set<std::pair<int, int>> receiving;
  };

  [[nodiscard]] int local_of(int rank) const { return peers_[static_cast<std::size_t>(rank)].local; }
  [[nodiscard]] Line* ring_of(int rank, int area) const { return segment_.lines(local_of(rank), area); }
  [[nodiscard]] Ref ref_of(const plan::Operand& operand);
  void place_blocks(const plan::Operand& operand, Ref& result);
  [[nodiscard]] Op op_of(const plan::Step& step);
  void find_signal(const plan::Step& step, Op& op);
  [[nodiscard]] bool add_to_message(const plan::Step& step, Op& op, Underway& underway, std::vector<Op>& ops);
  void add(const plan::Section& section);
  void keep_in_reach();

  const plan::Plan& plan_;
  const Segment& segment_;
  const std::vector<Peer>& peers_;
  Program program_;
  bool in_loop_ = false;
  std::uint32_t messages_ = 0;
};

// Finds where blocks lie (see Ref).
void Compiler::place_blocks(const plan::Operand& operand, Ref& result) {
  const plan::Range& range = operand.range;
  const auto ranks = static_cast<std::uint32_t>(plan_.ranks);
  const int owner = operand.rank < 0 ? plan_.rank : operand.rank;
  const auto in_buffer = [&, owners = plan_.contents.owners(plan_.ranks)](plan::Extent extent) {
    result.place = static_cast<std::uint32_t>(plan::index_in(extent, owner, range.first, owners));
    result.places = static_cast<std::uint32_t>(plan::blocks_in(extent, owners));
  };
  switch (operand.space) {
    case plan::Space::none: return;
    case plan::Space::input:
    case plan::Space::peer_input: in_buffer(plan_.contents.input); break;
    case plan::Space::output:
    case plan::Space::peer_output: in_buffer(plan_.contents.output); break;
    case plan::Space::scratch:
    case plan::Space::peer_scratch:
    case plan::Space::line:
    case plan::Space::slot:
    case plan::Space::ride: result.place = (range.first + range.of - operand.origin) % range.of; break;
  }
  if (operand.space == plan::Space::scratch)
    program_.scratch_blocks = std::max(program_.scratch_blocks, result.place + range.count);
  const bool mine = range.first / ranks == static_cast<std::uint32_t>(plan_.rank);
  result.pair = mine ? range.first % ranks : ranks + range.first / ranks;
}

Ref Compiler::ref_of(const plan::Operand& operand) {
  program_.scratch_whole |= operand.space == plan::Space::scratch && !in_loop_;
  Ref result;
  result.space = operand.space;
  result.whole = plan_.whole_scratch;
  result.area = operand.area;
  result.rank = operand.rank;
  result.range = operand.range;
  if (plan_.contents.blocks > 0) place_blocks(operand, result);
  if (operand.space == plan::Space::line || operand.space == plan::Space::slot || operand.space == plan::Space::ride) {
    result.local = local_of(operand.rank);
    result.ring = ring_of(operand.rank, operand.area);
  }
  return result;
}

Op Compiler::op_of(const plan::Step& step) {
  Op op;
  op.kind = step.kind;
  op.area = step.area;
  op.lag = step.lag;
  op.portion = step.portion;
  op.last = step.last;
  op.peer = step.peer;
  op.delegation = plan::delegation_of(step, plan_.rank);
  op.when = step.when;
  op.whose = step.whose;
  op.dst = ref_of(step.dst);
  op.dst2 = ref_of(step.dst2);
  op.a = ref_of(step.a);
  op.b = ref_of(step.b);
  if (plan_.contents.blocks > 0) op.blocks = (step.a.space != plan::Space::none ? step.a : step.dst).range.count;
  const auto near = [](const Ref& ref) {
    return ref.space == plan::Space::input || ref.space == plan::Space::output || ref.space == plan::Space::ride;
  };
  op.block = step.kind == plan::Kind::copy && op.blocks == 1 && near(op.dst) && near(op.a);
  op.plain = step.when == plan::When::always;
  for (const Ref* ref : {&op.dst, &op.dst2, &op.a, &op.b}) op.plain &= plain(*ref, op.blocks, plan_.placed);
  if (op.dst.space == plan::Space::ride && step.kind == plan::Kind::copy) {
    Program::Ridden* const last = program_.rides.empty() ? nullptr : &program_.rides.back();
    // The first block of the input follows the last one.
    if (last != nullptr && (last->part.place + last->blocks) % op.a.places == op.a.place) last->blocks += op.blocks;
    else program_.rides.push_back({op.a, op.blocks});
    program_.ride_blocks += op.blocks;
  }
  return op;
}

void Compiler::find_signal(const plan::Step& step, Op& op) {
  switch (step.kind) {
    case plan::Kind::acquire:
      op.slot = step.dst.space == plan::Space::slot;
      op.ride = step.dst.space == plan::Space::ride;
      for (const std::int32_t reader : plan_.peers_of(step)) op.locals.push_back(local_of(reader));
      break;
    case plan::Kind::post:
    case plan::Kind::publish:
      program_.publishes |= step.kind == plan::Kind::publish && !plan_.together;  // what rides is read from there
      op.ring = ring_of(plan_.rank, step.area);
      break;
    case plan::Kind::await:
      op.ring = ring_of(step.peer, step.area);
      op.publication = plan_.takes_addresses(step);
      break;
    case plan::Kind::done: op.ring = &segment_.progress(local_of(plan_.rank)); break;
    case plan::Kind::await_done: op.ring = &segment_.progress(local_of(step.peer)); break;
    default: break;
  }
}

// Returns false if the step needs no operation of its own, because the message goes on in a later one.
bool Compiler::add_to_message(const plan::Step& step, Op& op, Underway& underway, std::vector<Op>& ops) {
  if (step.kind == plan::Kind::send) {
    auto& parts = underway.sending[{step.area, step.peer}];
    if (step.a.space != plan::Space::none) parts.push_back({op.a, op.blocks});
    if (step.more) return false;
    op.message.swap(parts);
    op.message_number = messages_++;
  }
  const std::pair<int, int> channel{step.area, step.peer};
  if (step.kind == plan::Kind::expect) {
    op.message_number = messages_++;
    underway.expected[channel].push_back(ops.size());
  }
  if (step.kind == plan::Kind::receive) {
    op.begins = underway.receiving.insert(channel).second;
    auto& expected = underway.expected[channel];
    Op& whole = ops[expected.front()];
    op.message_number = whole.message_number;
    if (step.dst.space != plan::Space::none) whole.message.push_back({op.dst, op.blocks});
    if (!step.more) {
      underway.receiving.erase(channel);
      expected.pop_front();
    }
  }
  return true;
}

// If a value is made in a line and then posted, lets one operation do both. Returns false if `made` is something else.
bool posts_too(Op& made, const Op& post) {
  const bool makes = made.kind == plan::Kind::copy || made.kind == plan::Kind::reduce;
  if (!makes || made.dst.space != plan::Space::line || made.dst.ring != post.ring || made.lag != post.lag) return false;
  if (made.when != post.when || made.whose != post.whose) return false;
  made.ring = post.ring;
  made.posts = true;
  made.portion = post.portion;
  return true;
}

void note_what_leaves(std::vector<Op>& ops) {
  for (auto op = ops.begin(); op != ops.end(); ++op) {
    const auto reads = [&](const Ref& ref) {
      return ref.space == plan::Space::slot && ref.local == op->dst.local && ref.area == op->dst.area;
    };
    op->leaves = op->dst.space == plan::Space::slot &&
                 std::none_of(op + 1, ops.end(), [&](const Op& later) { return reads(later.a) || reads(later.b); });
  }
}

void Compiler::add(const plan::Section& section) {
  auto& target = program_.sections.emplace_back();
  target.loop = in_loop_ = section.loop;
  target.fragments = section.fragments;
  target.max_lag = section.max_lag;
  Underway underway;
  for (std::uint32_t i = 0; i < section.count; ++i) {
    const plan::Step& step = plan_.steps[section.first + i];
    Op op = op_of(step);
    find_signal(step, op);
    if (!add_to_message(step, op, underway, target.ops)) continue;
    if (step.kind == plan::Kind::post && !target.ops.empty() && posts_too(target.ops.back(), op)) continue;
    target.ops.push_back(std::move(op));
  }
  note_what_leaves(target.ops);
}

// Adds a wait to a program that has none: the rank waits until every other rank is at most one ring behind it, as a rank that posts
// does. Otherwise it could be any number of calls ahead, and its journal would have forgotten the calls that others ask for
// (Geometry::journal_depth).
void Compiler::keep_in_reach() {
  const auto waits = [](const Op& op) {
    return op.kind == plan::Kind::acquire || op.kind == plan::Kind::await || op.kind == plan::Kind::await_done ||
           op.kind == plan::Kind::receive || op.kind == plan::Kind::collect;
  };
  for (const Program::Section& section : program_.sections)
    if (std::any_of(section.ops.begin(), section.ops.end(), waits)) return;
  Op acquire;
  acquire.kind = plan::Kind::acquire;
  acquire.dst.space = plan::Space::line;
  acquire.dst.rank = plan_.rank;
  Program::Section first;
  first.ops.push_back(std::move(acquire));
  program_.sections.insert(program_.sections.begin(), std::move(first));
}

}  // namespace

Program compile(const plan::Plan& plan, const Segment& segment, const std::vector<Peer>& peers) {
  return Compiler(plan, segment, peers).compile();
}

}  // namespace copse::engine
