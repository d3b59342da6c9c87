// The rows of the registry, and what follows from them.
#include "algorithms/registry.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

namespace copse::algorithms {

#define ALGORITHM(collective, name, ...) plan::Plan collective##_##name(const Request& request);
#define PACK(collective, name) std::uint32_t collective##_##name##_pack(const Request& request);
#include "algorithms/registry.def"
#undef PACK
#undef ALGORITHM

namespace {

constexpr Algorithm kRows[] = {
#define ALGORITHM(collective, name, carriers, keeps_order, fragments, source, summary) \
  {Collective::collective, #name, collective##_##name, carriers, keeps_order, fragments, source, summary},
#define PACK(...)
#include "algorithms/registry.def"
#undef PACK
#undef ALGORITHM
};

static_assert(std::is_partitioned(std::begin(kRows), std::end(kRows), [](const Algorithm& row) { return !row.served(); }),
              "the rows with kServed come last: all() ends before them");

// The algorithms that count by themselves how many blocks a line or slot holds at a time.
struct Packer {
  Collective collective;
  std::string_view name;
  std::uint32_t (*count)(const Request&);
};
const Packer kPackers[] = {
#define ALGORITHM(...)
#define PACK(collective, name) {Collective::collective, #name, collective##_##name##_pack},
#include "algorithms/registry.def"
#undef PACK
#undef ALGORITHM
};

}  // namespace

Footprint Algorithm::footprint(Request request) const {
  std::optional<Shared> own;
  if (request.shared == nullptr) request.shared = &own.emplace(request.ranks, request.places);
  Footprint result;
  result.slots = request.carrier == plan::Carrier::slot || (carriers & kKeeps) != 0;
  if ((carriers & kPacks) != 0) result.pack = static_cast<std::uint32_t>(request.callers());
  for (const Packer& row : kPackers)
    if (row.collective == collective && row.name == name) result.pack = row.count(request);
  return result;
}

std::span<const Algorithm> every() { return kRows; }

std::span<const Algorithm> all() {
  static const auto kCount = static_cast<std::size_t>(
      std::find_if(std::begin(kRows), std::end(kRows), [](const Algorithm& row) { return row.served(); }) - kRows);
  return std::span(kRows).first(kCount);
}

const Algorithm* find(Collective collective, std::string_view name) {
  for (const Algorithm& row : kRows)
    if (row.collective == collective && row.name == name) return &row;
  return nullptr;
}

plan::Plan Algorithm::plan(Request request) const {
  request.collective = collective;
  if (rides() || served()) request.modes = {};  // here a publication says more than that its rank is there
  if (traits_of(collective).permutes && request.permutation.size() != static_cast<std::size_t>(request.ranks))
    throw std::invalid_argument(std::string(name_of(collective)) + " needs a permutation of its ranks");
  if (traits_of(collective).along_edges && (request.graph == nullptr || request.graph->ranks() != request.ranks))
    throw std::invalid_argument(std::string(name_of(collective)) + " needs a graph of its ranks");
  if (served() != (request.helpers > 0) || request.helpers >= request.ranks)
    throw Unbuildable(std::string(name_of(collective)).append(" ").append(name) +
                      (served() ? " needs helpers, and ranks that they serve" : " is not for ranks with helpers"));
  std::optional<Shared> own;
  if (request.shared == nullptr) request.shared = &own.emplace(request.ranks, request.places);
  try {
    return build(request);
  } catch (const plan::Exhausted& lack) {
    throw Unbuildable(std::string(name_of(collective)).append(" ").append(name) + " cannot run on " +
                      std::to_string(request.ranks) + " ranks with radix " + std::to_string(request.radix) + ": " + lack.what() +
                      "; choose a larger radix, or another algorithm");
  }
}

std::string Algorithm::refusal(Request request) const {
  std::vector<int> any;  // any permutation: whether there is a plan does not depend on it
  if (traits_of(collective).permutes && request.permutation.empty()) {
    any.resize(static_cast<std::size_t>(request.ranks));
    std::iota(any.rbegin(), any.rend(), 0);
    request.permutation = any;
  }
  std::optional<Graph> no_edges;  // a graph without edges: whether there is a plan does not depend on the graph
  if (traits_of(collective).along_edges && request.graph == nullptr)
    request.graph = &no_edges.emplace(std::vector<std::vector<int>>(static_cast<std::size_t>(request.ranks)));
  try {
    static_cast<void>(plan(request));
    return {};
  } catch (const Unbuildable& refused) {
    return refused.what();
  }
}

plan::Builder Request::builder() const {
  if (traits_of(collective).pairs() && ranks > kMostInPairs)
    throw plan::Exhausted("pairs of ranks", static_cast<std::size_t>(kMostInPairs) * kMostInPairs);
  return {rank, ranks, carrier, shared->nodes(), contents_of(collective, callers()), {modes, !traits_of(collective).in_place}};
}

plan::Range Request::block(int first, int count) const { return plan::chunks_from(first, count, callers()); }

plan::Range Request::pair(int from, int to) const {
  const auto all = static_cast<std::uint32_t>(ranks);
  return {static_cast<std::uint32_t>(from) * all + static_cast<std::uint32_t>(to), 1, all * all};
}

namespace {

// Returns a tree over the machine on which the request's ranks sit. Without places, they all sit in the same place.
shape::Tree over_machine(const Request& request, const shape::Hierarchy& hierarchy, int root) {
  if (request.places != nullptr) return shape::make_tree(hierarchy, *request.places, root);
  return shape::make_tree(hierarchy, topology::Placement(static_cast<std::size_t>(request.ranks)), root);
}

shape::Hierarchy levels_of(shape::Form inside, int radix) {
  shape::Hierarchy hierarchy = shape::numacol({inside, radix});
  for (auto& layer : hierarchy.layers) layer.across = {shape::Form::k_nomial, radix};
  return hierarchy;
}

}  // namespace

const shape::SurveyedTree& Request::ranks_tree(shape::Form form) const {
  return shared->tree({"ranks", {static_cast<int>(form), radix, root}},
                      [&] { return shape::SurveyedTree(shape::make_tree({form, radix}, ranks, root)); });
}

const shape::SurveyedTree& Request::prop_tree() const {
  return shared->tree({"prop", {radix, root}}, [&] {
    return shape::SurveyedTree(
        over_machine(*this, {{{topology::Level::node, {shape::Form::k_nomial, radix}}}, {shape::Form::flat, radix}}, root));
  });
}

const shape::SurveyedTree& Request::machine_tree(shape::Form inside) const {
  return shared->tree({"machine", {static_cast<int>(inside), radix, root}},
                      [&] { return shape::SurveyedTree(over_machine(*this, levels_of(inside, radix), root)); });
}

const shape::SurveyedTree& Request::node_chain_tree(shape::Form inside) const {
  return shared->tree({"chain of nodes", {static_cast<int>(inside), radix, root}}, [&] {
    shape::Hierarchy hierarchy = levels_of(inside, radix);
    for (auto& layer : hierarchy.layers)
      if (layer.level == topology::Level::node) layer.across = {shape::Form::chain, radix};
    return shape::SurveyedTree(over_machine(*this, hierarchy, root));
  });
}

const shape::SurveyedTree& Request::flat_levels_tree() const {
  return shared->tree({"flat levels", {root}}, [&] {
    shape::Hierarchy hierarchy = shape::numacol({shape::Form::flat});
    for (auto& layer : hierarchy.layers) layer.across = {shape::Form::flat};
    return shape::SurveyedTree(over_machine(*this, hierarchy, root));
  });
}

const shape::SurveyedTree& Request::two_stage_tree() const {
  return shared->tree({"two stages", {root}}, [&] {
    const shape::Arrangement flat{shape::Form::flat};
    return shape::SurveyedTree(over_machine(*this, {{{topology::Level::node, flat}, {topology::Level::numa, flat}}, flat}, root));
  });
}

const shape::SurveyedTree& Request::fixed_tree() const {
  return shared->tree({"fixed", {radix, root}}, [&] {
    shape::Tree tree = over_machine(*this, levels_of(shape::Form::k_nomial, radix), 0);
    if (root != 0) {
      const auto top = static_cast<std::size_t>(root);
      auto& siblings = tree.children[static_cast<std::size_t>(tree.parent[top])];
      siblings.erase(std::find(siblings.begin(), siblings.end(), root));
      tree.parent[top] = shape::kNoParent;
      tree.parent[0] = root;
      tree.children[top].insert(tree.children[top].begin(), 0);
      tree.root = root;
    }
    return shape::SurveyedTree(std::move(tree));
  });
}

std::vector<int> Request::others() const {
  std::vector<int> result;
  for (int i = 1; i < ranks; ++i) result.push_back((rank + i) % ranks);
  return result;
}

std::vector<Graph::Giver> Request::givers() const {
  std::vector<Graph::Giver> result = graph->givers_to(rank);
  const auto next = std::find_if(result.begin(), result.end(), [&](const Graph::Giver& giver) { return giver.rank > rank; });
  std::rotate(result.begin(), next, result.end());
  return result;
}

}  // namespace copse::algorithms
