// allreduce, served: the callers' values are combined by helpers, which have no part of the message, and come back from them
// (CDCP IV.A).
// Cost: one post and one await of a caller. A helper combines P / H values; then log2 H (a + n (b + c)) among helpers
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"

namespace copse::algorithms {

plan::Plan allreduce_served(const Request& request) { return combine_for_all(request); }

}  // namespace copse::algorithms
