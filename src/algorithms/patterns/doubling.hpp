// Recursive doubling.
#pragma once

#include <functional>

#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

// Inside a loop: recursive doubling over teams. All ranks of a team have the same value. Teams 2^i apart exchange what they
// have, each rank with its image. Each of the two combines both values, the lower team's first, so that all ranks get the same
// bits (in HMPI 2.3, every rank of a power of two has its own order). If the number of teams is not a power of two, neighbours pair
// up first, and the odd team of each pair gets the result at the end (Thakur et al. 2005). Uses areas from `area` on, and
// scratches. If only some ranks are `wanted` to have the result, no rank does more than they need, and the sum that is returned on
// the others has no meaning.
using Wanted = std::function<bool(int rank)>;
[[nodiscard]] Sum double_up(plan::Builder& builder, const Teams& teams, int rank, int area, Sum mine, const Wanted& wanted = {});
// Tells whether this rank's value goes into anybody's result.
[[nodiscard]] bool needed_to_double_up(const Teams& teams, int rank, const Wanted& wanted);
[[nodiscard]] int doubling_areas(std::size_t teams);

// Inside a loop: the leaders of all nodes, each of which has the sum of its node, double up. Each node takes the result
// from its leader (HMPI 2.5).
void double_up_over_nodes(plan::Builder& builder, const Request& request, int area, const Sum& mine);

}  // namespace copse::algorithms
