// The registry: every algorithm is one source file and one row of registry.def.
//
// Names, parsing, the list in the documentation, the forced run through the test matrix and the place in the chooser all come
// from the rows.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collectives.hpp"
#include "algorithms/graph.hpp"
#include "algorithms/shared.hpp"
#include "plan/builder.hpp"
#include "shape/hierarchy.hpp"
#include "topology/placement.hpp"

namespace copse::algorithms {

// What a plan is built from. Everything in it except `rank` is the same on all ranks.
struct Request {
  Collective collective{};  // set by Algorithm::plan
  int rank = 0;
  int ranks = 1;
  int helpers = 0;  // the last ranks, which serve the others and have no part of the message
  int root = 0;  // for rooted collectives
  Permutation permutation{};  // required by collectives that permute; not copied
  const Graph* graph = nullptr;  // required for the plans of collectives along the edges of a graph
  plan::Carrier carrier = plan::Carrier::slot;
  plan::Modes modes{};                           // when buffers may be touched
  int radix = 2;                                 // k of trees and of rounds, or the number of tokens
  const topology::Placement* places = nullptr;   // one per rank; their nodes decide where the wire is used
  const Shared* shared = nullptr;  // for these ranks and places; null: Algorithm::plan makes one

  [[nodiscard]] plan::Builder builder() const;   // for this rank, carrier and nodes
  [[nodiscard]] int callers() const { return ranks - helpers; }

  // Trees are shared, and stay as long as `shared` does.
  [[nodiscard]] const shape::SurveyedTree& ranks_tree(shape::Form form) const;  // over the ranks in order, with root `root`
  [[nodiscard]] const shape::SurveyedTree& prop_tree() const;  // flat inside the node, k-nomial over nodes (UPC PROP)
  // Returns a tree over the machine's levels (NUMACol 3), k-nomial between leaders. `inside` joins the ranks of a NUMA region.
  [[nodiscard]] const shape::SurveyedTree& machine_tree(shape::Form inside) const;
  // Returns a machine tree that is a chain over the nodes. `inside` joins the ranks of a NUMA region.
  [[nodiscard]] const shape::SurveyedTree& node_chain_tree(shape::Form inside) const;
  // Returns a tree over the machine's levels with flat trees everywhere. On a machine of one level it has two levels (KNEM V).
  [[nodiscard]] const shape::SurveyedTree& flat_levels_tree() const;
  // Returns a flat tree over one rank of each node, below which are flat trees over one rank of each NUMA region, and below these
  // the ranks of the regions (the two stages of HMPI 2.2).
  [[nodiscard]] const shape::SurveyedTree& two_stage_tree() const;
  // Returns one hierarchical tree for every root (NUMACol 3, persistent fixed trees). It is the tree to rank 0. If the root
  // is another rank, rank 0 hangs below the root, which keeps its own branch.
  [[nodiscard]] const shape::SurveyedTree& fixed_tree() const;
  [[nodiscard]] std::vector<int> others() const;  // returns every rank but this one, the next one first
  [[nodiscard]] std::vector<Graph::Giver> givers() const;  // returns who gives to this rank by the graph, the next one first

  // These return ranges in a message made of blocks, or in a fragment made of one tile for each rank (HMPI 2.4). Helpers have
  // none. block() returns the range of `count` ranks from `first` on, wrapping around at the last rank. pair() returns the block
  // that goes from one rank to another.
  [[nodiscard]] plan::Range block(int first, int count = 1) const;
  [[nodiscard]] plan::Range pair(int from, int to) const;
};

// A row names its carriers as a set of these.
enum Carriers : std::uint16_t {
  kLine = 1 << static_cast<int>(plan::Carrier::line),
  kSlot = 1 << static_cast<int>(plan::Carrier::slot),
  kGet = 1 << static_cast<int>(plan::Carrier::get),
  kPut = 1 << static_cast<int>(plan::Carrier::put),
  // This flag and those below it are not carriers. In an alltoall with this flag, of all ranks or of neighbours, ranks handle
  // blocks of other ranks, whose sizes they do not know, so all blocks must be of one size.
  kAlike = 1 << plan::kCarriers,
  // A line or slot holds the blocks of all ranks at a time (Builder::pack). Algorithms that hold another number of blocks
  // have a row PACK.
  kPacks = 1 << (plan::kCarriers + 1),
  // Some ranks keep partial results in slots, whatever the carrier (Builder::keep_in_slots).
  kKeeps = 1 << (plan::kCarriers + 2),
  // Short blocks ride with a signal if their giver so chooses (docs/decisions/one-way.md).
  kRides = 1 << (plan::kCarriers + 3),
  // Helpers, the last ranks of the request, do the work (CDCP). All other algorithms need requests without helpers.
  kServed = 1 << (plan::kCarriers + 4),
  // The leaders of the nodes use the wire's own collective (docs/decisions/delegating.md), if it has one.
  kDelegates = 1 << (plan::kCarriers + 5),
};

// What all ranks' plans need of lines and slots, known without building a plan. It is the same for every rank, root and
// radix. It may depend on the graph, if the request has one.
struct Footprint {
  std::uint32_t pack = 1;  // Plan::pack: blocks that a line or slot must hold
  bool slots = false;  // Plan::slots: a fragment must fit in a slot
};

// Thrown for a plan that the language cannot express, for instance because there are too many ranks. It says why, and what to
// do.
struct Unbuildable : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Algorithm {
  Collective collective;
  std::string_view name;
  plan::Plan (*build)(const Request&);
  std::uint16_t carriers;  // set of Carriers and their flags
  bool keeps_order;  // right for a non-commutative operator, on every placement and for every root
  bool fragments;  // more than one fragment allowed (line never)
  std::string_view source;  // paper and section
  std::string_view summary;  // one sentence for people

  // Throws Unbuildable, for all ranks or for none.
  [[nodiscard]] plan::Plan plan(Request request) const;
  // Returns the text that plan() would throw: why there is no such plan, and what to do. The text is empty if there is a
  // plan. The request needs no permutation.
  [[nodiscard]] std::string refusal(Request request) const;
  // Tells whether the algorithm does what not every algorithm does: reductions with an operator that does not commute, or
  // alltoall with blocks of different sizes.
  [[nodiscard]] bool strict() const { return keeps_order && !alike(); }
  [[nodiscard]] bool alike() const { return (carriers & kAlike) != 0; }
  [[nodiscard]] bool rides() const { return (carriers & kRides) != 0; }
  [[nodiscard]] constexpr bool served() const { return (carriers & kServed) != 0; }
  [[nodiscard]] bool delegates() const { return (carriers & kDelegates) != 0; }
  [[nodiscard]] int least_ranks() const { return served() ? 2 : 1; }
  [[nodiscard]] bool carries(plan::Carrier carrier) const { return carriers & (1 << static_cast<int>(carrier)); }
  // Returns the footprint for request.carrier, with request.ranks ranks at request.places.
  [[nodiscard]] Footprint footprint(Request request) const;
};

// all() returns the rows for requests without helpers. every() returns those first, and then the rows that need helpers.
[[nodiscard]] std::span<const Algorithm> all();
[[nodiscard]] std::span<const Algorithm> every();
[[nodiscard]] const Algorithm* find(Collective collective, std::string_view name);

}  // namespace copse::algorithms
