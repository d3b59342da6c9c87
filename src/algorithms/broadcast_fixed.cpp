// broadcast, fixed: one tree for every root (NUMACol 3, persistent fixed trees). The root gives the message to rank 0,
// the tree's root, and serves its own branch itself, so nothing is sent back to it.
// Cost: that of hierarchical, and a + n b for the way to the tree's root where that is another rank
// Wins: roots that change from call to call on very many ranks: one tree costs less than a tree for each
#include <algorithm>

#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_fixed(const Request &request) {
  Request fixed = request;
  fixed.root = 0;
  shape::Tree tree = fixed.machine_tree(shape::Form::k_nomial);
  if (request.root != 0) {
    const auto root = static_cast<std::size_t>(request.root);
    auto &siblings = tree.children[static_cast<std::size_t>(tree.parent[root])];
    siblings.erase(std::find(siblings.begin(), siblings.end(), request.root));
    tree.parent[root] = shape::kNoParent;
    tree.parent[0] = request.root;
    tree.children[root].insert(tree.children[root].begin(), 0);
    tree.root = request.root;
  }
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, tree, request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
