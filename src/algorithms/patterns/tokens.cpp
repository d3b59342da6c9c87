// Passes tokens round rings, and lets a root go round the ranks.
#include "algorithms/patterns/tokens.hpp"

#include <algorithm>

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

namespace {

int after_root(const Request& request, std::size_t position) {  // the rank at this position after the root
  return (request.root + 1 + static_cast<int>(position)) % request.ranks;
}

// Does the root's part. The ranks of its own node copy by themselves when the token comes to them.
void serve_tokens(Builder& builder, const Request& request, bool up) {
  std::vector<int> order;
  for (std::size_t i = 0; i + 1 < static_cast<std::size_t>(request.ranks); ++i) order.push_back(after_root(request, i));
  builder.loop();
  builder.copy(Builder::output(request.block(request.root)), Builder::input(request.block(request.root)));
  if (up) builder.expose_output();
  for (int other : order) {
    if (builder.shares_memory_with(other)) {
      if (!up) builder.give(0, std::vector{other}, Builder::input(request.block(other)));
      continue;
    }
    builder.loop();  // over the wire: one rank after the other, as the token comes to them
    if (up) {
      const Operand home = Builder::output(request.block(other));
      builder.bring(0, other, Builder::input(request.block(other)), home);
    } else {
      builder.give(0, std::vector{other}, Builder::input(request.block(other)));
    }
  }
  builder.once();
  for (int other : order)
    if (up && builder.shares_memory_with(other)) builder.await_signal(0, other);
  builder.reclaim(order);
}

// The neighbours of a rank in the ring of its token, or -1 where it has none.
struct RingPlace {
  int before = -1, after = -1;

  RingPlace(const Request& request, int tokens) {
    const auto others = static_cast<std::size_t>(request.ranks - 1);
    const auto position = static_cast<std::size_t>((request.rank + request.ranks - request.root - 1) % request.ranks);
    const std::size_t rings = std::min(static_cast<std::size_t>(tokens), others);
    const auto ring_of = [&](std::size_t at) { return at * rings / others; };
    if (position > 0 && ring_of(position - 1) == ring_of(position)) before = after_root(request, position - 1);
    if (position + 1 < others && ring_of(position + 1) == ring_of(position)) after = after_root(request, position + 1);
  }
};

}  // namespace

void pass_tokens(Builder& builder, const Request& request, int tokens) {
  const bool up = traits_of(request.collective).output_at_root;
  if (request.rank == request.root) return serve_tokens(builder, request, up);

  const std::vector<int> root{request.root};
  const bool local = builder.shares_memory_with(request.root);
  const auto move = [&] {
    const plan::Range block = request.block(request.rank);
    if (!up) {
      const Operand home = Builder::output(block);
      builder.bring(0, request.root, Builder::input(block), home);
    } else if (local) {
      builder.copy(builder.output_of(request.root, block), Builder::input(block));
    } else {
      builder.give(0, root, Builder::input(block));
    }
  };
  const RingPlace place(request, tokens);
  const auto pass_on = [&] {
    if (place.after >= 0) builder.signal(1, std::vector{place.after});
  };
  const Groups& regions = request.shared->groups(topology::Level::numa);
  const bool beside_root = regions.index_of(request.rank) == regions.index_of(request.root);

  builder.once();
  if (place.before >= 0) builder.await_signal(1, place.before);
  if (beside_root) pass_on();
  builder.loop(plan::LoopFragments::but_last);
  move();
  if (!beside_root) {
    builder.once();
    pass_on();
  }
  builder.loop(plan::LoopFragments::last);
  move();
  if (!up || !local) return;
  builder.once();
  builder.signal(0, root);
}

void go_round(Builder& builder, const Request& request) {
  const bool up = traits_of(request.collective).output_at_root;
  const auto move = [&](int of) {  // gives or takes a rank's block that the root pulls or the wire carries
    const Operand source = Builder::input(request.block(of)), target = Builder::output(request.block(of));
    const int giver = up ? of : request.root, taker = up ? request.root : of;
    if (request.rank == giver) return builder.give(0, std::vector{taker}, source);
    builder.bring(0, giver, source, target);
  };
  const int ranks = request.ranks;
  builder.portion(std::max(0, ranks - 2));  // so that all ranks find out if there are too few portions
  builder.portion(0);

  if (request.rank != request.root) {
    const bool local = builder.shares_memory_with(request.root);
    if (up || !local) move(request.rank);
    if (!local) return;
    if (!up) builder.expose_output();
    builder.portion((request.rank + ranks - request.root - 1) % ranks);
    return builder.await_signal(0, request.root);
  }
  builder.copy(Builder::output(request.block(request.root)), Builder::input(request.block(request.root)));
  int turn = 0;
  for (const int other : request.others()) {
    const plan::Range block = request.block(other);
    const bool local = builder.shares_memory_with(other);
    if (up || !local) move(other);
    if (!up && local) builder.copy(builder.output_of(other, block), Builder::input(block));
    builder.portion(turn++);
    if (local) builder.signal(0, std::vector{other});
    builder.portion(0);
  }
}

}  // namespace copse::algorithms
