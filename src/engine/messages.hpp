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

  // Starts sending all parts of a message as one. Parts that are not contiguous are packed, because a message costs more than
  // copying many small pieces, and because the receiver may place them differently.
  Outcome send(const Op &op, const Call &call, const Fragment &fragment);
  // Waits for the message when its first part is asked for. Then puts each part where it belongs.
  Outcome receive(const Op &op, const Call &call, const Fragment &fragment);
  // Waits until the data sent from an area may be overwritten.
  Outcome drain(int area);

  // Frees memory that only large messages need.
  void shrink();

 private:
  // A contiguous piece of a message. Adjacent pieces are merged.
  struct Piece {
    std::byte *at = nullptr;
    std::size_t bytes = 0;
  };
  struct Packed {  // a message of several pieces
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
