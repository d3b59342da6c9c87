// allreduce, multi_lane: as many ranks of each node lead as the radix says. Each leader has a part of the message, which is cut
// into one piece for each node. The pieces go round the nodes, from leader to leader, and each leader adds those of its node.
// Then the finished pieces go round, and each leader gives them to its node (Bayatpour et al. 2017, "Scalable Reduction
// Collectives with Data Partitioning-based Multi-Leader Design"; Traeff and Hunold 2020; Patarasuk and Yuan 2009 for the rings).
// Cost: 2 (N-1) (a + n/(LN) b) + Q n/L c for L leaders on each of N nodes of Q ranks, and n b inside a node
// Wins: long messages on several nodes: each link carries less than two messages in and out, at the same time
#include "algorithms/patterns/columns.hpp"
#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

namespace {

using plan::Builder;
using plan::Operand;

// Areas: what ranks share with their leaders, sums on their way round, and finished pieces.
constexpr int kShared = 0, kSums = 1, kFinished = 2;

class Leader {
 public:
  Leader(Builder& builder, const Columns& columns, int rank, int column)
      : builder_(builder), columns_(columns), column_(column), nodes_(columns.nodes()), here_(columns.node_of(rank)),
        members_(columns.others_beside(rank)), previous_(columns.leader((here_ + nodes_ - 1) % nodes_, column)) {
    if (nodes_ > 1) next_.push_back(columns.leader((here_ + 1) % nodes_, column));
  }

  // Adds the pieces of this node to the sums that go round. The piece of this node's number is finished here, and given to all
  // who take it from this rank.
  void reduce() {
    for (int step = 0; step < nodes_; ++step) {
      const plan::Range piece = piece_of(step + 1);
      const bool last = step + 1 == nodes_;
      std::vector<Fetch> items{[piece] { return Builder::input(piece); }};
      for (const int member : members_) {
        items.emplace_back([this, member, piece] {
          builder_.portion(0);
          return builder_.take_part(kShared, member, piece, builder_.scratch(0, piece));
        });
      }
      if (step > 0) {
        items.emplace_back([this, step, piece] {
          builder_.portion(step - 1);
          return builder_.take(kSums, previous_, Builder::output(piece), builder_.scratch(0, piece));
        });
      }
      const Operand home = Builder::output(piece);
      const std::vector<int> readers = last ? takers(0) : next_;
      const Operand place = builder_.open(last ? kFinished : kSums, readers, home);
      fold(builder_, place, items, 0);
      builder_.portion(last ? 0 : step);
      if (last) builder_.copy(home, place);
      builder_.post(last ? kFinished : kSums, readers, place);
    }
  }

  // Passes the other finished pieces on.
  void pass_on() {
    for (int step = 1; step < nodes_; ++step) {
      const Operand home = Builder::output(piece_of(step));
      builder_.portion(step - 1);
      builder_.bring(kFinished, previous_, home, home);
      builder_.portion(step);
      builder_.give(kFinished, takers(step), home);
    }
    builder_.reclaim(members_);
  }

 private:
  // The piece that finishes `before` nodes before this one.
  [[nodiscard]] plan::Range piece_of(int before) const { return columns_.piece(column_, (here_ + nodes_ - before) % nodes_); }
  // Returns who takes the piece of this step from this rank.
  [[nodiscard]] std::vector<int> takers(int step) const {
    std::vector<int> result = members_;
    if (step + 1 < nodes_) result.insert(result.end(), next_.begin(), next_.end());
    return result;
  }

  Builder& builder_;
  const Columns& columns_;
  int column_, nodes_, here_;
  std::vector<int> members_, next_;
  int previous_;
};

}  // namespace

plan::Plan allreduce_multi_lane(const Request& request) {
  Builder builder = request.builder();
  const Columns columns(request);
  const int rank = request.rank, here = columns.node_of(rank), nodes = columns.nodes();
  const std::vector<int> leaders = columns.leaders_beside(rank);
  builder.portion(nodes - 1);  // so that all ranks find out if there are too few portions
  builder.portion(0);

  builder.loop();
  std::vector<int> readers;
  std::vector<plan::Range> pieces;
  for (const int leader : leaders) {
    for (int number = 0; number < nodes; ++number) pieces.push_back(columns.piece(*columns.led_by(leader), number));
    readers.resize(pieces.size(), leader);
  }
  builder.share_input(kShared, readers, pieces);
  if (const auto led = columns.led_by(rank)) {
    Leader leader(builder, columns, rank, *led);
    leader.reduce();
    leader.pass_on();
    builder.lag(1);
  }
  for (int step = 0; step < nodes; ++step) {
    builder.portion(step);
    for (const int leader : leaders) {
      const Operand home = Builder::output(columns.piece(*columns.led_by(leader), (here + nodes - step) % nodes));
      builder.bring(kFinished, leader, home, home);
    }
  }
  builder.reclaim_input(leaders);
  return builder.finish();
}

}  // namespace copse::algorithms
