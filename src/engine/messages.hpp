// A plan's messages over the wire, between nodes.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/operands.hpp"
#include "engine/outcome.hpp"
#include "engine/signals.hpp"
#include "engine/wire/wire.hpp"

namespace copse::engine {

class Messages {
 public:
  // `wire` may be null when all ranks share the node.
  Messages(Wire *wire, Signals &signals, Operands &operands) : wire_(wire), signals_(signals), operands_(operands) {}

  // Starts sending all parts of a message as one, packed where they do not lie together: a message costs more than the copy of
  // many small pieces, and the other side may have them elsewhere.
  Outcome send(const Op &op, const Call &call, const Fragment &fragment);
  // Waits for the message when its first part is asked for; then puts part after part where it belongs.
  Outcome receive(const Op &op, const Call &call, const Fragment &fragment);
  // Waits until what was sent from an area may be overwritten.
  Outcome drain(int area);

  // Gives back memory that only large messages need.
  void shrink();

 private:
  // Of a message: memory that begins where the piece before ends only by chance.
  struct Piece {
    std::byte *at = nullptr;
    std::size_t bytes = 0;
  };
  struct Packed {  // of several pieces
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };
  void add_pieces(const WirePart &part, const Call &call, const Fragment &fragment);
  void find_pieces(const std::vector<WirePart> &parts, const Call &call, const Fragment &fragment);
  [[nodiscard]] Packed &packed_of(const Op &op);
  template <class Ask>
  Outcome answer_to(Ask &&ask);

  Wire *wire_;
  Signals &signals_;
  Operands &operands_;
  std::vector<Piece> pieces_;
  std::vector<Packed> packed_;  // by the messages' numbers in the program
};

}  // namespace copse::engine
