// Cases: what an algorithm of the registry is proved on.
//
// A variant is one set of plans: row, ranks, root, carrier, radix and placement. Variants whose plans are equal
// (a radix or placement that the algorithm does not look at) are the same variant. The cases of a variant are
// sequences of calls: fragments 1, 2, 3 and more than the rings are deep; in place and not; the same plans
// back to back, another root between, other algorithms between, all on the same lines and slots.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "algorithms/registry.hpp"
#include "analysis/checker.hpp"
#include "topology/placement.hpp"

namespace copse::analysis {

enum class Effort : std::uint8_t {
  quick,  // a few roots and placements; changes with the number of ranks, so that a range covers all;
          // beyond 32 ranks fewer still
  full,   // every root up to 17 ranks, all placements and radices
};

struct Variant {
  const algorithms::Algorithm* row = nullptr;
  int ranks = 1, root = 0, radix = 2;
  plan::Carrier carrier = plan::Carrier::slot;
  std::shared_ptr<const topology::Placement> places;
  std::string placement;  // its name
  std::vector<std::int32_t> nodes;
  std::shared_ptr<const Plans> plans;

  [[nodiscard]] std::string name() const;
};

struct NamedCase {
  std::string name;
  Case subject;
  bool mixed = false;  // other algorithms take part
};

// `layout` is block, cyclic or random; over nodes of `regions` NUMA regions each.
[[nodiscard]] topology::Placement make_placement(const std::string& layout, int ranks, int nodes, int regions);

[[nodiscard]] std::shared_ptr<const Plans> build_plans(const Variant& variant);
[[nodiscard]] std::vector<Variant> variants(const algorithms::Algorithm& row, int ranks, Effort effort);
[[nodiscard]] std::vector<NamedCase> cases(const Variant& variant, Effort effort);

// All cases of all variants of a row, checked.
struct Failure {
  std::string name;
  std::vector<Finding> findings;
};
struct Tally {
  std::uint64_t variants = 0, plans = 0, cases = 0, steps = 0, accesses = 0, failed = 0;
  std::uint64_t spoiled = 0;      // mixed cases that prove nothing: another algorithm fails without this one
  std::vector<Failure> failures;  // the first few
  Tally& operator+=(const Tally& other);
};
[[nodiscard]] Tally verify(const algorithms::Algorithm& row, int ranks, Effort effort);

}  // namespace copse::analysis
