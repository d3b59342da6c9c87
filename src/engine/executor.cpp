// The executor's loops, and what its operations ask of the engine's other parts.
#include "engine/executor.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/kernels/kernels.hpp"
#include "engine/loops.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::engine {

Executor::Executor(const Segment& segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire* wire,
                   std::function<bool(int)> lost, ScratchPool& scratches)
    : here_(segment, std::move(peers), me), signals_(here_, policy, std::move(lost)), operands_(here_, scratches),
      movement_(scratches), messages_(wire, signals_, operands_), orders_(here_) {}

void Executor::give_up() {
  signals_.blame(here_.me);
  signals_.give_up_for(here_.me);
  messages_.spoil();
}

// This is safe because a line that reads as zeros belongs to no ticket, and others wait only for the lines of later tickets.
bool Executor::give_memory_back() {
  if (here_.segment.geometry().helpers > 0 || !signals_.nobody_reads()) return false;
  forget_pages(here_.segment.rings(here_.me_here));
  operands_.forget_scratch();
  return true;
}

// Operations ----------------------------------------------------------------------------------------------

inline Outcome Executor::acquire(const Op& op, const Call& call, std::uint64_t ticket) {
  std::uint64_t depth = signals_.mask() + 1;
  const std::int32_t slots = operands_.slots_of(op, call);
  if (slots != Addresses::kStays && slots != Addresses::kBehind)
    depth = std::min<std::uint64_t>(depth, geometry().slots[static_cast<std::size_t>(slots)].depth);
  return signals_.acquire(op.locals, ticket, depth);
}

[[gnu::always_inline]] inline Outcome Executor::await(const Op& op, const Call& call, std::uint64_t ticket) {
  const Outcome outcome = signals_.await(op.ring, ticket, op.portion, op.peer);
  if (!op.publication || outcome != Outcome::done) return outcome;
  const Addresses& theirs = operands_.take_publication(op.peer, op.ring[ticket & signals_.mask()].payload);
  // If a block does not ride, its publication says how long it is. If another rank writes it, this rank learns that only here.
  if (theirs.ride == Addresses::kStays && call.untold && theirs.ride_blocks == 1 && call.output_blocks != nullptr)
    note_cut_off(op.peer, theirs.given, call.output_blocks[op.peer].count);
  return outcome;
}

void Executor::publish(const Op& op, const Call& call, std::uint64_t ticket) {
  operands_.publish(call, op.ring[ticket & signals_.mask()].payload);
  signals_.post_whole(op.ring, ticket);
}

// Calls visit(where) for each run of blocks until it returns false. where(ref) is the place of one of op's operands.
template <class Visit>
inline bool Executor::each_run(const Op& op, const Call& call, const Fragment& fragment, Visit&& visit) {
  if (op.blocks == 0) [[likely]]
    return visit([&](const Ref& ref) { return operands_.place(ref, call, fragment); });
  for (std::uint32_t number = 0; number < op.blocks;) {
    std::uint32_t run = call.ragged ? 1 : op.blocks - number;  // the blocks of a ragged call are not contiguous
    if (run > 1)
      for (const Ref* ref : {&op.dst, &op.dst2, &op.a, &op.b}) run = operands_.run_of(*ref, call, fragment, number, run);
    if (!visit([&](const Ref& ref) { return operands_.block(ref, call, fragment, number, run); })) return false;
    number += run;
  }
  return true;
}

inline Outcome Executor::move(const Op& op, const Call& call, const Fragment& fragment) {
  if (op.dst.space == plan::Space::ride) {
    operands_.load_ride(op, call, fragment.ticket, movement_.slot_stores().past_from());
    return Outcome::done;
  }
  const std::size_t result = call.count * call.element_bytes * std::max<std::uint32_t>(1, op.dst.places);
  const std::size_t past_from = op.last && result >= movement_.streams_from() ? 0 : SIZE_MAX;
  const auto reduce = [&](auto where) {
    return movement_.reduce(op, call, where(op.dst), where(op.dst2), where(op.a), where(op.b));
  };
  const auto copy = [&](auto where) {
    const Located dst = where(op.dst), src = where(op.a);
    if (call.untold && op.dst.space == plan::Space::output)
      note_cut_off(op.a.rank < 0 ? here_.me : op.a.rank, src.count, dst.count);
    if (op.leaves) return movement_.copy_to_slot(dst, src, call.element_bytes);
    return movement_.copy(dst, src, call.element_bytes, past_from);
  };
  const bool moved = op.kind == plan::Kind::reduce ? each_run(op, call, fragment, reduce) : each_run(op, call, fragment, copy);
  if (moved && op.posts) signals_.post(op.ring, fragment.ticket, op.portion);
  return moved ? Outcome::done : Outcome::reach_failed;
}

// In a call with tables, copies one block between this rank's buffers, or between a buffer and a ride.
void Executor::copy_block(const Op& op, const Call& call, std::uint64_t ticket) {
  if (op.dst.space == plan::Space::ride) return operands_.load_ride(op, call, ticket, movement_.slot_stores().past_from());
  const Operands::OneBlock dst = operands_.one_block(op.dst, call, ticket), src = operands_.one_block(op.a, call, ticket);
  if (call.untold) note_cut_off(op.a.rank < 0 ? here_.me : op.a.rank, src.count, dst.count);
  const std::size_t bytes = std::min(dst.count, src.count) * call.element_bytes;
  if (bytes > 0 && dst.at != src.at) kernels::copy(dst.at, src.at, bytes);
}

[[gnu::always_inline]] inline Outcome Executor::step(const Op& op, const Call& call, const Fragment& fragment, bool loop) {
  if (op.when != plan::When::always && !operands_.holds(op)) return Outcome::done;
  const auto last = [&] { return signals_.ticket() + fragments_ - 1; };  // the call's last ticket
  switch (op.kind) {
    case plan::Kind::acquire: return acquire(op, call, fragment.ticket);
    case plan::Kind::post: signals_.post(op.ring, fragment.ticket, op.portion); return Outcome::done;
    case plan::Kind::publish: publish(op, call, fragment.ticket); return Outcome::done;
    case plan::Kind::await: return await(op, call, fragment.ticket);
    case plan::Kind::copy:
    case plan::Kind::reduce: return move(op, call, fragment);
    case plan::Kind::done: op.ring->pass(loop ? fragment.ticket : last()); return Outcome::done;
    case plan::Kind::await_done: return signals_.await_passed(*op.ring, last(), op.peer);
    case plan::Kind::send: return messages_.send(op, call, fragment);
    case plan::Kind::expect: return messages_.expect(op, call, fragment);
    case plan::Kind::receive: return receive(op, call, fragment);
    case plan::Kind::drain: return messages_.drain(op.area, loop ? fragment.ticket : last());
    case plan::Kind::delegate: return messages_.delegate(op, call, fragment);
    case plan::Kind::collect: return messages_.collect(op.area, fragment.ticket);
  }
  return Outcome::done;
}

// Loops ---------------------------------------------------------------------------------------------------

// This is run_steps for the calls that need the least (loops.hpp), with everything else left out.
Outcome Executor::run_whole(const Program& program, const Call& call) {
  const std::uint64_t ticket = signals_.ticket(), mask = signals_.mask();
  const std::size_t block_bytes = call.count * call.element_bytes;
  const Fragment whole{0, call.count, ticket};
  const auto where = [&](const Ref& ref) -> std::byte* {
    std::byte* base = nullptr;
    switch (ref.space) {
      case plan::Space::input: base = static_cast<std::byte*>(const_cast<void*>(call.input)); break;
      case plan::Space::output: base = static_cast<std::byte*>(call.output); break;
      case plan::Space::scratch: base = operands_.scratch(ref.area, ticket); break;
      case plan::Space::line: base = ref.ring[ticket & mask].payload; break;
      case plan::Space::slot: base = here_.segment.slot(ref.local, ref.area, call.slot_class, ticket); break;
      case plan::Space::peer_input: base = call.window->input_of(ref.rank); break;  // plain only in placed plans
      case plan::Space::peer_output: base = call.window->output_of(ref.rank); break;
      default: break;
    }
    return base + ref.place * block_bytes;
  };
  const bool matters = block_bytes >= movement_.slot_stores().matters_from();
  for (const Program::Section& section : program.sections) {
    if (section.fragments == plan::LoopFragments::but_last) continue;
    for (const Op& op : section.ops) {
      if (op.block && call.ragged) {
        if (op.when == plan::When::always || operands_.holds(op)) copy_block(op, call, ticket);
        continue;
      }
      const bool moves = op.kind == plan::Kind::copy || op.kind == plan::Kind::reduce;
      if (!moves || !op.plain || call.ragged || (matters && op.leaves)) {
        const Outcome outcome = step(op, call, whole, section.loop);
        if (outcome != Outcome::done) [[unlikely]]
          return outcome;
        continue;
      }
      const std::size_t blocks = std::max<std::uint32_t>(1, op.blocks);
      std::byte *const dst = where(op.dst), *const a = where(op.a);
      if (op.kind == plan::Kind::copy) {
        if (dst != a) kernels::copy(dst, a, blocks * block_bytes);  // if they are equal, others may be reading there right now
      } else if (op.dst2.space == plan::Space::none) {
        call.combine->kernel(dst, a, where(op.b), blocks * call.count);
      } else {
        call.combine->kernel_two(dst, where(op.dst2), a, where(op.b), blocks * call.count);
      }
      if (op.posts) signals_.post(op.ring, ticket, op.portion);
    }
  }
  return Outcome::done;
}

// Where only the giver knows a block's size, or no rank has compared the sizes, a block may be too long. The rest of the call goes
// on, because the other ranks need it.
Outcome Executor::receive(const Op& op, const Call& call, const Fragment& fragment) {
  const Outcome outcome = messages_.receive(op, call, fragment);
  if (outcome != Outcome::truncated) return outcome;
  if (!call.untold && !call.alike) return Outcome::wire_failed;
  const bool has_room_alone = call.output_blocks == nullptr || call.alike;
  note_cut_off(op.peer, CutOff::kTooMuch, has_room_alone ? call.count : call.output_blocks[op.peer].count);
  return Outcome::done;
}

Outcome Executor::run(const Program& program, const Call& call) {
  if (signals_.refusals().aside()) [[unlikely]]
    return advance(program, call, false);
  if (why_by_steps(program, call, movement_.streams_from(), heap_only_) != nullptr) return advance(program, call, false);
  fragments_ = 1;
  signals_.refusals().note_begun(call.number, signals_.ticket());
  operands_.begin(program, call, true);
  cut_off_.from = -1;
  const Outcome outcome = run_whole(program, call);
  if (outcome == Outcome::done && !operands_.borrows() && !messages_.much()) [[likely]] {
    signals_.end_call(1);
    return outcome;
  }
  return end(outcome == Outcome::refused ? signals_.leave(signals_.ticket()) : outcome);
}

// Finds the ticket of the next call, after refused calls.
Outcome Executor::rejoin(const Call& call, bool polling) {
  signals_.poll(polling);
  const Outcome outcome = signals_.rejoin(call.number);
  signals_.poll(false);
  moved_ = false;
  return outcome;
}

Outcome Executor::begin(const Program& program, const Call& call) {
  Refusals& refusals = signals_.refusals();
  if (heap_only_ && program.publishes) {
    stand_ins_.emplace(program, call, here_.me, here_.peer(here_.me));
    if (stand_ins_->call() == nullptr) {
      stand_ins_.reset();
      return Outcome::reach_failed;
    }
  }
  fragments_ = call.fragments();
  standing_ = {};
  standing_.begun = true;
  refusals.note_begun(call.number, signals_.ticket());
  if (call.order != nullptr) [[unlikely]]
    orders_.give(*call.order, signals_.ticket());
  operands_.begin(program, call, fragments_ == 1);
  cut_off_ = {};
  if (refusals.aside()) [[unlikely]]
    refusals.forget();
  return Outcome::done;
}

Outcome Executor::end(Outcome outcome) {
  standing_.begun = false;
  if (outcome == Outcome::done || outcome == Outcome::refused) [[likely]] {
    signals_.end_call(fragments_);
    operands_.end();
    messages_.shrink();
    return outcome;
  }
  const int error = errno;
  if (outcome == Outcome::reach_failed && movement_.unreached() != nullptr) {
    const int rank = static_cast<int>(movement_.unreached() - here_.peers.data());
    Outcome news = signals_.bad_news(rank);
    if (news == Outcome::done && error == ESRCH) {  // the process is about to have ended
      signals_.blame(rank);
      news = Outcome::peer_lost;
    }
    if (news != Outcome::done) outcome = news;
  }
  messages_.abandon();
  const bool anothers = outcome == Outcome::peer_lost || outcome == Outcome::peer_failed;
  signals_.give_up_for(anothers ? signals_.lost_rank() : here_.me);
  errno = error;
  return outcome;
}

Outcome Executor::advance(const Program& program, const Call& call, bool polling) {
  if (!standing_.begun) {
    if (signals_.refusals().aside()) [[unlikely]] {
      const Outcome outcome = rejoin(call, polling);
      if (outcome != Outcome::done) return outcome == Outcome::pending ? outcome : end(outcome);
    }
    if (const Outcome outcome = begin(program, call); outcome != Outcome::done) return end(outcome);
  }
  signals_.poll(polling);
  Outcome outcome = signals_.refusals().leaving() ? Outcome::refused : run_steps(program, stand_ins_ ? *stand_ins_->call() : call);
  if (outcome == Outcome::refused) {
    outcome = signals_.leave(signals_.ticket() + fragments_ - 1);
    moved_ = false;
  }
  signals_.poll(false);
  if (outcome == Outcome::pending) return outcome;
  moved_ = true;
  if (stand_ins_ && outcome == Outcome::done) stand_ins_->deliver();
  if (is_over(outcome)) stand_ins_.reset();  // otherwise a rank that has not noticed yet may still write there
  return end(outcome);
}

// If a wait does not end, the next run repeats the operation in hand and goes on from there.
Outcome Executor::run_steps(const Program& program, const Call& call) {
  const Standing before = standing_;
  const Fragment whole{0, call.count, signals_.ticket()};
  for (; standing_.section < program.sections.size(); ++standing_.section) {
    const Program::Section& section = program.sections[standing_.section];
    Outcome outcome = Outcome::done;
    if (section.loop && fragments_ > 1) {
      outcome = run_loop(program, section, call);
    } else if (section.fragments != plan::LoopFragments::but_last) {
      for (; standing_.op < section.ops.size() && outcome == Outcome::done; ++standing_.op)
        outcome = step(section.ops[standing_.op], call, whole, section.loop);
      if (outcome != Outcome::done) --standing_.op;
    }
    if (outcome != Outcome::done) [[unlikely]] {
      moved_ = standing_ != before;
      return outcome;
    }
    standing_.op = 0;
  }
  return Outcome::done;
}

// A helper has the calls of other communicators to move, too. So it gives its turn back now and then.
Outcome Executor::run_loop(const Program& program, const Program::Section& section, const Call& call) {
  constexpr std::uint64_t kTurn = 16;  // fragments
  for (std::uint64_t& iteration = standing_.iteration; iteration < fragments_ + section.max_lag; ++iteration) {
    for (std::size_t& op = standing_.op; op < section.ops.size(); ++op) {
      const std::uint64_t f = iteration - section.ops[op].lag;  // below zero it wraps around to the number of no fragment
      if (!plan::is_among(section.fragments, f, fragments_)) continue;
      const std::size_t first = f * call.fragment_count;
      // In a message made of blocks, the fragment is a piece of each block. block() cuts the pieces of blocks that end
      // earlier.
      const std::size_t left = program.contents.blocks > 0 ? call.fragment_count : call.count - std::min(call.count, first);
      const Fragment fragment{first, std::min(call.fragment_count, left), signals_.ticket() + f};
      const Outcome outcome = step(section.ops[op], call, fragment, true);
      if (outcome != Outcome::done) [[unlikely]]
        return outcome;
    }
    standing_.op = 0;
    if (here_.me >= here_.callers() && signals_.polling() && (iteration + 1) % kTurn == 0 &&
        iteration + 1 < fragments_ + section.max_lag) {
      ++iteration;
      return Outcome::pending;
    }
  }
  standing_.iteration = 0;
  return Outcome::done;
}

}  // namespace copse::engine
