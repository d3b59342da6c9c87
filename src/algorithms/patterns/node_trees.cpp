// Makes trees inside each node.
#include "algorithms/patterns/node_trees.hpp"

#include <algorithm>

namespace copse::algorithms {

shape::Tree cut_between(shape::Tree tree, const Request& request, topology::Level level) {
  if (request.places == nullptr) return tree;
  const auto group = [&](int rank) { return (*request.places)[static_cast<std::size_t>(rank)].at(level); };
  for (int rank = 0; rank < tree.size(); ++rank) {
    std::erase_if(tree.children[static_cast<std::size_t>(rank)], [&](int child) { return group(child) != group(rank); });
    int& parent = tree.parent[static_cast<std::size_t>(rank)];
    if (parent != shape::kNoParent && group(parent) != group(rank)) parent = shape::kNoParent;
  }
  return tree;
}

const shape::SurveyedTree& node_trees(Request request, int root) {
  request.root = root;
  return request.shared->tree({"machine, each node by itself", {request.radix, request.root}}, [&] {
    return shape::SurveyedTree(cut_between(request.machine_tree(shape::Form::k_nomial), request, topology::Level::node));
  });
}

const shape::SurveyedTree& below_leaders(const Request& request) {
  return request.shared->tree({"below the leader of each node"}, [&] {
    const Groups& nodes = request.shared->groups(topology::Level::node);
    shape::Tree forest = shape::unlinked(request.ranks, nodes.leaders().front());
    for (const Group& node : nodes) {
      const auto leader = std::find(node.begin(), node.end(), nodes.leader_of(node.front())) - node.begin();
      shape::link(forest, {shape::Form::flat}, node, static_cast<std::size_t>(leader));
    }
    return shape::SurveyedTree(std::move(forest));
  });
}

}  // namespace copse::algorithms
