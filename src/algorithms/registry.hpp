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

#include "algorithms/shared.hpp"
#include "plan/builder.hpp"
#include "shape/hierarchy.hpp"
#include "topology/placement.hpp"

namespace copse::algorithms {

// The v-variants are the same collectives, with blocks of different sizes; alltoallw is alltoall to Copse.
enum class Collective : std::uint8_t {
  barrier, broadcast, reduce, allreduce, scan, exscan, gather, scatter, allgather, alltoall, reduce_scatter
};
inline constexpr int kCollectives = 11;
[[nodiscard]] std::string_view name_of(Collective collective);

// What distinguishes the collectives, to everything that treats them alike.
struct Traits {
  plan::Extent input, output;
  bool input_at_root, output_at_root;  // only the root has one
  bool one_buffer;                     // input and output are always the same memory
  bool in_place;                       // they may be: the same part of the message in the same place
  bool reduces;

  [[nodiscard]] bool rooted() const { return input_at_root || output_at_root; }
  [[nodiscard]] bool has_input(int rank, int root) const {
    return input != plan::Extent::none && (!input_at_root || rank == root);
  }
  [[nodiscard]] bool has_output(int rank, int root) const {
    return output != plan::Extent::none && (!output_at_root || rank == root);
  }
};
inline constexpr Traits kTraits[kCollectives] = {
    // input, output, input at the root, output at the root, one buffer, in place, reduces
    {plan::Extent::none, plan::Extent::none, false, false, false, false, false},       // barrier
    {plan::Extent::message, plan::Extent::message, true, false, true, true, false},    // broadcast
    {plan::Extent::message, plan::Extent::message, false, true, false, true, true},    // reduce
    {plan::Extent::message, plan::Extent::message, false, false, false, true, true},   // allreduce
    {plan::Extent::message, plan::Extent::message, false, false, false, true, true},   // scan
    {plan::Extent::message, plan::Extent::message, false, false, false, true, true},   // exscan
    {plan::Extent::own, plan::Extent::all, false, true, false, true, false},           // gather
    {plan::Extent::all, plan::Extent::own, true, false, false, true, false},           // scatter
    {plan::Extent::own, plan::Extent::all, false, false, false, true, false},          // allgather
    {plan::Extent::row, plan::Extent::column, false, false, false, false, false},      // alltoall
    {plan::Extent::all, plan::Extent::own, false, false, false, false, true},          // reduce_scatter
};
[[nodiscard]] constexpr const Traits &traits_of(Collective collective) {
  return kTraits[static_cast<std::size_t>(collective)];
}
[[nodiscard]] plan::Contents contents_of(Collective collective, int ranks);

// What a plan is built from. Everything in it is the same on all ranks, `rank` apart.
struct Request {
  Collective collective{};  // set by Algorithm::plan
  int rank = 0;
  int ranks = 1;
  int root = 0;  // of rooted collectives
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
  // What plan() would throw: why there is no such plan, and what to do. Empty: there is one.
  [[nodiscard]] std::string refusal(const Request &request) const;
  // Right for what not every algorithm does: of reductions, an operator that does not commute; of alltoall, blocks of
  // different sizes.
  [[nodiscard]] bool strict() const { return keeps_order && (carriers & kAlike) == 0; }
  [[nodiscard]] bool carries(plan::Carrier carrier) const { return carriers & (1 << static_cast<int>(carrier)); }
};

[[nodiscard]] std::span<const Algorithm> all();
[[nodiscard]] const Algorithm *find(Collective collective, std::string_view name);

}  // namespace copse::algorithms
