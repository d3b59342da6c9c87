// barrier, tree: a reduce-broadcast allreduce without a load (HMPI 2.6).
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan barrier_tree(const Request &request) {
  plan::Builder builder = request.builder();
  const shape::Tree tree = request.machine_tree(shape::Form::k_nomial);
  const auto me = static_cast<std::size_t>(request.rank);
  for (int child : tree.children[me]) builder.await_signal(0, child);
  if (request.rank != tree.root) {
    const std::int32_t up[] = {tree.parent[me]};
    builder.signal(0, up);
    builder.await_signal(1, tree.parent[me]);
  }
  builder.signal(1, tree.children[me]);
  return builder.finish();
}

}  // namespace copse::algorithms
