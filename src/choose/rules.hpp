// The choice as data. The built-in rules are the rows of rules.def. Those of a tuning table (table.hpp), and then those by price
// (recorded.hpp), come before them.
#pragma once

#include <span>

#include "choose/rule.hpp"

namespace copse::choose {

// The built-in rules.
[[nodiscard]] std::span<const Rule> rules();

}  // namespace copse::choose
