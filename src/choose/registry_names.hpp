// What the compiler knows about the registry, for tables of rules that are checked when they are compiled.
#pragma once

#include <array>
#include <stdexcept>
#include <string_view>

#include "choose/rule.hpp"

namespace copse::choose {

struct Known {
  algorithms::Collective collective;
  std::string_view name;
  unsigned carriers;
  bool fragments;
};
inline constexpr std::array kKnown = [] {  // in the registry's order
  using namespace algorithms;
  return std::to_array<Known>({
#define ALGORITHM(collective, name, carriers, keeps_order, fragments, ...) {Collective::collective, #name, carriers, fragments},
#define PACK(...)
#include "algorithms/registry.def"
#undef PACK
#undef ALGORITHM
  });
}();

// Returns the index of a rule's algorithm in the registry. A rule that asks for something that does not exist does not
// compile; the compiler then names its row and the `throw` below that it reached.
consteval int place_of(algorithms::Collective collective, std::string_view name, plan::Carrier carrier, int radix, Pieces pieces) {
  if (radix < 2 || radix > 64) throw std::invalid_argument("a radix that is not from 2 to 64");
  for (std::size_t i = 0; i < kKnown.size(); ++i) {
    const Known& known = kKnown[i];
    if (known.collective != collective || known.name != name) continue;
    if ((known.carriers >> static_cast<int>(carrier) & 1U) == 0) throw std::invalid_argument("an algorithm without that carrier");
    if ((carrier == plan::Carrier::line || !known.fragments) && pieces != Pieces::whole)
      throw std::invalid_argument("pieces of what is not cut");
    return static_cast<int>(i);
  }
  throw std::invalid_argument("no algorithm of that name");
}

}  // namespace copse::choose
