// The executor's steps.
#include "engine/executor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shape/partition.hpp"

namespace copse::engine {
namespace {

constexpr std::size_t kBounceBytes = 32768;  // what the kernel brings at a time for a reduction: stays in L1/L2

}  // namespace

Executor::Executor(Segment segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire *wire,
                   std::function<bool(int)> lost)
    : segment_(segment),
      peers_(std::move(peers)),
      me_(me),
      policy_(policy),
      wire_(wire),
      lost_(std::move(lost)),
      addresses_(peers_.size()) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank)
    if (peers_[rank].local >= 0) rank_of_local_.push_back(static_cast<int>(rank));
}

// Waiting -------------------------------------------------------------------------------------------------

inline Outcome Executor::wait_word(const Line &line, std::uint64_t ticket, int rank, const WaitPolicy &policy,
                                   std::uint32_t portion) {
  if (line.reached(ticket, portion)) return Outcome::done;
  Outcome news = Outcome::done;
  const bool reached = wait_until(
      policy, [&] { return line.reached(ticket, portion); },
      [&] {
        news = bad_news(rank);
        return news == Outcome::done || line.reached(ticket, portion);  // it may have posted, and then died
      });
  return reached || line.reached(ticket, portion) ? Outcome::done : news;
}

// Will `rank` never take its part? Because it has ended, or because somebody of this node has given up: whoever waits
// for a rank that waits for a dead one learns it so.
Outcome Executor::bad_news(int rank) {
  const bool ended = lost_ && lost_(rank);
  // After that look: a rank that gives up and then ends has said before whose fault it was.
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const std::int32_t culprit = segment_.given_up(static_cast<int>(local)).load(std::memory_order_relaxed) - 1;
    if (culprit < 0) continue;
    lost_rank_ = culprit;
    return culprit == rank_of_local_[local] ? Outcome::peer_failed : Outcome::peer_lost;
  }
  if (!ended) return Outcome::done;
  lost_rank_ = rank;
  return Outcome::peer_lost;
}

// Has every rank of the node passed `ticket`? Looks only when what is known does not suffice.
bool Executor::all_passed(std::uint64_t ticket) {
  if (static_cast<std::int64_t>(passed_ - plan::word_of(ticket)) >= 0) return true;
  std::uint64_t least = plan::word_of(ticket_);
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const std::uint64_t theirs = segment_.progress(static_cast<int>(local)).word.load(std::memory_order_acquire);
    if (static_cast<std::int64_t>(theirs - least) < 0) least = theirs;
  }
  passed_ = least;
  return static_cast<std::int64_t>(passed_ - plan::word_of(ticket)) >= 0;
}

Outcome Executor::acquire(const Op &op, const Call &call, std::uint64_t ticket) {
  std::uint64_t depth = segment_.geometry().line_depth;
  if (op.slot) depth = std::min<std::uint64_t>(depth, segment_.geometry().slots[call.slot_class].depth);
  if (ticket < depth) return Outcome::done;
  const std::uint64_t previous = ticket - depth;
  if (previous >= ticket_) {  // this call's own use: its readers are known
    for (int local : op.locals) {
      const Outcome outcome = wait_word(segment_.progress(local), previous, rank_of_local_[local]);
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }
  if (all_passed(previous)) return Outcome::done;
  // A rank that is so far ahead waits until half of its ring is free: it would else meet every single step of the
  // others, and disturb it. All that half belongs to earlier calls, which end whatever this rank does in this one.
  const std::uint64_t half = std::min(previous + depth / 2, ticket_ - 1);
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const int rank = rank_of_local_[local];
    if (rank == me_) continue;
    const Outcome outcome =
        wait_word(segment_.progress(static_cast<int>(local)), half, rank, policy_.patient());
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

// Operands ------------------------------------------------------------------------------------------------

inline Executor::Place Executor::place(const Ref &ref, const Call &call, const Fragment &fragment) {
  std::size_t offset = 0, count = fragment.count;
  if (ref.range.of != 1) {
    const shape::Chunk chunk =
        shape::Partition(fragment.count, call.element_bytes, ref.range.of).chunks(ref.range.first, ref.range.count);
    offset = chunk.first;
    count = chunk.count;
  }
  const std::size_t in_fragment = offset * call.element_bytes;
  const std::size_t in_message = in_fragment + fragment.first * call.element_bytes;
  const auto published = [&](std::uintptr_t base) {
    const Peer &peer = peers_[static_cast<std::size_t>(ref.rank)];
    const std::uintptr_t address = base + in_message;
    return Place{peer.direct(address), address, &peer, count};
  };
  switch (ref.space) {
    case plan::Space::none: break;
    case plan::Space::input:
      return {static_cast<std::byte *>(const_cast<void *>(call.input)) + in_message, 0, nullptr, count};
    case plan::Space::output: return {static_cast<std::byte *>(call.output) + in_message, 0, nullptr, count};
    case plan::Space::scratch:
      return {scratch_.data() + ref.area * scratch_stride_ + in_fragment, 0, nullptr, count};
    case plan::Space::line: {
      Line &line = ref.ring[fragment.ticket & (segment_.geometry().line_depth - 1)];
      return {line.payload + in_fragment, 0, nullptr, count};
    }
    case plan::Space::slot:
      return {segment_.slot(ref.local, ref.area, call.slot_class, fragment.ticket) + in_fragment, 0, nullptr, count};
    case plan::Space::peer_input: return published(addresses_[static_cast<std::size_t>(ref.rank)].input);
    case plan::Space::peer_output: return published(addresses_[static_cast<std::size_t>(ref.rank)].output);
  }
  return {};
}

bool Executor::fetch(const Peer &peer, std::byte *here, std::uintptr_t there, std::size_t bytes) {
  if (kernel_read(peer, here, there, bytes)) return true;
  unreached_ = &peer;
  return false;
}

bool Executor::store(const Peer &peer, const std::byte *here, std::uintptr_t there, std::size_t bytes) {
  if (kernel_write(peer, here, there, bytes)) return true;
  unreached_ = &peer;
  return false;
}

bool Executor::copy(const Place &dst, const Place &src, std::size_t element_bytes) {
  const std::size_t bytes = src.count * element_bytes;
  if (bytes == 0) return true;
  if (dst.here != nullptr && src.here != nullptr) {
    if (dst.here != src.here) kernels::copy(dst.here, src.here, bytes);
    return true;
  }
  if (dst.here != nullptr) return fetch(*src.peer, dst.here, src.there, bytes);
  if (src.here != nullptr) return store(*dst.peer, src.here, dst.there, bytes);
  return false;  // no plan moves data between two others
}

bool Executor::reduce(const Op &op, const Call &call, const Fragment &fragment) {
  const Place dst = place(op.dst, call, fragment), dst2 = place(op.dst2, call, fragment);
  const Place a = place(op.a, call, fragment), b = place(op.b, call, fragment);
  const std::size_t size = call.element_bytes;
  const Combine &combine = *call.combine;
  const bool two = op.dst2.space != plan::Space::none;
  if (a.count == 0) return true;
  if (dst.here && a.here && b.here && (!two || dst2.here)) {
    if (two && combine.kernel_two != nullptr) {
      combine.kernel_two(dst.here, dst2.here, a.here, b.here, a.count);
    } else {
      combine.apply(dst.here, a.here, b.here, a.count, size);
      if (two) kernels::copy(dst2.here, dst.here, a.count * size);
    }
    return true;
  }
  // Something is out of reach for loads and stores: bring it here a cacheful at a time.
  const std::size_t piece = std::max<std::size_t>(1, kBounceBytes / size);
  bounce_.resize(3 * piece * size);
  for (std::size_t at = 0; at < a.count; at += piece) {
    const std::size_t count = std::min(piece, a.count - at), bytes = count * size, offset = at * size;
    std::array<std::byte *, 3> bounce{};
    for (std::size_t i = 0; i < bounce.size(); ++i) bounce[i] = bounce_.data() + i * piece * size;
    const auto bring = [&](const Place &source, std::byte *&near) {
      if (source.here != nullptr) {
        near = source.here + offset;
        return true;
      }
      return fetch(*source.peer, near, source.there + offset, bytes);
    };
    const auto deliver = [&](const Place &target, const std::byte *from) {
      if (target.here == nullptr) return store(*target.peer, from, target.there + offset, bytes);
      if (target.here + offset != from) kernels::copy(target.here + offset, from, bytes);
      return true;
    };
    if (!bring(a, bounce[0]) || !bring(b, bounce[1])) return false;
    std::byte *result = dst.here != nullptr ? dst.here + offset : bounce[2];
    combine.apply(result, bounce[0], bounce[1], count, size);
    if (!deliver(dst, result) || (two && !deliver(dst2, result))) return false;
  }
  return true;
}

// Steps ---------------------------------------------------------------------------------------------------

inline Outcome Executor::step(const Op &op, const Call &call, const Fragment &fragment, bool loop) {
  const std::uint64_t mask = segment_.geometry().line_depth - 1;
  switch (op.kind) {
    case plan::Kind::acquire: return acquire(op, call, fragment.ticket);
    case plan::Kind::post: op.ring[fragment.ticket & mask].post(fragment.ticket, op.portion); return Outcome::done;
    case plan::Kind::publish: {
      Line &line = op.ring[fragment.ticket & mask];
      const Addresses mine{reinterpret_cast<std::uintptr_t>(call.input), reinterpret_cast<std::uintptr_t>(call.output)};
      std::memcpy(line.payload, &mine, sizeof mine);
      line.post(fragment.ticket);
      return Outcome::done;
    }
    case plan::Kind::await: {
      const Line &line = op.ring[fragment.ticket & mask];
      // A peer that has posted already may be further ahead: fetch its next line while this one is worked on.
      if (line.reached(fragment.ticket, op.portion)) __builtin_prefetch(&op.ring[(fragment.ticket + 1) & mask]);
      const Outcome outcome = wait_word(line, fragment.ticket, op.peer, policy_, op.portion);
      if (op.publication && outcome == Outcome::done)
        std::memcpy(&addresses_[static_cast<std::size_t>(op.peer)], line.payload, sizeof(Addresses));
      return outcome;
    }
    case plan::Kind::copy:
    case plan::Kind::reduce: {
      const bool moved =
          op.kind == plan::Kind::reduce
              ? reduce(op, call, fragment)
              : copy(place(op.dst, call, fragment), place(op.a, call, fragment), call.element_bytes);
      if (moved && op.posts) op.ring[fragment.ticket & mask].post(fragment.ticket, op.portion);
      return moved ? Outcome::done : Outcome::reach_failed;
    }
    case plan::Kind::done: op.ring->post(loop ? fragment.ticket : ticket_ + fragments_ - 1); return Outcome::done;
    case plan::Kind::await_done: return wait_word(*op.ring, ticket_ + fragments_ - 1, op.peer);
    case plan::Kind::send: {
      const Place a = op.a.space == plan::Space::none ? Place{} : place(op.a, call, fragment);
      return wire_->send(a.here, a.count * call.element_bytes, op.peer, op.area) ? Outcome::done
                                                                                 : Outcome::wire_failed;
    }
    case plan::Kind::receive: {
      const Place dst = op.dst.space == plan::Space::none ? Place{} : place(op.dst, call, fragment);
      return wire_->receive(dst.here, dst.count * call.element_bytes, op.peer, op.area) ? Outcome::done
                                                                                        : Outcome::wire_failed;
    }
    case plan::Kind::drain: return wire_->drain(op.area) ? Outcome::done : Outcome::wire_failed;
  }
  return Outcome::done;
}

void Executor::size_scratch(const Program &program, const Call &call) {
  if (program.scratches == 0) return;
  const bool whole = program.scratch_whole || fragments_ == 1;
  const std::size_t elements = whole ? call.count : call.fragment_count;
  scratch_stride_ = (elements * call.element_bytes + 63) / 64 * 64;
  if (scratch_.size() < scratch_stride_ * program.scratches) scratch_.resize(scratch_stride_ * program.scratches);
}

// Runs with stand-ins, in the shared heap, for buffers that lie elsewhere. Their memory comes from malloc, which the
// heap's library has replaced.
Outcome Executor::run_in_heap(const Program &program, const Call &call) {
  const std::size_t bytes = call.count * call.element_bytes;
  const Peer &mine = peers_[static_cast<std::size_t>(me_)];
  const auto reachable = [&](const void *buffer) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(buffer) - mine.heap_base;
    return buffer == nullptr || bytes == 0 || (offset < mine.heap_bytes && bytes <= mine.heap_bytes - offset);
  };
  Call bound = call;
  std::vector<std::byte> input, output;
  if (!reachable(call.output)) {
    output.resize(bytes);
    bound.output = output.data();
    if (call.input == call.output) {
      std::memcpy(output.data(), call.input, bytes);
      bound.input = bound.output;
    }
  }
  if (!reachable(bound.input)) {
    input.resize(bytes);
    std::memcpy(input.data(), call.input, bytes);
    bound.input = input.data();
  }
  if (!reachable(bound.input) || !reachable(bound.output)) {  // the heap is full
    errno = ENOMEM;
    return Outcome::reach_failed;
  }
  const Outcome outcome = run_steps(program, bound);
  if (bound.output != call.output && outcome == Outcome::done) std::memcpy(call.output, bound.output, bytes);
  return outcome;
}

Outcome Executor::run(const Program &program, const Call &call) {
  Outcome outcome = heap_only_ && program.publishes ? run_in_heap(program, call) : run_steps(program, call);
  if (outcome == Outcome::done) [[likely]] return outcome;
  const int error = errno;
  if (outcome == Outcome::reach_failed && unreached_ != nullptr) {
    const int rank = static_cast<int>(unreached_ - peers_.data());
    Outcome news = bad_news(rank);
    if (news == Outcome::done && error == ESRCH) {  // it is about to have ended
      lost_rank_ = rank;
      news = Outcome::peer_lost;
    }
    if (news != Outcome::done) outcome = news;
  }
  const int culprit = outcome == Outcome::peer_lost || outcome == Outcome::peer_failed ? lost_rank_ : me_;
  segment_.given_up(peers_[static_cast<std::size_t>(me_)].local).store(culprit + 1, std::memory_order_relaxed);
  errno = error;
  return outcome;
}

Outcome Executor::run_steps(const Program &program, const Call &call) {
  fragments_ = call.fragments();
  size_scratch(program, call);
  const Fragment whole{0, call.count, ticket_};
  for (const Program::Section &section : program.sections) {
    if (!section.loop || fragments_ == 1) {
      for (const Op &op : section.ops) {
        const Outcome outcome = step(op, call, whole, section.loop);
        if (outcome != Outcome::done) [[unlikely]] return outcome;
      }
      continue;
    }
    for (std::uint64_t iteration = 0; iteration < fragments_ + section.max_lag; ++iteration) {
      for (const Op &op : section.ops) {
        const std::uint64_t f = iteration - op.lag;  // wraps below zero: no such fragment
        if (f >= fragments_) continue;
        const std::size_t first = f * call.fragment_count;
        const Fragment fragment{first, std::min(call.fragment_count, call.count - std::min(call.count, first)),
                                ticket_ + f};
        const Outcome outcome = step(op, call, fragment, true);
        if (outcome != Outcome::done) [[unlikely]] return outcome;
      }
    }
  }
  ticket_ += fragments_;
  return Outcome::done;
}

}  // namespace copse::engine
