// What dedicated collective processors cost and save on a machine, by the price.
#pragma once

#include <optional>
#include <string>

#include "cli/pricing.hpp"

namespace copse::cli {

// Prints the latency of a call, what it costs a rank, and when helpers pay, by the number of ranks and by ranks for each helper
// (CDCP V.D and V.E).
void print_helpers(const PricedCall& call, const price::Parameters& machine, int ranks, bool json);

// The share of the computation that the calls must take for helpers to pay, although helpers do not compute (CDCP V.E).
// `overlapping` is for calls that overlap with the computation, and `waiting` is for calls that do not. A share below 0 means that
// helpers never pay.
struct BreakEven {
  double overlapping = 0, waiting = 0;
};

// What helpers on processors of their own would do for a call of ranks on one node. Times are in ns.
struct HelpersAdvice {
  int helpers = 0;  // one for every 8 ranks; 0: no processor is left for a helper
  double latency = 0, overhead = 0, without_latency = 0, without_overhead = 0;
  BreakEven pays;

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::string json() const;
};
// Returns nothing if helpers do not serve the collective. Both prices are for ranks that sit together, by the built-in rules.
[[nodiscard]] std::optional<HelpersAdvice> advise_on_helpers(const PricedCall& call, const price::Parameters& machine,
                                                             const choose::Situation& situation);

}  // namespace copse::cli
