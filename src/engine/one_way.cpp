// One-way calls: a gather or scatter whose sizes only those know whom they concern (docs/decisions/one-way.md).
//
// A rank with a short message lets it travel in the line of the signal that the plan has anyway, or in the slot beside
// it: the root of a scatter by get in its publication, a rank of a gather by put in the post that says that its block is
// there. It then waits for nobody, and touches nobody's buffer. A longer message goes as the plan says.
#include <algorithm>
#include <cstring>

#include "engine/executor.hpp"

namespace copse::engine {
namespace {

constexpr int kScatterArea = plan::kPublishArea, kGatherArea = 0;

}  // namespace

// What this rank gives: one block, or (the root of a scatter) several; its own block then stays at home.
inline Executor::Gift Executor::gift(const Call &call) const {
  if (call.input_blocks != nullptr) return {call.input_blocks, peers_.size(), static_cast<std::size_t>(me_)};
  return {nullptr, 1, SIZE_MAX};
}

// Bytes of the message as it travels: of several blocks, 32 bits for the length of each come first.
inline std::size_t Executor::carried_bytes(const Call &call) const {
  const Gift given = gift(call);
  if (given.blocks == nullptr) return call.own > call.carried ? SIZE_MAX : call.own * call.element_bytes;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < given.count; ++i) {
    if (i == given.at_home) continue;
    if (given.blocks[i].count > call.carried - bytes) return SIZE_MAX;
    bytes += given.blocks[i].count * call.element_bytes;
    if (bytes > call.carried) return SIZE_MAX;
  }
  return given.count * sizeof(std::uint32_t) + bytes;
}

bool Executor::carries(const Call &call) const {
  return call.one_way && call.carried > 0 && carried_bytes(call) <= segment_.geometry().slots.back().bytes;
}

Outcome Executor::carry(const Op &op, const Call &call, std::uint64_t ticket, Addresses &mine) {
  const Geometry &geometry = segment_.geometry();
  const std::size_t bytes = carried_bytes(call);
  std::byte *to = op.ring[ticket & (geometry.line_depth - 1)].payload + sizeof mine;
  mine.carried = kBehind;
  if (bytes > plan::kLinePayloadBytes - sizeof mine) {
    mine.carried = geometry.class_for(bytes);
    const Outcome outcome = acquire_ring(op, ticket, geometry.slots[mine.carried].depth);
    if (outcome != Outcome::done) return outcome;
    const int area = call.input_blocks != nullptr ? kScatterArea : kGatherArea;
    to = segment_.slot(peers_[static_cast<std::size_t>(me_)].local, area, mine.carried, ticket);
  }
  const auto *const from = static_cast<const std::byte *>(call.input);
  const Gift given = gift(call);
  if (given.blocks == nullptr) {
    if (bytes > 0) kernels::copy_or_stream(to, from, bytes, slot_stores_.past_from());
    return Outcome::done;
  }
  std::byte *data = to + given.count * sizeof(std::uint32_t);
  for (std::size_t i = 0; i < given.count; ++i) {
    const auto length = static_cast<std::uint32_t>(i == given.at_home ? 0 : given.blocks[i].count * call.element_bytes);
    std::memcpy(to + i * sizeof length, &length, sizeof length);
    if (length > 0) kernels::copy_or_stream(data, from + given.blocks[i].place, length, slot_stores_.past_from());
    data += length;
  }
  return Outcome::done;
}

inline std::byte *Executor::carried_by(int rank, int area, std::uint64_t ticket) const {
  const Addresses &theirs = addresses_[static_cast<std::size_t>(rank)];
  const int local = peers_[static_cast<std::size_t>(rank)].local;
  if (theirs.carried != kBehind) return segment_.slot(local, area, theirs.carried, ticket);
  return segment_.lines(local, area)[ticket & (segment_.geometry().line_depth - 1)].payload + sizeof theirs;
}

// Block `block` of what the root of a scatter carries.
Executor::Place Executor::carried_block(int root, std::uint64_t ticket, std::size_t block) const {
  std::byte *const from = carried_by(root, kScatterArea, ticket);
  std::byte *data = from + peers_.size() * sizeof(std::uint32_t);
  std::uint32_t length = 0;
  for (std::size_t i = 0;; ++i) {
    std::memcpy(&length, from + i * sizeof length, sizeof length);
    if (i == block) return {data, 0, nullptr, length};
    data += length;
  }
}

// A rank of a gather has posted: its block is in the root's output, or came along.
void Executor::deliver_carried(int from, const Call &call, std::uint64_t ticket) {
  const Addresses &theirs = addresses_[static_cast<std::size_t>(from)];
  const Block &to = call.output_blocks[from];
  note_cut_off(from, theirs.own, to.count);
  const std::size_t bytes = std::min(theirs.own, to.count) * call.element_bytes;
  if (theirs.carried == kNowhere || bytes == 0) return;
  kernels::copy(static_cast<std::byte *>(call.output) + to.place, carried_by(from, kGatherArea, ticket), bytes);
}

}  // namespace copse::engine
