// Variants: the sets of plans that a row of the registry is proved on.
//
// A variant is one set of plans: row, ranks, root, carrier, radix and placement. The placements are block, cyclic and
// random ones on one to three nodes of every recorded machine. These are many combinations; they are gone through in an
// order in which every beginning is a fair sample, another one for each row and number of ranks, and in which the first P
// have every root.
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

// Radices that a user may force: 2 to this.
inline constexpr int kMostRadix = 64;

enum class Effort : std::uint8_t {
  quick,  // a sample that changes with the number of ranks, so that a range covers all
  full,   // all combinations of few ranks, large samples of more
};

struct Variant {
  const algorithms::Algorithm* row = nullptr;
  int ranks = 1, root = 0, radix = 2;  // root: where there is a permutation, the number of one
  plan::Carrier carrier = plan::Carrier::slot;
  std::shared_ptr<const topology::Placement> places;
  std::string placement;  // its name
  std::vector<std::int32_t> nodes;
  std::shared_ptr<const Plans> plans;

  [[nodiscard]] std::string name() const;
};

// How many roots a collective may have, or permutations that it is tried with: of up to four ranks, all.
[[nodiscard]] std::uint64_t roots_of(algorithms::Collective collective, int ranks);
// Number 0 is the reversal. Of more than four ranks, 1 to 5 are the identity, shifts and an exchange of neighbours. The others
// look random, and every second of them leaves about a third of the ranks where they are. Numbers go round.
[[nodiscard]] std::vector<int> permutation_number(std::uint64_t number, int ranks);
// That of the variant; empty where its collective has none.
[[nodiscard]] std::vector<int> permutation_of(const Variant& variant);

[[nodiscard]] std::shared_ptr<const Plans> build_plans(const Variant& variant);
// Whether another radix makes other plans: of a few ranks of many.
[[nodiscard]] bool differs(const Variant& variant, int other_radix);

// The layouts block, cyclic and random, in this order.
inline constexpr int kLayouts = 3;
[[nodiscard]] const char* layout_name(int layout);
[[nodiscard]] topology::Placement make_placement(int layout, const topology::Machine& machine, int nodes, int ranks);

// All recorded machines.
[[nodiscard]] const std::vector<topology::Machine>& machines();

// What a row can meet with so many ranks: every combination of placement, root and radix, each for every carrier.
class Combinations {
 public:
  // Of one machine's placements only, if given; it must stay.
  Combinations(const algorithms::Algorithm& row, int ranks, const topology::Machine* only = nullptr);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t roots() const { return roots_; }
  // The `number`-th, below size(), without its plans: one variant for each carrier.
  [[nodiscard]] std::vector<Variant> at(std::uint64_t number) const;

  // The first, but with this radix.
  [[nodiscard]] std::vector<Variant> with_radix(int radix) const;

  // What they are combinations of, for people.
  [[nodiscard]] static std::string placements(const topology::Machine* only = nullptr);
  [[nodiscard]] static std::string radices();

 private:
  const algorithms::Algorithm& row_;
  int ranks_;
  const topology::Machine* only_;
  std::uint64_t machines_, nodes_, roots_;
  std::uint64_t others_;  // of everything but roots
  std::uint64_t size_, first_, stride_;
};

// Variants that were looked at: those whose plans are equal (a radix or placement that the algorithm does not look at)
// are the same.
class Seen {
 public:
  // Says whether it is a new one.
  bool add(const Variant& variant);

 private:
  std::vector<Variant> variants_;
};

// A beginning of the combinations, with their plans, none twice.
[[nodiscard]] std::vector<Variant> variants(const algorithms::Algorithm& row, int ranks, std::uint64_t combinations);

}  // namespace copse::analysis
