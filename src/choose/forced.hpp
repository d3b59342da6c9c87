// An algorithm that the user asks for by name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "algorithms/registry.hpp"

namespace copse::choose {

// A forced algorithm: `allreduce=knomial`, optionally with a carrier and a radix: `bcast=knomial:put:4`.
struct Forced {
  algorithms::Collective collective{};
  const algorithms::Algorithm* algorithm = nullptr;
  std::optional<plan::Carrier> carrier;
  std::optional<int> radix;
};

// Reads `algorithm[:carrier][:radix]`. If that is wrong, the result is empty, and `why` says what is known.
[[nodiscard]] std::optional<Forced> forced_in(algorithms::Collective collective, std::string_view words, std::string& why);

}  // namespace copse::choose
