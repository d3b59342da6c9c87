// The executor's steps.
#include "engine/executor.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "shape/partition.hpp"

namespace copse::engine {
namespace {

constexpr std::uint64_t kForgetEvery = std::uint64_t{1} << 46;  // tickets: at 60 ns each, 48 days
constexpr std::uint64_t kWrittenAhead = 8;  // so many tickets before its turn a line is made ready to be written
constexpr std::size_t kStripBytes = 4096;  // of a reduction that goes past the caches: stays in L1
constexpr std::size_t kBounceBytes = 32768;  // what the kernel brings at a time for a reduction: stays in L1/L2
constexpr std::size_t kScratchKept = std::size_t{16} << 20;  // NUMACol 3

}  // namespace

Executor::Executor(Segment segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire *wire,
                   std::function<bool(int)> lost)
    : segment_(segment),
      peers_(std::move(peers)),
      me_(me),
      policy_(policy),
      wire_(wire),
      lost_(std::move(lost)),
      journal_(segment_.journal(peers_[static_cast<std::size_t>(me)].local)),
      journal_mask_(segment_.geometry().journal_depth() - 1),
      addresses_(peers_.size()) {
  for (std::size_t rank = 0; rank < peers_.size(); ++rank)
    if (peers_[rank].local >= 0) rank_of_local_.push_back(static_cast<int>(rank));
}

// Waiting -------------------------------------------------------------------------------------------------

inline Outcome Executor::wait_passed(const Line &progress, std::uint64_t ticket, int rank, const WaitPolicy &policy) {
  const auto passed = [&progress, ticket] { return progress.passed(ticket); };
  if (passed() || (!polling_ && spin_until(policy, passed))) return Outcome::done;
  return wait_long(passed, rank, policy);
}

inline void Executor::post(const Op &op, std::uint64_t ticket) {
  const std::uint64_t mask = segment_.geometry().line_depth - 1;
  op.ring[ticket & mask].post(ticket, op.portion);
  fetch_to_write(&op.ring[(ticket + kWrittenAhead) & mask]);
}

// When spinning was in vain.
template <class Ready>
[[gnu::noinline, gnu::cold]] Outcome Executor::wait_long(const Ready &ready, int rank, const WaitPolicy &policy) {
  if (polling_) {
    // Whether the other still lives is looked at by the clock, as in wait_until: a poll may take a turn of the processor.
    if (++polls_ % 32 != 0) return Outcome::pending;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_look_) return Outcome::pending;
    next_look_ = now + kWatchEvery;
    const Outcome news = bad_news(rank);
    if (ready()) return Outcome::done;
    return news == Outcome::done ? Outcome::pending : news;
  }
  Outcome news = Outcome::done;
  const bool came = wait_beyond_spinning(
      policy, ready,
      [&] {
        news = bad_news(rank);
        return news == Outcome::done || ready();  // it may have posted, and then died
      },
      idle_);
  return came || ready() ? Outcome::done : news;
}

Outcome Executor::wait_for(const std::function<bool()> &ready, int rank) {
  return ready() ? Outcome::done : wait_long(ready, rank, policy_);
}

// A peer that has posted already may be further ahead: its next line is fetched while this one is worked on. Not more of
// them, nor from one that is not ahead: it would have to win back what it is about to write.
inline Outcome Executor::wait_line(const Op &op, std::uint64_t ticket) {
  const std::uint64_t mask = segment_.geometry().line_depth - 1;
  const Line &line = op.ring[ticket & mask];
  const auto reached = [&line, ticket, portion = op.portion] { return line.reached(ticket, portion); };
  if (reached()) {
    __builtin_prefetch(&op.ring[(ticket + 1) & mask]);
    return Outcome::done;
  }
  if (!polling_ && spin_until(policy_, reached)) return Outcome::done;
  return wait_long(reached, op.peer, policy_);
}

// Will `rank` never take its part? Because it has ended, or because somebody of this node has given up: whoever waits
// for a rank that waits for a dead one learns it so.
Outcome Executor::bad_news(int rank) {
  const bool ended = lost_ && [&] {
    const CancelDeferred deferred;
    return lost_(rank);
  }();
  // After that look: a rank that gives up and then ends has said before whose fault it was. Its own word counts more than
  // that of a rank that has heard of it, such as this one's from another lane.
  std::int32_t heard_of = -1;
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const std::int32_t culprit = segment_.given_up(static_cast<int>(local)).load(std::memory_order_relaxed) - 1;
    if (culprit < 0) continue;
    heard_of = culprit;
    if (culprit != rank_of_local_[local]) continue;
    lost_rank_ = culprit;
    return Outcome::peer_failed;
  }
  if (heard_of < 0) {  // whoever has refused this call may end as it likes
    const Outcome refused = refused_by_another();
    if (refused != Outcome::done || !ended) return refused;
  }
  lost_rank_ = heard_of >= 0 ? heard_of : rank;
  return Outcome::peer_lost;
}

bool Executor::all_passed(std::uint64_t ticket) {
  if (known_passed(ticket)) return true;
  std::uint64_t least = ticket_;
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const std::uint64_t theirs = segment_.progress(static_cast<int>(local)).word.load(std::memory_order_acquire);
    if (static_cast<std::int64_t>(theirs - least) < 0) least = theirs;
  }
  passed_ = least;
  return known_passed(ticket);
}

inline Outcome Executor::acquire(const Op &op, const Call &call, std::uint64_t ticket) {
  std::uint64_t depth = segment_.geometry().line_depth;
  const int slot = op.slot ? call.slot_class : op.ride && ride_ != kBehind ? ride_ : kStays;
  if (slot != kStays)
    depth = std::min<std::uint64_t>(depth, segment_.geometry().slots[static_cast<std::size_t>(slot)].depth);
  return acquire_ring(op, ticket, depth);
}

Outcome Executor::acquire_ring(const Op &op, std::uint64_t ticket, std::uint64_t depth) {
  if (known_passed(ticket - depth)) return Outcome::done;
  return acquire_long(op, ticket, depth);
}

Outcome Executor::acquire_long(const Op &op, std::uint64_t ticket, std::uint64_t depth) {
  const std::uint64_t previous = ticket - depth;
  if (static_cast<std::int64_t>(previous - ticket_) >= 0) {  // this call's own use: its readers are known
    for (int local : op.locals) {
      const Outcome outcome = wait_passed(segment_.progress(local), previous, rank_of_local_[local], policy_);
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }
  if (all_passed(previous)) return Outcome::done;
  // A rank that is so far ahead waits until half of its ring is free: it would else meet every single step of the
  // others, and disturb it. All that half belongs to earlier calls, which end whatever this rank does in this one.
  const std::uint64_t half = previous + std::min(depth / 2, ticket_ - 1 - previous);
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const int rank = rank_of_local_[local];
    if (rank == me_) continue;
    const Outcome outcome =
        wait_passed(segment_.progress(static_cast<int>(local)), half, rank, policy_.patient());
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

void Executor::begin_at(std::uint64_t ticket) {
  ticket_ = passed_ = ticket;
  segment_.progress(peers_[static_cast<std::size_t>(me_)].local).pass(ticket - 1);
}

// The 48 bits that a line keeps of its ticket must not come round while it still holds them: an area that is seldom used,
// or never again, would seem to be posted. No rank waits for tickets so old.
void Executor::forget_old_lines() {
  Line *const lines = segment_.lines(peers_[static_cast<std::size_t>(me_)].local, 0);
  const std::size_t count = std::size_t{segment_.geometry().areas} * segment_.geometry().line_depth;
  for (std::size_t i = 0; i < count; ++i)
    if (lines[i].older_than(kForgetEvery, ticket_)) lines[i].word.store(0, std::memory_order_relaxed);
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
  return at(ref, call, fragment, in_fragment, in_fragment + fragment.first * call.element_bytes, count);
}

inline Executor::Place Executor::at(const Ref &ref, const Call &call, const Fragment &fragment, std::size_t in_fragment,
                                    std::size_t in_message, std::size_t count) {
  const auto published = [&](std::uintptr_t address) {
    const Peer &peer = peers_[static_cast<std::size_t>(ref.rank)];
    return Place{peer.direct(address), address, &peer, count};
  };
  switch (ref.space) {
    case plan::Space::none: break;
    case plan::Space::input:
      return {static_cast<std::byte *>(const_cast<void *>(call.input)) + in_message, 0, nullptr, count};
    case plan::Space::output: return {static_cast<std::byte *>(call.output) + in_message, 0, nullptr, count};
    case plan::Space::scratch:
      return {scratch_.data() + ref.area * scratch_stride_ + (ref.whole ? in_message : in_fragment), 0, nullptr, count};
    case plan::Space::line: {
      Line &line = ref.ring[fragment.ticket & (segment_.geometry().line_depth - 1)];
      return {line.payload + in_fragment, 0, nullptr, count};
    }
    case plan::Space::slot:
      return {segment_.slot(ref.local, ref.area, call.slot_class, fragment.ticket) + in_fragment, 0, nullptr, count};
    case plan::Space::peer_input: return published(addresses_[static_cast<std::size_t>(ref.rank)].input + in_message);
    case plan::Space::peer_output: return published(addresses_[static_cast<std::size_t>(ref.rank)].output + in_message);
    case plan::Space::peer_scratch: {
      const Addresses &theirs = addresses_[static_cast<std::size_t>(ref.rank)];
      return published(theirs.scratch + ref.area * theirs.scratch_stride + in_message);
    }
    case plan::Space::ride: break;  // made of blocks: ridden()
  }
  return {};
}

std::uint32_t Executor::run_of(const Ref &ref, const Call &call, const Fragment &fragment, std::uint32_t number,
                               std::uint32_t most) const {
  if (ref.space == plan::Space::none) return most;
  if (ref.space == plan::Space::ride) return 1;
  if (call.ragged || fragment.count != call.count) return 1;  // pieces of blocks do not touch each other
  if (ref.places == 0) return most;
  return std::min(most, ref.places - (ref.place + number) % ref.places);
}

Executor::Place Executor::block(const Ref &ref, const Call &call, const Fragment &fragment, std::uint32_t number,
                                std::uint32_t run) {
  if (ref.space == plan::Space::ride) {
    const OwnBlock found = ridden(ref, number, call.element_bytes, fragment.ticket);
    return {found.at, 0, nullptr, found.count};
  }
  const std::size_t size = call.element_bytes;
  if (!call.ragged) {
    const std::size_t place = ref.places == 0 ? ref.place + number : (ref.place + number) % ref.places;
    const std::size_t left = call.count - std::min(call.count, fragment.first);
    const std::size_t count = run > 1 ? run * call.count : std::min(left, fragment.count);
    return at(ref, call, fragment, place * fragment.count * size, (place * call.count + fragment.first) * size, count);
  }
  const auto nth = [number](std::uint32_t first, std::uint32_t end) {
    return end == 0 ? first + number : (first + number) % end;
  };
  const auto ranks = static_cast<std::uint32_t>(peers_.size());
  const std::size_t place = nth(ref.place, ref.places);
  std::size_t whole = call.one_way            ? (ref.places == 1 ? call.own : ~std::size_t{0})  // else tables say it
                      : call.sizes != nullptr ? call.sizes[nth(ref.range.first, ref.range.of)]
                      : ref.pair < ranks      ? call.input_blocks[ref.pair + number].count
                                              : call.output_blocks[ref.pair - ranks].count;
  Block entry{static_cast<std::ptrdiff_t>(place * call.count * size), whole};  // as in a scratch
  bool known = true;
  // Never more than the buffer's owner says there is: what the ranks say may differ.
  const auto look_up = [&](const Block *table) {
    if (table != nullptr) entry = table[place];
  };
  const auto look_up_there = [&](std::uintptr_t table) {
    if (table == 0) return;
    const Peer &peer = peers_[static_cast<std::size_t>(ref.rank)];
    const std::uintptr_t there = table + place * sizeof entry;
    if (const std::byte *here = peer.direct(there)) {
      std::memcpy(&entry, here, sizeof entry);
    } else {
      known = fetch(peer, reinterpret_cast<std::byte *>(&entry), there, sizeof entry);
    }
  };
  switch (ref.space) {
    case plan::Space::input: look_up(call.input_blocks); break;
    case plan::Space::output: look_up(call.output_blocks); break;
    case plan::Space::peer_input: look_up_there(addresses_[static_cast<std::size_t>(ref.rank)].input_blocks); break;
    case plan::Space::peer_output: look_up_there(addresses_[static_cast<std::size_t>(ref.rank)].output_blocks); break;
    default: break;
  }
  whole = std::min(whole, entry.count);
  const std::size_t count =
      call.one_way ? whole : std::min(whole - std::min(whole, fragment.first), fragment.count);
  Place result = at(ref, call, fragment, place * fragment.count * size,
                    static_cast<std::size_t>(entry.place) + fragment.first * size, count);
  result.known = known;
  return result;
}

template <class Visit>
inline bool Executor::each_run(const Op &op, const Call &call, const Fragment &fragment, Visit &&visit) {
  if (op.blocks == 0) [[likely]] return visit([&](const Ref &ref) { return place(ref, call, fragment); });
  for (std::uint32_t number = 0; number < op.blocks;) {
    std::uint32_t run = call.ragged ? 1 : op.blocks - number;  // pieces of blocks do not touch each other
    if (run > 1)
      for (const Ref *ref : {&op.dst, &op.dst2, &op.a, &op.b}) run = run_of(*ref, call, fragment, number, run);
    bool known = true;
    const bool moved = visit([&](const Ref &ref) {
      const Place where = block(ref, call, fragment, number, run);
      known &= where.known;
      return where;
    });
    if (!moved || !known) return false;
    number += run;
  }
  return true;
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

// Before stores to another process's heap: its pages become mapped here at their first touch, by a store one at a time,
// by a load all that lie around it (the kernel's fault-around).
void Executor::meet_pages(const Place &place, std::size_t bytes) {
  constexpr std::uintptr_t kAround = 65536;
  if (place.peer == nullptr || place.peer->same_process || bytes == 0) return;
  const std::byte *const end = place.here + bytes;
  for (const std::byte *at = place.here; at < end; at += kAround - reinterpret_cast<std::uintptr_t>(at) % kAround)
    static_cast<void>(*static_cast<const volatile std::byte *>(at));
}

bool Executor::copy(const Place &dst, const Place &src, std::size_t element_bytes, std::size_t stream_from) {
  if (!dst.known || !src.known) return false;
  const std::size_t bytes = std::min(dst.count, src.count) * element_bytes;
  if (bytes == 0) return true;
  if (dst.here != nullptr && src.here != nullptr) {
    meet_pages(dst, bytes);
    if (dst.here != src.here) kernels::copy_or_stream(dst.here, src.here, bytes, stream_from);
    return true;
  }
  if (dst.here != nullptr) return fetch(*src.peer, dst.here, src.there, bytes);
  if (src.here != nullptr) return store(*dst.peer, src.here, dst.there, bytes);
  return false;  // no plan moves data between two others
}

bool Executor::copy_to_slot(const Place &dst, const Place &src, std::size_t element_bytes) {
  const std::size_t bytes = std::min(dst.count, src.count) * element_bytes;
  if (!slot_stores_.asks(bytes)) return copy(dst, src, element_bytes, slot_stores_.past_from());
  const auto begin = std::chrono::steady_clock::now();
  const bool copied = copy(dst, src, element_bytes, SIZE_MAX);
  slot_stores_.took(bytes, std::chrono::steady_clock::now() - begin);
  return copied;
}

namespace {

// Into `far`, and into `near` unless that is null: made where it stays in the first cache, and sent on from there.
void reduce_past_caches(const Combine &combine, std::byte *far, std::byte *near, const std::byte *a, const std::byte *b,
                        std::size_t count, std::size_t element_bytes) {
  alignas(64) std::array<std::byte, kStripBytes> strip;
  const std::size_t most = kStripBytes / element_bytes;
  for (std::size_t first = 0; first < count; first += most) {
    const std::size_t elements = std::min(most, count - first), at = first * element_bytes;
    std::byte *const result = near != nullptr ? near + at : strip.data();
    combine.apply(result, a + at, b + at, elements, element_bytes);
    kernels::copy_streaming(far + at, result, elements * element_bytes);
  }
}

}  // namespace

bool Executor::reduce(const Op &op, const Call &call, const Place &dst, const Place &dst2, const Place &a,
                      const Place &b) {
  if (!dst.known || !dst2.known || !a.known || !b.known) return false;
  const std::size_t size = call.element_bytes;
  const Combine &combine = *call.combine;
  const bool two = op.dst2.space != plan::Space::none;
  if (a.count == 0) return true;
  if (dst.here && a.here && b.here && (!two || dst2.here)) {
    meet_pages(dst, a.count * size);
    if (two) meet_pages(dst2, a.count * size);
    if (op.leaves && a.count * size >= slot_stores_.past_from() && size <= kStripBytes) {
      reduce_past_caches(combine, dst.here, two ? dst2.here : nullptr, a.here, b.here, a.count, size);
    } else if (two && combine.kernel_two != nullptr) {
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

void Executor::publish(const Op &op, const Call &call, std::uint64_t ticket) {
  Line &line = op.ring[ticket & (segment_.geometry().line_depth - 1)];
  Addresses mine{reinterpret_cast<std::uintptr_t>(call.input),         reinterpret_cast<std::uintptr_t>(call.output),
                 reinterpret_cast<std::uintptr_t>(scratch_.data()),    reinterpret_cast<std::uintptr_t>(call.input_blocks),
                 reinterpret_cast<std::uintptr_t>(call.output_blocks), scratch_stride_, ride_, ride_blocks_, given_, call.told};
  addresses_[static_cast<std::size_t>(me_)].told = call.told;
  std::memcpy(line.payload, &mine, sizeof mine);
  post(op, ticket);
  // Addresses reach into the line's second half, which post() does not ask for.
  fetch_to_write(op.ring[(ticket + kWrittenAhead) & (segment_.geometry().line_depth - 1)].payload + 64);
}

// The wire ------------------------------------------------------------------------------------------------

// Asks the wire until it has an answer, or once if nobody waits.
template <class Ask>
inline Outcome Executor::wired(Ask &&ask) {
  Wired answer = ask();
  if (answer == Wired::pending && !polling_) {
    wait_until(
        policy_, [&] { return (answer = ask()) != Wired::pending; }, [] { return true; }, idle_);
  }
  if (answer == Wired::pending) return Outcome::pending;
  return answer == Wired::done ? Outcome::done : Outcome::wire_failed;
}

Executor::Message &Executor::message_of(const Op &op) {
  if (messages_.size() <= op.message_number) messages_.resize(op.message_number + 1);
  return messages_[op.message_number];
}

void Executor::add_pieces(const WirePart &part, const Call &call, const Fragment &fragment) {
  const auto add = [&](const Place &place) {
    const std::size_t bytes = place.count * call.element_bytes;
    if (bytes == 0) return;
    if (!pieces_.empty() && pieces_.back().at + pieces_.back().bytes == place.here) {
      pieces_.back().bytes += bytes;
    } else {
      pieces_.push_back({place.here, bytes});
    }
  };
  if (part.blocks == 0) return add(place(part.where, call, fragment));
  for (std::uint32_t number = 0; number < part.blocks;) {
    const std::uint32_t run = run_of(part.where, call, fragment, number, part.blocks - number);
    add(block(part.where, call, fragment, number, run));
    number += run;
  }
}

void Executor::find_pieces(const std::vector<WirePart> &parts, const Call &call, const Fragment &fragment) {
  pieces_.clear();
  for (const WirePart &part : parts) add_pieces(part, call, fragment);
}

// One message, packed where it does not lie together: a message costs more than the copy of many small pieces, and the
// other side may have them elsewhere. Memory of an earlier iteration is free: all was drained at its end.
Outcome Executor::send(const Op &op, const Call &call, const Fragment &fragment) {
  const auto go = [&](const void *data, std::size_t bytes) {
    return wire_->send(data, bytes, op.peer, op.area) ? Outcome::done : Outcome::wire_failed;
  };
  find_pieces(op.message, call, fragment);
  if (pieces_.empty()) return go(nullptr, 0);
  if (pieces_.size() == 1) return go(pieces_[0].at, pieces_[0].bytes);
  std::vector<std::byte> &bytes = message_of(op).bytes;
  bytes.clear();
  for (const Piece &piece : pieces_) bytes.insert(bytes.end(), piece.at, piece.at + piece.bytes);
  return go(bytes.data(), bytes.size());
}

// After a pause it asks for the same message again.
Outcome Executor::receive(const Op &op, const Call &call, const Fragment &fragment) {
  Message &message = message_of(op);
  const auto take = [&](void *data, std::size_t bytes) {
    return wired([&] { return wire_->receive(data, bytes, op.peer, op.area); });
  };
  const bool begins = !op.message.empty() || op.dst.space == plan::Space::none;
  if (begins) {
    find_pieces(op.message, call, fragment);
    if (pieces_.empty()) return take(nullptr, 0);
    // A later part's place may not be written yet.
    if (pieces_.size() == 1 && op.message.size() == 1) return take(pieces_[0].at, pieces_[0].bytes);
    std::size_t bytes = 0;
    for (const Piece &piece : pieces_) bytes += piece.bytes;
    message.bytes.resize(bytes);
    message.taken = 0;
    if (const Outcome outcome = take(message.bytes.data(), bytes); outcome != Outcome::done) return outcome;
  }
  pieces_.clear();
  add_pieces({op.dst, op.blocks}, call, fragment);
  for (const Piece &piece : pieces_) {
    kernels::copy(piece.at, message.bytes.data() + message.taken, piece.bytes);
    message.taken += piece.bytes;
  }
  return Outcome::done;
}

// Steps ---------------------------------------------------------------------------------------------------

[[gnu::always_inline]] inline Outcome Executor::step(const Op &op, const Call &call, const Fragment &fragment, bool loop) {
  const std::uint64_t mask = segment_.geometry().line_depth - 1;
  if (op.when != plan::When::always && !holds(op)) return Outcome::done;
  switch (op.kind) {
    case plan::Kind::acquire: return acquire(op, call, fragment.ticket);
    case plan::Kind::post: post(op, fragment.ticket); return Outcome::done;
    case plan::Kind::publish: publish(op, call, fragment.ticket); return Outcome::done;
    case plan::Kind::await: {
      const Outcome outcome = wait_line(op, fragment.ticket);
      if (op.publication && outcome == Outcome::done) {
        Addresses &theirs = addresses_[static_cast<std::size_t>(op.peer)];
        std::memcpy(&theirs, op.ring[fragment.ticket & mask].payload, sizeof theirs);
        stayed_ += theirs.ride == kStays ? 1 : 0;
        // What another has put into this rank's output is known from here alone: it is one block.
        if (call.one_way && theirs.ride_blocks == 1 && call.output_blocks != nullptr)
          note_cut_off(op.peer, theirs.given, call.output_blocks[op.peer].count);
      }
      return outcome;
    }
    case plan::Kind::copy:
    case plan::Kind::reduce: {
      if (op.dst.space == plan::Space::ride) {
        load_ride(op, call, fragment.ticket);
        return Outcome::done;
      }
      const std::size_t result = call.count * call.element_bytes * std::max<std::uint32_t>(1, op.dst.places);
      const std::size_t stream_from = op.last && result >= stream_from_ ? 0 : SIZE_MAX;
      const bool moved =
          op.kind == plan::Kind::reduce
              ? each_run(op, call, fragment,
                         [&](auto where) {
                           return reduce(op, call, where(op.dst), where(op.dst2), where(op.a), where(op.b));
                         })
              : each_run(op, call, fragment,
                         [&](auto where) {
                           const Place dst = where(op.dst), src = where(op.a);
                           if (call.one_way && op.dst.space == plan::Space::output)
                             note_cut_off(op.a.rank < 0 ? me_ : op.a.rank, src.count, dst.count);
                           if (op.leaves) return copy_to_slot(dst, src, call.element_bytes);
                           return copy(dst, src, call.element_bytes, stream_from);
                         });
      if (moved && op.posts) post(op, fragment.ticket);
      return moved ? Outcome::done : Outcome::reach_failed;
    }
    case plan::Kind::done: op.ring->pass(loop ? fragment.ticket : ticket_ + fragments_ - 1); return Outcome::done;
    case plan::Kind::await_done: return wait_passed(*op.ring, ticket_ + fragments_ - 1, op.peer, policy_);
    case plan::Kind::send: return send(op, call, fragment);
    case plan::Kind::receive: return receive(op, call, fragment);
    case plan::Kind::drain: return wired([&] { return wire_->drain(op.area); });
  }
  return Outcome::done;
}

inline void Executor::size_scratch(const Program &program, const Call &call) {
  if (program.scratches == 0) return;
  const bool whole = program.scratch_whole || fragments_ == 1;
  const std::size_t elements = (whole ? call.count : call.fragment_count) * program.scratch_blocks;
  scratch_stride_ = (elements * call.element_bytes + 63) / 64 * 64;
  const std::size_t bytes = scratch_stride_ * program.scratches;
  if (scratch_.size() < bytes) scratch_.resize(bytes);
}

void Executor::begin(const Program &program, const Call &call) {
  fragments_ = call.fragments();
  size_scratch(program, call);
  standing_ = {};
  standing_.begun = true;
  note_begun(call.number);
  begin_ride(program, call);
  cut_off_ = {};
}

Outcome Executor::end(Outcome outcome) {
  standing_.begun = false;
  if (outcome == Outcome::done || outcome == Outcome::refused) [[likely]] {
    const std::uint64_t first = ticket_;
    ticket_ += fragments_;
    if ((first ^ ticket_) >= kForgetEvery) [[unlikely]] forget_old_lines();
    if (scratch_.size() > kScratchKept) std::vector<std::byte>().swap(scratch_);
    for (Message &message : messages_)
      if (message.bytes.size() > kScratchKept) std::vector<std::byte>().swap(message.bytes);
    return outcome;
  }
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
  give_up_for(outcome == Outcome::peer_lost || outcome == Outcome::peer_failed ? lost_rank_ : me_);
  errno = error;
  return outcome;
}

// A call of one fragment with an operator of Copse's: the frequent one, of which the short ones take no longer than their
// instructions. It is run_steps with everything else left out.
Outcome Executor::run_whole(const Program &program, const Call &call) {
  const std::uint64_t ticket = ticket_, mask = segment_.geometry().line_depth - 1;
  const std::size_t block_bytes = call.count * call.element_bytes;
  const Fragment whole{0, call.count, ticket};
  const auto where = [&](const Ref &ref) -> std::byte * {
    std::byte *base = nullptr;
    switch (ref.space) {
      case plan::Space::input: base = static_cast<std::byte *>(const_cast<void *>(call.input)); break;
      case plan::Space::output: base = static_cast<std::byte *>(call.output); break;
      case plan::Space::scratch: base = scratch_.data() + ref.area * scratch_stride_; break;
      case plan::Space::line: base = ref.ring[ticket & mask].payload; break;
      case plan::Space::slot: base = segment_.slot(ref.local, ref.area, call.slot_class, ticket); break;
      default: break;
    }
    return base + ref.place * block_bytes;
  };
  const bool matters = block_bytes >= slot_stores_.matters_from();
  for (const Program::Section &section : program.sections) {
    if (section.turns == plan::Turns::but_last) continue;
    for (const Op &op : section.ops) {
      if (op.block && call.ragged) {
        if (op.when == plan::When::always || holds(op)) copy_block(op, call, ticket);
        continue;
      }
      const bool moves = op.kind == plan::Kind::copy || op.kind == plan::Kind::reduce;
      if (!moves || !op.plain || call.ragged || (matters && op.leaves)) {
        const Outcome outcome = step(op, call, whole, section.loop);
        if (outcome != Outcome::done) [[unlikely]] return outcome;
        continue;
      }
      const std::size_t blocks = std::max<std::uint32_t>(1, op.blocks);
      std::byte *const dst = where(op.dst), *const a = where(op.a);
      if (op.kind == plan::Kind::copy) {
        if (dst != a) kernels::copy(dst, a, blocks * block_bytes);  // in place it may be read at this moment
      } else if (op.dst2.space == plan::Space::none) {
        call.combine->kernel(dst, a, where(op.b), blocks * call.count);
      } else {
        call.combine->kernel_two(dst, where(op.dst2), a, where(op.b), blocks * call.count);
      }
      if (op.posts) post(op, ticket);
    }
  }
  return Outcome::done;
}

Outcome Executor::run(const Program &program, const Call &call) {
  if (aside_ || (heap_only_ && program.publishes)) [[unlikely]] return advance(program, call, false);
  const bool one = call.fragment_count == 0 || call.count <= call.fragment_count;
  const bool native = call.combine == nullptr || (call.combine->kernel != nullptr && call.combine->kernel_two != nullptr);
  if (one && native && (!call.ragged || call.one_way) &&
      call.count * call.element_bytes * static_cast<std::size_t>(program.ranks) < stream_from_) {
    fragments_ = 1;
    note_begun(call.number);
    begin_ride(program, call);
    cut_off_.from = -1;
    if (program.scratches > 0) size_scratch(program, call);
    const Outcome outcome = run_whole(program, call);
    if (outcome != Outcome::done || scratch_.size() > kScratchKept) [[unlikely]]
      return end(outcome == Outcome::refused ? leave() : outcome);
    if (++ticket_ % kForgetEvery == 0) [[unlikely]] forget_old_lines();
    return Outcome::done;
  }
  return advance(program, call, false);
}

Outcome Executor::advance(const Program &program, const Call &call, bool polling) {
  if (!standing_.begun) {
    if (aside_) [[unlikely]] {
      polling_ = polling;
      const Outcome outcome = take_part_again(call.number);
      polling_ = moved_ = false;
      if (outcome != Outcome::done) return outcome == Outcome::pending ? outcome : end(outcome);
    }
    if (heap_only_ && program.publishes) {
      stand_ins_.emplace(program, call, me_, peers_[static_cast<std::size_t>(me_)]);
      if (stand_ins_->call() == nullptr) {
        stand_ins_.reset();
        return end(Outcome::reach_failed);
      }
    }
    begin(program, call);
    if (aside_) [[unlikely]] forget_refusal();
  }
  polling_ = polling;
  Outcome outcome = leaving_ ? Outcome::refused : run_steps(program, stand_ins_ ? *stand_ins_->call() : call);
  if (outcome == Outcome::refused) {
    outcome = leave();
    moved_ = false;
  }
  polling_ = false;
  if (outcome == Outcome::pending) return outcome;
  moved_ = true;
  if (stand_ins_ && outcome == Outcome::done) stand_ins_->deliver();
  stand_ins_.reset();
  return end(outcome);
}

Outcome Executor::run_steps(const Program &program, const Call &call) {
  // What is in hand when a wait does not end is done again from this operation on.
  const auto pause = [&](std::size_t section, std::size_t op, std::uint64_t iteration) {
    const Standing now{true, section, op, iteration};
    moved_ = now != standing_;
    standing_ = now;
  };
  std::size_t op = standing_.op;
  std::uint64_t iteration = standing_.iteration;
  const Fragment whole{0, call.count, ticket_};
  for (std::size_t number = standing_.section; number < program.sections.size(); ++number) {
    const Program::Section &section = program.sections[number];
    const std::size_t ops = section.ops.size();
    if (!section.loop || fragments_ == 1) {
      if (section.turns == plan::Turns::but_last) continue;
      for (; op < ops; ++op) {
        const Outcome outcome = step(section.ops[op], call, whole, section.loop);
        if (outcome != Outcome::done) [[unlikely]] return pause(number, op, 0), outcome;
      }
      op = 0;
      continue;
    }
    for (; iteration < fragments_ + section.max_lag; ++iteration) {
      for (; op < ops; ++op) {
        const std::uint64_t f = iteration - section.ops[op].lag;  // wraps below zero: no such fragment
        if (!plan::has_turn(section.turns, f, fragments_)) continue;
        const std::size_t first = f * call.fragment_count;
        // Of a message made of blocks, a piece of each: block() cuts those that end before.
        const std::size_t left = program.contents.blocks > 0 ? call.fragment_count : call.count - std::min(call.count, first);
        const Fragment fragment{first, std::min(call.fragment_count, left), ticket_ + f};
        const Outcome outcome = step(section.ops[op], call, fragment, true);
        if (outcome != Outcome::done) [[unlikely]] return pause(number, op, iteration), outcome;
      }
      op = 0;
    }
    iteration = 0;
  }
  return Outcome::done;
}

}  // namespace copse::engine
