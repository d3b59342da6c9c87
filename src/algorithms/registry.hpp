// The registry: every algorithm is one source file and one row of registry.def.
//
// Names, parsing, the list in the documentation, the forced run through the test matrix and the place in the
// chooser all come from the rows.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/collectives.hpp"
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
  plan::Carrier carrier = plan::Carrier::slot;
  int radix = 2;                                 // of k-nomial trees
  const topology::Placement *places = nullptr;   // one per rank; its nodes decide where the wire is used

  [[nodiscard]] std::vector<std::int32_t> nodes() const;
  [[nodiscard]] plan::Builder builder() const;   // for this rank, carrier and nodes

  [[nodiscard]] shape::Tree ranks_tree(shape::Form form) const;     // over the ranks in order, to `root`
  [[nodiscard]] shape::Tree tree(const shape::Hierarchy &hierarchy) const;
  [[nodiscard]] shape::Tree prop_tree() const;  // flat inside the node, k-nomial over nodes (UPC PROP)
  // Over the machine's levels (NUMACol 3): how leaders are joined, and how ranks inside a NUMA region.
  [[nodiscard]] shape::Tree machine_tree(shape::Form inside, shape::Form across = shape::Form::k_nomial) const;
  // One hierarchical tree for every root (NUMACol 3, persistent fixed trees): that to rank 0, which hangs below the
  // root as soon as that is another rank. The root keeps its own branch.
  [[nodiscard]] shape::Tree fixed_tree() const;
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

  [[nodiscard]] plan::Plan plan(Request request) const {
    request.collective = collective;
    return build(request);
  }
  // Right for what not every algorithm does: of reductions, an operator that does not commute; of alltoall, blocks of
  // different sizes.
  [[nodiscard]] bool strict() const { return keeps_order && (carriers & kAlike) == 0; }
  [[nodiscard]] bool carries(plan::Carrier carrier) const { return carriers & (1 << static_cast<int>(carrier)); }
};

[[nodiscard]] std::span<const Algorithm> all();
[[nodiscard]] const Algorithm *find(Collective collective, std::string_view name);

}  // namespace copse::algorithms
