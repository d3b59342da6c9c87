// allreduce, dual-root: the lower and the upper half of the ranks form a k-ary tree each (Traeff 2021, "A Doubly-pipelined,
// Dual-root Reduction-to-all Algorithm and Implementation"). Fragments go up both trees. The roots exchange what they have,
// and both combine it. The result goes down the same trees while later fragments are still on their way up. A subtree is an
// interval of ranks, so the order of the ranks is kept.
// Cost: with binary trees and fragments of m bytes (4 log2 P + 3 n/m) (a + m (b + c)); a single tree pays 4 n/m
// Wins: medium messages on many ranks, where latency and bandwidth both count
#include "algorithms/patterns/sums.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {

plan::Plan allreduce_dual_root(const Request& request) {
  using plan::Builder;
  using plan::Operand;
  Builder builder = request.builder();
  const int middle = (request.ranks + 1) / 2;
  const bool low = request.rank < middle;
  const auto& tree = request.shared->tree({"dual root", {request.radix, low}}, [&] {
    const Group& all = request.shared->everybody();
    const auto lower = static_cast<std::size_t>(middle);
    const auto half = low ? std::span(all).first(lower) : std::span(all).subspan(lower);
    shape::Tree linked = shape::unlinked(request.ranks, half.front());
    shape::link(linked, {shape::Form::k_ary, request.radix}, half, 0);
    return shape::SurveyedTree(std::move(linked));
  });

  builder.loop();
  std::vector<int> other;  // the other root
  if (request.ranks > 1) other.push_back(low ? middle : 0);
  const Operand mine = combine_in_root(builder, tree, request.rank, 0, other, {});
  if (request.rank == tree.root) {
    builder.post(1, other, mine);
    Sum sum{mine};
    for (int root : other) {
      const Operand theirs = builder.take(1, root, Builder::in_slot(), builder.scratch(0));
      sum = low ? Sum{mine, theirs} : Sum{theirs, mine};
    }
    settle(builder, Builder::output(), sum);
  }
  builder.lag(kLag);
  send_down(builder, tree, request.rank, 2, Builder::output());
  return builder.finish();
}

}  // namespace copse::algorithms
