// Values that are combined on one rank.
#pragma once

#include <functional>
#include <span>

#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Fetches a value to be combined when its turn comes: scratch areas are few, and a wire delivers into them.
using Fetch = std::function<plan::Operand()>;

// Computes dst = items[0] op items[1] op ..., associated from items[own] outwards, first to the left. So dst may be the place
// of items[own], which is read first. With own = 0 it is the left fold, which is the same on all ranks. Sums that are not
// complete yet lie in `via`, if given. So a dst that is far away is written once and never read.
void fold(plan::Builder& builder, plan::Operand dst, std::span<const Fetch> items, std::size_t own, plan::Operand via = {});

// A value that may still have to be computed: low, or low op high.
struct Sum {
  plan::Operand low, high{};
};
// Stores the sum in `place`, unless it is already there.
void settle(plan::Builder& builder, plan::Operand place, const Sum& sum);

}  // namespace copse::algorithms
