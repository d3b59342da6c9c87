// A plan's messages over the wire, between nodes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/operands.hpp"
#include "engine/outcome.hpp"
#include "engine/signals.hpp"
#include "engine/wire/wire.hpp"
#include "plan/rings.hpp"

namespace copse::engine {

class Messages {
 public:
  // `wire` may be null when all ranks share the node.
  Messages(Wire* wire, Signals& signals, Operands& operands) : wire_(wire), signals_(signals), operands_(operands) {}

  // Starts sending all parts of a message as one. Parts that are not contiguous are packed, because a message costs more than
  // copying many small pieces, and because the receiver may place them differently.
  Outcome send(const Op& op, const Call& call, const Fragment& fragment);
  // Lets a message come to its place, if that is one piece of memory.
  Outcome expect(const Op& op, const Call& call, const Fragment& fragment);
  // Waits for the message when its first part is asked for. Then puts each part where it belongs, unless the message came to that
  // place directly. The outcome is `truncated` if the message was too long.
  Outcome receive(const Op& op, const Call& call, const Fragment& fragment);
  // Waits until the data sent from an area up to a ticket may be overwritten.
  Outcome drain(int area, std::uint64_t ticket);
  // Starts a collective of the wire's own, and waits for the one that was started on an area for a ticket.
  Outcome delegate(const Op& op, const Call& call, const Fragment& fragment);
  Outcome collect(int area, std::uint64_t ticket);
  // Takes back the memory of messages that will not come.
  void abandon();
  // Says that messages may still come that nobody takes.
  void spoil();

  // Frees memory until no more is held than is kept for the next call. much() tells whether there is more.
  void shrink();
  [[nodiscard]] bool much() const { return held_ > kKept; }

 private:
  // A contiguous piece of a message. Adjacent pieces are merged.
  struct Piece {
    std::byte* at = nullptr;
    std::size_t bytes = 0;
  };
  struct Packed {  // a message of several pieces
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
    bool comes = false;  // the message arrives in `bytes`, not in its place
  };
  static constexpr std::size_t kKept = std::size_t{16} << 20;  // bytes that are kept for the next call, of all messages together
  // The fragments of a message that may be under way at a time: as many as a loop has iterations between the step that starts
  // a message and the step that ends it.
  static constexpr std::size_t kUnderway = plan::kLeastDepth;
  using Ring = std::array<Packed, kUnderway>;

  void add_pieces(const WirePart& part, const Call& call, const Fragment& fragment);
  void find_pieces(const std::vector<WirePart>& parts, const Call& call, const Fragment& fragment);
  [[nodiscard]] Packed& packed_of(const Op& op, const Fragment& fragment);
  template <class Ask>
  Outcome answer_to(std::uint64_t ticket, Ask&& ask);

  Wire* wire_;
  Signals& signals_;
  Operands& operands_;
  std::vector<Piece> pieces_;
  std::vector<Ring> packed_;  // by the messages' numbers in the program, and by the fragments' numbers in the call
  std::size_t held_ = 0;  // bytes that these messages have memory for
};

}  // namespace copse::engine
