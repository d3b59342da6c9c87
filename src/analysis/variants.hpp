// Variants: the sets of plans that a row of the registry is proved on.
//
// A variant is one set of plans: row, ranks, helpers, root, carrier, radix and placement. The placements are block, cyclic and
// random ones on one, two, three and nine nodes of every recorded machine. There are many combinations. They are visited in an
// order in which the first few, however many, are a fair sample. The order is different for each row and number of ranks, and its
// first P combinations have every root.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "analysis/checker.hpp"
#include "topology/machine.hpp"
#include "topology/placement.hpp"

namespace copse::analysis {

// Users may force radices from 2 to this.
inline constexpr int kMostRadix = 64;

enum class Effort : std::uint8_t {
  quick,  // a sample that changes with the number of ranks, so that a range covers all
  full,  // all combinations for few ranks, large samples for more
};

struct Variant {
  const algorithms::Algorithm* row = nullptr;
  int ranks = 1, root = 0, radix = 2;  // root: where there is a permutation or a graph, the number of one
  int helpers = 0;
  plan::Carrier carrier = plan::Carrier::slot;
  plan::Modes modes{};
  std::shared_ptr<const topology::Placement> places;
  std::string placement;  // its name
  std::vector<std::int32_t> nodes;
  std::shared_ptr<const Plans> plans;

  [[nodiscard]] int callers() const { return ranks - helpers; }
  [[nodiscard]] std::string name() const;
};

// Returns how many roots, permutations or graphs a collective is tried with. Up to four ranks, all permutations are tried.
[[nodiscard]] std::uint64_t roots_of(algorithms::Collective collective, int ranks);
// Number 0 is the reversal. Of more than four ranks, 1 to 5 are the identity, shifts and an exchange of neighbours. The others
// look random, and every second of them leaves about a third of the ranks where they are. Numbers go round.
[[nodiscard]] std::vector<int> permutation_number(std::uint64_t number, int ranks);
// Returns the variant's permutation. It is empty if the collective has none.
[[nodiscard]] std::vector<int> permutation_of(const Variant& variant);
// Returns graph `number`. For two ranks the numbers cover all graphs. For more ranks, low numbers are regular graphs, and the
// others look random. Numbers wrap around.
[[nodiscard]] algorithms::Graph graph_number(std::uint64_t number, int ranks);
[[nodiscard]] algorithms::Graph graph_of(const Variant& variant);

[[nodiscard]] std::shared_ptr<const Plans> build_plans(const Variant& variant);
// Tells whether another radix makes other plans. Of many ranks, it looks only at a few.
[[nodiscard]] bool differs(const Variant& variant, int other_radix);

// The layouts are block, cyclic and random, in this order.
inline constexpr int kLayouts = 3;
[[nodiscard]] const char* layout_name(int layout);
[[nodiscard]] topology::Placement make_placement(int layout, const topology::Machine& machine, int nodes, int ranks);

// All recorded machines.
[[nodiscard]] const std::vector<topology::Machine>& machines();

// What a row can meet with a number of ranks: every combination of placement, root and radix, each with every carrier.
class Combinations {
 public:
  // If `only` is given, uses the placements of that machine alone. The machine must outlive this.
  Combinations(const algorithms::Algorithm& row, int ranks, const topology::Machine* only = nullptr);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t roots() const { return roots_; }
  // Returns combination `number`, below size(), without its plans: one variant for each carrier.
  [[nodiscard]] std::vector<Variant> at(std::uint64_t number) const;

  // Returns the first combination, or the first one with so many nodes, but with this radix. It is empty if there is none.
  [[nodiscard]] std::vector<Variant> with_radix(int radix, int nodes = 0) const;
  // As with_radix(), but each rank has an object of this level to itself, and all ranks share one of each outer level. So a tree
  // over the objects of the level has every shape that a radix can give it.
  [[nodiscard]] std::vector<Variant> apart(topology::Level level, int radix) const;

  // Describes the combinations for people.
  [[nodiscard]] static std::string placements(const topology::Machine* only = nullptr);
  [[nodiscard]] static std::string radices();

 private:
  const algorithms::Algorithm& row_;
  int ranks_;
  const topology::Machine* only_;
  std::uint64_t machines_, nodes_, roots_;
  std::uint64_t others_;  // combinations of everything but roots
  std::uint64_t size_, first_, stride_;
};

// Variants that were seen already. Variants with equal plans are the same (if the algorithm ignores the radix or the
// placement).
class Seen {
 public:
  // Returns whether the variant is a new one.
  bool add(const Variant& variant);

 private:
  std::vector<Variant> variants_;
};

// Returns the first combinations, with their plans, none twice.
[[nodiscard]] std::vector<Variant> variants(const algorithms::Algorithm& row, int ranks, std::uint64_t combinations);

}  // namespace copse::analysis
