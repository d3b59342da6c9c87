// A reduce-scatter in which tiles go round each socket (movement-avoiding).
#include "algorithms/patterns/sockets.hpp"

#include <algorithm>

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

namespace {

// One rank of a socket, whose ranks stand in a ring. `home` is where partial results lie (exchange.hpp).
class SocketRing {
 public:
  SocketRing(Builder& builder, const Request& request, plan::Space home)
      : builder_(builder), request_(request), sockets_(request.shared->groups(topology::Level::package)),
        here_(sockets_.of(request.rank)),
        me_(static_cast<std::size_t>(std::find(here_.begin(), here_.end(), request.rank) - here_.begin())), home_(home),
        whole_(request.block(0, request.ranks)), mine_(request.block(request.rank)) {}

  // Combines all tiles over the ranks of this socket. The tiles go round the ring and end at their positions. Returns where
  // this rank's own tile then lies, which may be `result`.
  [[nodiscard]] Operand go_round(Operand result) {
    std::vector<int> readers;  // ranks that take this socket's part of their tiles
    std::vector<Range> parts;
    for (const Range& tile : tiles_of(me_)) {
      if (tile == mine_) continue;
      readers.push_back(static_cast<int>(tile.first));
      parts.push_back(tile);
    }
    const std::size_t size = here_.size();
    if (size == 1) {
      builder_.give_parts(2, readers, parts, Builder::input(whole_));
      return Builder::input(mine_);
    }
    const int next = here_[(me_ + 1) % size], previous = here_[(me_ + size - 1) % size];
    const auto first = tiles_of((me_ + size - 1) % size);
    builder_.give_parts(0, std::vector<int>(first.size(), next), first, Builder::input(whole_));
    Operand at_hand = Builder::input(mine_);
    std::vector<Operand> values;
    for (std::size_t step = 0; step + 1 < size; ++step) {
      const bool last = step + 2 == size;
      builder_.portion(static_cast<int>(step));
      values.clear();
      for (const Range& tile : tiles_of((me_ + 2 * size - 2 - step) % size)) {
        const Operand theirs = builder_.take(0, previous, offered(step == 0, tile), builder_.scratch(0, tile), whole_);
        if (last && tile == mine_) {
          builder_.reduce(result, theirs, Builder::input(tile));
          at_hand = result;
          continue;
        }
        const Operand all{home_, 0, -1, whole_};
        values.push_back(part_of(last ? builder_.open(2, readers, all) : builder_.open(0, std::vector{next}, all), tile));
        builder_.reduce(values.back(), theirs, Builder::input(tile));
      }
      builder_.portion(last ? 0 : static_cast<int>(step) + 1);
      if (!last) builder_.post(0, std::vector<int>(values.size(), next), values);
    }
    builder_.post(2, readers, values);
    return at_hand;
  }

  // Combines the parts of all sockets in this rank's tile. The part of its own socket lies at `at_hand`.
  void fold_sockets(Operand at_hand, Operand result) {
    std::vector<Fetch> items;
    for (const Group& socket : sockets_) {
      if (&socket == &here_) {
        items.emplace_back([at_hand] { return at_hand; });
        continue;
      }
      const int from = socket[me_ % socket.size()];
      const Operand given = offered(socket.size() == 1, mine_);
      items.emplace_back([this, from, given] { return builder_.take(2, from, given, builder_.scratch(0, mine_), whole_); });
    }
    fold(builder_, result, items, sockets_.index_of(request_.rank));
  }

 private:
  [[nodiscard]] std::vector<Range> tiles_of(std::size_t position) const {  // the tiles that end at this position of the socket
    std::vector<Range> tiles;
    for (const Group& socket : sockets_)
      for (std::size_t i = position; i < socket.size(); i += here_.size()) tiles.push_back(request_.block(socket[i]));
    return tiles;
  }
  [[nodiscard]] Operand offered(bool untouched, Range tile) const {
    return untouched ? Builder::input(tile) : Operand{home_, 0, -1, tile};
  }

  Builder& builder_;
  const Request& request_;
  const Groups& sockets_;
  const Group& here_;
  std::size_t me_;
  plan::Space home_;
  Range whole_, mine_;
};

}  // namespace

void reduce_scatter_sockets(Builder& builder, const Request& request, plan::Space home, Operand result) {
  builder.pack(static_cast<std::uint32_t>(request.ranks));
  if (home == plan::Space::slot) builder.keep_in_slots();
  SocketRing ring(builder, request, home);
  const Operand at_hand = ring.go_round(result);
  ring.fold_sockets(at_hand, result);
}

}  // namespace copse::algorithms
