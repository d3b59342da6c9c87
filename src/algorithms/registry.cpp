// The registry's rows, and what follows from them.
#include "algorithms/registry.hpp"

#include <algorithm>

namespace copse::algorithms {

#define ALGORITHM(collective, name, ...) plan::Plan collective##_##name(const Request &request);
#include "algorithms/registry.def"
#undef ALGORITHM

namespace {

const Algorithm kRows[] = {
#define ALGORITHM(collective, name, carriers, keeps_order, fragments, source, summary) \
  {Collective::collective, #name, collective##_##name, carriers, keeps_order, fragments, source, summary},
#include "algorithms/registry.def"
#undef ALGORITHM
};

}  // namespace

std::span<const Algorithm> all() { return kRows; }

const Algorithm *find(Collective collective, std::string_view name) {
  for (const Algorithm &row : kRows)
    if (row.collective == collective && row.name == name) return &row;
  return nullptr;
}

std::vector<std::int32_t> Request::nodes() const {
  std::vector<std::int32_t> nodes;
  if (places != nullptr)
    for (const topology::Place &place : *places) nodes.push_back(place.at(topology::Level::node));
  return nodes;
}

plan::Builder Request::builder() const {
  return {rank, ranks, carrier, nodes(), contents_of(collective, ranks)};
}

plan::Range Request::block(int first, int count) const {
  return {static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(ranks)};
}

plan::Range Request::pair(int from, int to) const {
  const auto all = static_cast<std::uint32_t>(ranks);
  return {static_cast<std::uint32_t>(from) * all + static_cast<std::uint32_t>(to), 1, all * all};
}

shape::Tree Request::ranks_tree(shape::Form form) const {
  return shape::make_tree(shape::Arrangement{form, radix}, ranks, root);
}

shape::Tree Request::tree(const shape::Hierarchy &hierarchy) const {
  if (places == nullptr) return shape::make_tree(hierarchy, topology::Placement(static_cast<std::size_t>(ranks)), root);
  return shape::make_tree(hierarchy, *places, root);
}

shape::Tree Request::prop_tree() const {
  return tree({{{topology::Level::node, {shape::Form::k_nomial, radix}}}, {shape::Form::flat, radix}});
}

shape::Tree Request::machine_tree(shape::Form inside, shape::Form across) const {
  shape::Hierarchy hierarchy = shape::numacol({inside, radix});
  for (auto &layer : hierarchy.layers) layer.across = {across, radix};
  return tree(hierarchy);
}

shape::Tree Request::fixed_tree() const {
  Request fixed = *this;
  fixed.root = 0;
  shape::Tree tree = fixed.machine_tree(shape::Form::k_nomial);
  if (root != 0) {
    const auto top = static_cast<std::size_t>(root);
    auto &siblings = tree.children[static_cast<std::size_t>(tree.parent[top])];
    siblings.erase(std::find(siblings.begin(), siblings.end(), root));
    tree.parent[top] = shape::kNoParent;
    tree.parent[0] = root;
    tree.children[top].insert(tree.children[top].begin(), 0);
    tree.root = root;
  }
  return tree;
}

std::vector<int> Request::others() const {
  std::vector<int> result;
  for (int i = 1; i < ranks; ++i) result.push_back((rank + i) % ranks);
  return result;
}

}  // namespace copse::algorithms
