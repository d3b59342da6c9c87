// The registry: every algorithm is one source file and one row of registry.def.
//
// Names, parsing, the list in the documentation, the forced run through the test matrix and the place in the
// chooser all come from the rows.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collectives.hpp"
#include "algorithms/shared.hpp"
#include "plan/builder.hpp"
#include "shape/hierarchy.hpp"
#include "topology/placement.hpp"

namespace copse::algorithms {

// What a plan is built from. Everything in it is the same on all ranks, `rank` apart.
struct Request {
  Collective collective{};  // set by Algorithm::plan
  int rank = 0;
  int ranks = 1;
  int root = 0;  // of rooted collectives
  Permutation permutation{};  // of collectives that have one, which must be there; it stays where it is
  plan::Carrier carrier = plan::Carrier::slot;
  int radix = 2;                                 // of k-nomial trees
  const topology::Placement *places = nullptr;   // one per rank; its nodes decide where the wire is used
  const Shared *shared = nullptr;  // of these ranks and places; if there is none, Algorithm::plan makes one

  [[nodiscard]] plan::Builder builder() const;   // for this rank, carrier and nodes

  // Trees are shared: they stay as long as `shared` does.
  [[nodiscard]] const shape::SurveyedTree &ranks_tree(shape::Form form) const;  // over the ranks in order, to `root`
  [[nodiscard]] const shape::SurveyedTree &prop_tree() const;  // flat inside the node, k-nomial over nodes (UPC PROP)
  // Over the machine's levels (NUMACol 3): how leaders are joined, and how ranks inside a NUMA region.
  [[nodiscard]] const shape::SurveyedTree &machine_tree(shape::Form inside,
                                                        shape::Form across = shape::Form::k_nomial) const;
  // One hierarchical tree for every root (NUMACol 3, persistent fixed trees): that to rank 0, which hangs below the
  // root as soon as that is another rank. The root keeps its own branch.
  [[nodiscard]] const shape::SurveyedTree &fixed_tree() const;
  [[nodiscard]] std::vector<int> others() const;  // every rank but this one, the next one first

  // Of a message made of blocks: those of `count` ranks from `first` on, round the last; and what goes between two.
  [[nodiscard]] plan::Range block(int first, int count = 1) const;
  [[nodiscard]] plan::Range pair(int from, int to) const;
};

// How carriers are named in a row: a set of them.
enum Carriers : std::uint8_t {
  kLine = 1 << static_cast<int>(plan::Carrier::line),
  kSlot = 1 << static_cast<int>(plan::Carrier::slot),
  kGet = 1 << static_cast<int>(plan::Carrier::get),
  kPut = 1 << static_cast<int>(plan::Carrier::put),
  // Beside them, of alltoall: ranks handle blocks between others, whose sizes they do not know; all must be alike.
  kAlike = 1 << plan::kCarriers,
  // A line or slot holds blocks of all ranks at a time (Builder::pack). Other numbers have a row PACK.
  kPacks = 1 << (plan::kCarriers + 1),
  // Some ranks keep partial results in slots, whatever the carrier (Builder::keep_in_slots).
  kKeeps = 1 << (plan::kCarriers + 2),
  // Of gather and scatter: short blocks ride with a signal, as their giver chooses (docs/decisions/one-way.md).
  kRides = 1 << (plan::kCarriers + 3),
};

// What all ranks' plans ask of lines and slots, known without building one. It is the same for every rank, root and radix.
struct Footprint {
  std::uint32_t pack = 1;  // Plan::pack: blocks that a line or slot must hold
  bool slots = false;      // Plan::slots: a fragment must fit in a slot
};

// A plan that the language cannot express: for that many ranks, say. It says why, and what to do.
struct Unbuildable : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Algorithm {
  Collective collective;
  std::string_view name;
  plan::Plan (*build)(const Request &);
  std::uint8_t carriers;       // set of Carriers, and what else stands there
  bool keeps_order;            // right for a non-commutative operator, on every placement and for every root
  bool fragments;              // more than one fragment allowed (line never)
  std::string_view source;     // paper and section
  std::string_view summary;    // one sentence for people

  // Throws Unbuildable, for all ranks or for none.
  [[nodiscard]] plan::Plan plan(Request request) const;
  // What plan() would throw: why there is no such plan, and what to do. Empty: there is one. It needs no permutation.
  [[nodiscard]] std::string refusal(Request request) const;
  // Right for what not every algorithm does: of reductions, an operator that does not commute; of alltoall, blocks of
  // different sizes.
  [[nodiscard]] bool strict() const { return keeps_order && (carriers & kAlike) == 0; }
  [[nodiscard]] bool rides() const { return (carriers & kRides) != 0; }
  [[nodiscard]] bool carries(plan::Carrier carrier) const { return carriers & (1 << static_cast<int>(carrier)); }
  // By request.carrier, among request.ranks at request.places.
  [[nodiscard]] Footprint footprint(Request request) const;
};

[[nodiscard]] std::span<const Algorithm> all();
[[nodiscard]] const Algorithm *find(Collective collective, std::string_view name);

}  // namespace copse::algorithms
