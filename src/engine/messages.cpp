// Sends and receives messages.
#include "engine/messages.hpp"

#include <utility>

#include "engine/kernels/kernels.hpp"

namespace copse::engine {

template <class Ask>
Outcome Messages::answer_to(std::uint64_t ticket, Ask&& ask) {
  Wired answer = Wired::pending;
  const Outcome news = signals_.ask_until([&] { return answer != Wired::pending || (answer = ask()) != Wired::pending; },
                                          [&](auto since) { return wire_->lost(since); }, ticket);
  if (answer == Wired::pending) return news;
  if (answer == Wired::truncated) return Outcome::truncated;
  return answer == Wired::done ? Outcome::done : Outcome::wire_failed;
}

Messages::Packed& Messages::packed_of(const Op& op, const Fragment& fragment) {
  if (packed_.size() <= op.message_number) packed_.resize(op.message_number + 1);
  // This is the number of the fragment in its call. So calls of one fragment use the same memory each time, which is free again:
  // a call ends only when all that it has sent is drained.
  return packed_[op.message_number][(fragment.ticket - signals_.ticket()) % kUnderway];
}

void Messages::add_pieces(const WirePart& part, const Call& call, const Fragment& fragment) {
  const auto add = [&](const Located& place) {
    const std::size_t bytes = place.count * call.element_bytes;
    if (bytes == 0) return;
    if (!pieces_.empty() && pieces_.back().at + pieces_.back().bytes == place.here) {
      pieces_.back().bytes += bytes;
    } else {
      pieces_.push_back({place.here, bytes});
    }
  };
  if (part.blocks == 0) return add(operands_.place(part.where, call, fragment));
  for (std::uint32_t number = 0; number < part.blocks;) {
    const std::uint32_t run = operands_.run_of(part.where, call, fragment, number, part.blocks - number);
    add(operands_.block(part.where, call, fragment, number, run));
    number += run;
  }
}

void Messages::find_pieces(const std::vector<WirePart>& parts, const Call& call, const Fragment& fragment) {
  pieces_.clear();
  for (const WirePart& part : parts) add_pieces(part, call, fragment);
}

Outcome Messages::send(const Op& op, const Call& call, const Fragment& fragment) {
  const auto go = [&](const void* data, std::size_t bytes) {
    const bool sent = call.untold ? wire_->send_any(data, bytes, op.peer, op.area, fragment.ticket)
                                  : wire_->send(data, bytes, op.peer, op.area, fragment.ticket);
    return sent ? Outcome::done : Outcome::wire_failed;
  };
  find_pieces(op.message, call, fragment);
  if (pieces_.empty()) return go(nullptr, 0);
  if (pieces_.size() == 1) return go(pieces_[0].at, pieces_[0].bytes);
  std::vector<std::byte>& bytes = packed_of(op, fragment).bytes;
  held_ -= bytes.capacity();
  bytes.clear();
  std::size_t all = 0;
  for (const Piece& piece : pieces_) all += piece.bytes;
  bytes.reserve(all);
  for (const Piece& piece : pieces_) bytes.insert(bytes.end(), piece.at, piece.at + piece.bytes);
  held_ += bytes.capacity();
  return go(bytes.data(), bytes.size());
}

Outcome Messages::expect(const Op& op, const Call& call, const Fragment& fragment) {
  const auto go = [&](void* data, std::size_t bytes) {
    const bool expected =
        call.untold ? wire_->expect_any(data, bytes, op.peer, op.area) : wire_->expect(data, bytes, op.peer, op.area);
    return expected ? Outcome::done : Outcome::wire_failed;
  };
  Packed& packed = packed_of(op, fragment);
  packed.comes = false;
  packed.taken = 0;
  find_pieces(op.message, call, fragment);
  if (pieces_.empty()) return go(nullptr, 0);
  // The place of a later part may still be in use.
  if (pieces_.size() == 1 && op.message.size() == 1) return go(pieces_[0].at, pieces_[0].bytes);
  std::size_t bytes = 0;
  for (const Piece& piece : pieces_) bytes += piece.bytes;
  held_ -= packed.bytes.capacity();
  if (packed.bytes.size() < bytes) packed.bytes.resize(bytes);
  held_ += packed.bytes.capacity();
  packed.comes = true;
  return go(packed.bytes.data(), bytes);
}

Outcome Messages::receive(const Op& op, const Call& call, const Fragment& fragment) {
  Outcome outcome = Outcome::done;
  if (op.begins) outcome = answer_to(fragment.ticket, [&] { return wire_->receive(op.peer, op.area); });
  if (outcome != Outcome::done && outcome != Outcome::truncated) return outcome;
  Packed& packed = packed_of(op, fragment);
  if (!packed.comes) return outcome;
  pieces_.clear();
  add_pieces({op.dst, op.blocks}, call, fragment);
  for (const Piece& piece : pieces_) {
    kernels::copy(piece.at, packed.bytes.data() + packed.taken, piece.bytes);
    packed.taken += piece.bytes;
  }
  return outcome;
}

Outcome Messages::drain(int area, std::uint64_t ticket) {
  return answer_to(ticket, [&] { return wire_->drain(area, ticket); });
}

Outcome Messages::delegate(const Op& op, const Call& call, const Fragment& fragment) {
  const auto at = [&](const Ref& ref) { return ref.space == plan::Space::none ? Located{} : operands_.place(ref, call, fragment); };
  const Located from = at(op.a), to = at(op.dst);
  const std::size_t count = op.a.space == plan::Space::none ? to.count : from.count;
  const LeadersCall what{op.delegation, from.here, to.here, count, call.element_bytes, call.combine, op.peer};
  return wire_->delegate(what, op.area, fragment.ticket) ? Outcome::done : Outcome::wire_failed;
}

Outcome Messages::collect(int area, std::uint64_t ticket) {
  return answer_to(ticket, [&] { return wire_->collect(area, ticket); });
}

void Messages::abandon() {
  if (wire_ != nullptr) wire_->abandon();
}

void Messages::spoil() {
  if (wire_ != nullptr) wire_->spoil();
}

void Messages::shrink() {
  for (std::size_t number = packed_.size(); number-- > 0 && much();) {
    for (Packed& message : packed_[number]) {
      held_ -= message.bytes.capacity();
      std::vector<std::byte>().swap(message.bytes);
    }
  }
}

}  // namespace copse::engine
