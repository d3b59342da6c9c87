// Plans to programs.
#include "engine/program.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace copse::engine {

namespace {

// Is the operand where this rank loads and stores, `blocks` (0: all of the message) in a row?
bool plain(const Ref &ref, std::uint32_t blocks) {
  switch (ref.space) {
    case plan::Space::none: return true;
    case plan::Space::input:
    case plan::Space::output:
    case plan::Space::scratch:
    case plan::Space::line:
    case plan::Space::slot: break;
    default: return false;
  }
  return blocks == 0 ? ref.range.of == 1 : ref.places == 0 || ref.place + blocks <= ref.places;
}

}  // namespace

Program compile(const plan::Plan &plan, const Segment &segment, const std::vector<Peer> &peers) {
  auto local_of = [&](std::int32_t rank) { return peers[static_cast<std::size_t>(rank)].local; };
  auto ring_of = [&](std::int32_t rank, int area) { return segment.lines(local_of(rank), area); };
  Program program;
  program.pack = plan.pack;
  program.contents = plan.contents;
  program.ranks = plan.ranks;
  bool in_loop = false;
  std::uint32_t messages = 0;
  // Where blocks lie: see Ref.
  const plan::Contents &contents = plan.contents;
  const auto ranks = static_cast<std::uint32_t>(plan.ranks);
  auto place_blocks = [&](const plan::Operand &operand, Ref &result) {
    const plan::Range &range = operand.range;
    const int owner = operand.rank < 0 ? plan.rank : operand.rank;
    const auto in_buffer = [&](plan::Extent extent) {
      result.place = static_cast<std::uint32_t>(plan::index_in(extent, owner, range.first, plan.ranks));
      result.places = static_cast<std::uint32_t>(plan::blocks_in(extent, plan.ranks));
    };
    switch (operand.space) {
      case plan::Space::none: return;
      case plan::Space::input:
      case plan::Space::peer_input: in_buffer(contents.input); break;
      case plan::Space::output:
      case plan::Space::peer_output: in_buffer(contents.output); break;
      case plan::Space::scratch:
      case plan::Space::peer_scratch:
      case plan::Space::line:
      case plan::Space::slot:
      case plan::Space::ride: result.place = (range.first + range.of - operand.origin) % range.of; break;
    }
    if (operand.space == plan::Space::scratch)
      program.scratch_blocks = std::max(program.scratch_blocks, result.place + range.count);
    const bool mine = range.first / ranks == static_cast<std::uint32_t>(plan.rank);
    result.pair = mine ? range.first % ranks : ranks + range.first / ranks;
  };
  auto ref = [&](const plan::Operand &operand) {
    program.scratch_whole |= operand.space == plan::Space::scratch && !in_loop;
    Ref result;
    result.space = operand.space;
    result.whole = plan.whole_scratch;
    result.area = operand.area;
    result.rank = operand.rank;
    result.range = operand.range;
    if (contents.blocks > 0) place_blocks(operand, result);
    if (operand.space == plan::Space::line || operand.space == plan::Space::slot || operand.space == plan::Space::ride) {
      result.local = local_of(operand.rank);
      result.ring = ring_of(operand.rank, operand.area);
    }
    return result;
  };

  program.scratches = plan.scratches;
  program.scratch_whole = plan.whole_scratch;
  program.slots = plan.slots;
  program.one_fragment = plan.one_fragment;
  program.together = plan.together;
  for (const plan::Section &section : plan.sections) {
    // By area and peer: the parts of the message that is being sent, and where in the section one is being received.
    std::map<std::pair<int, int>, std::vector<WirePart>> sending;
    std::map<std::pair<int, int>, std::size_t> receiving;
    auto &target = program.sections.emplace_back();
    target.loop = in_loop = section.loop;
    target.turns = section.turns;
    target.max_lag = section.max_lag;
    for (std::uint32_t i = 0; i < section.count; ++i) {
      const plan::Step &step = plan.steps[section.first + i];
      Op op;
      op.kind = step.kind;
      op.area = step.area;
      op.lag = step.lag;
      op.portion = step.portion;
      op.last = step.last;
      op.peer = step.peer;
      op.dst = ref(step.dst);
      op.dst2 = ref(step.dst2);
      op.a = ref(step.a);
      op.b = ref(step.b);
      if (contents.blocks > 0) op.blocks = (step.a.space != plan::Space::none ? step.a : step.dst).range.count;
      const auto near = [](const Ref &ref) {
        return ref.space == plan::Space::input || ref.space == plan::Space::output || ref.space == plan::Space::ride;
      };
      op.block = step.kind == plan::Kind::copy && op.blocks == 1 && near(op.dst) && near(op.a);
      op.plain = step.when == plan::When::always && plain(op.dst, op.blocks) && plain(op.dst2, op.blocks) && plain(op.a, op.blocks) && plain(op.b, op.blocks);
      op.when = step.when;
      op.whose = step.whose;
      // What rides in several parts is consecutive in the input, after whose last block the first comes again.
      if (op.dst.space == plan::Space::ride && step.kind == plan::Kind::copy) {
        if (program.ride_blocks == 0) program.ride = op.a;
        program.ride_blocks += op.blocks;
      }
      switch (step.kind) {
        case plan::Kind::acquire:
          op.slot = step.dst.space == plan::Space::slot;
          op.ride = step.dst.space == plan::Space::ride;
          for (std::int32_t reader : plan.peers_of(step)) op.locals.push_back(local_of(reader));
          break;
        case plan::Kind::post:
        case plan::Kind::publish:
          program.publishes |= step.kind == plan::Kind::publish;
          op.ring = ring_of(plan.rank, step.area); break;
        case plan::Kind::await:
          op.ring = ring_of(step.peer, step.area);
          op.publication = step.area == plan::kPublishArea;
          break;
        case plan::Kind::done: op.ring = &segment.progress(local_of(plan.rank)); break;
        case plan::Kind::await_done: op.ring = &segment.progress(local_of(step.peer)); break;
        case plan::Kind::send: {
          auto &parts = sending[{step.area, step.peer}];
          if (step.a.space != plan::Space::none) parts.push_back({op.a, op.blocks});
          if (step.more) continue;
          op.message.swap(parts);
          op.message_number = messages++;
          break;
        }
        case plan::Kind::receive: {
          const auto [first, begins] = receiving.try_emplace({step.area, step.peer}, target.ops.size());
          Op &whole = begins ? op : target.ops[first->second];
          op.message_number = begins ? messages++ : whole.message_number;
          if (step.dst.space != plan::Space::none) whole.message.push_back({op.dst, op.blocks});
          if (!step.more) receiving.erase(first);
          break;
        }
        default: break;
      }
      if (step.kind == plan::Kind::post && !target.ops.empty()) {
        Op &last = target.ops.back();
        if (last.dst.space == plan::Space::line && last.dst.ring == op.ring && last.lag == op.lag &&
            (last.kind == plan::Kind::copy || last.kind == plan::Kind::reduce)) {
          last.ring = op.ring;
          last.posts = true;
          last.portion = op.portion;
          continue;
        }
      }
      target.ops.push_back(std::move(op));
    }
    for (auto op = target.ops.begin(); op != target.ops.end(); ++op) {
      const auto reads = [&](const Ref &ref) {
        return ref.space == plan::Space::slot && ref.local == op->dst.local && ref.area == op->dst.area;
      };
      op->leaves = op->dst.space == plan::Space::slot && std::none_of(op + 1, target.ops.end(), [&](const Op &later) {
                     return reads(later.a) || reads(later.b);
                   });
    }
  }
  return program;
}

}  // namespace copse::engine
