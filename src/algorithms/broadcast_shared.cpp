// broadcast, shared: all P ranks share the work of copying. Each taker pulls P-1 of P parts of the message, and the root
// pushes the last part to each taker. So every rank copies P-1 parts, while a flat broadcast leaves the root idle.
// Cost: 3 a + n b (P-1)/P for every rank at once
// Wins: two to four ranks that reach each other's memory, from 8 KiB: the root works instead of waiting
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan broadcast_shared(const Request& request) {
  using plan::Builder;
  Builder builder = request.builder();
  const auto ranks = static_cast<std::uint32_t>(request.ranks);
  const plan::Range pulled{0, ranks - 1, ranks}, pushed{ranks - 1, 1, ranks};
  if (request.rank != request.root) {
    if (!builder.shares_memory_with(request.root)) {
      builder.bring(0, request.root, Builder::input(), Builder::output());
      return builder.finish();
    }
    builder.expose_output();
    const plan::Operand source = builder.take_part(0, request.root, pulled, Builder::output(pulled));
    builder.copy(Builder::output(pulled), source);
    builder.await_signal(1, request.root);
    return builder.finish();
  }
  std::vector<int> near, far;
  for (int other : request.others()) (builder.shares_memory_with(other) ? near : far).push_back(other);
  builder.give(0, far, Builder::input());
  builder.give(0, near, Builder::input());
  for (int taker : near) builder.copy(builder.output_of(taker, pushed), Builder::input(pushed));
  builder.signal(1, near);
  builder.reclaim(near);
  return builder.finish();
}

}  // namespace copse::algorithms
