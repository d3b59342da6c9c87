// Prices the ways in which a call could run. `price`, `explain` and the picture of winners have this in common.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "choose/decision.hpp"
#include "price/price.hpp"

namespace copse::cli {

// The operator and the elements of a reduction, by their names in a machine's file.
struct Reduction {
  std::string operation = "sum", type = "double";
  std::size_t element_bytes = sizeof(double);
};
// Throws std::invalid_argument if there is no such operator or type, or if the operator is not defined for the type.
[[nodiscard]] Reduction reduction_of(const std::string& operation, const std::string& type);

// A call whose ways are priced, besides the situation of its ranks.
struct PricedCall {
  algorithms::Collective collective{};
  std::size_t bytes = 0;  // of the message, or of each block
  bool strict = false;    // an operator that does not commute
  bool cold = false;      // inputs and outputs are in no cache
  int calls = 3;          // the price is that of one among so many
  double most = price::kTooLong;  // ns: nobody asks for the price of what takes longer
  Reduction reduction = {};       // if the collective reduces
};

// A way and what it costs.
struct Priced {
  choose::Decision decision;
  price::Price price;
};

// Tells whether two ways differ by no more than radix and fragments.
[[nodiscard]] inline bool is_same_way(const choose::Decision& a, const choose::Decision& b) {
  return a.algorithm == b.algorithm && a.carrier == b.carrier;
}
// Returns "algorithm:carrier", and the radix if it is not 2.
[[nodiscard]] std::string name_of(const choose::Decision& decision);
// Returns "12.3 ns" or "12.3 us".
[[nodiscard]] std::string time_text(double ns);
[[nodiscard]] std::string with_format(const char* format, double value);

// Knows a machine and where the ranks sit on it.
class Pricer {
 public:
  // The machine must outlive this. situation() gets these places and their number of ranks.
  Pricer(const price::Parameters& machine, const choose::Situation& situation, topology::Placement places);

  [[nodiscard]] const choose::Situation& situation() const { return situation_; }

  // Returns everything that could run the call, without a price. `fragments` are the sizes that are tried; 0: not cut.
  [[nodiscard]] std::vector<choose::Decision> ways(const PricedCall& call, std::span<const int> radices,
                                                   std::span<const std::size_t> fragments) const;
  // Makes the plans of a way. They do not depend on the size of the message. The variant has no plans if the way's radix gives the
  // same plans as radix 2.
  [[nodiscard]] analysis::Variant variant_of(const choose::Decision& way) const;
  [[nodiscard]] price::Price price(const PricedCall& call, const choose::Decision& way, const analysis::Variant& variant) const;
  // Makes the plans of a way, and returns its price.
  [[nodiscard]] price::Price price(const PricedCall& call, choose::Decision way) const;
  // Returns all ways with their prices, the cheapest first. If `algorithm` is not empty, returns only the ways of that algorithm.
  [[nodiscard]] std::vector<Priced> all(const PricedCall& call, std::span<const int> radices,
                                        const std::string& algorithm = {}) const;

 private:
  const price::Parameters& machine_;
  std::shared_ptr<const topology::Placement> places_;
  std::vector<std::int32_t> nodes_;  // of the ranks, if they sit on several
  choose::Situation situation_;
};

}  // namespace copse::cli
