// reduce_scatter, served: the callers' values are combined by helpers, which have no part of the message. Each caller takes its
// block of the result from its helper (as CDCP IV.A does for allreduces). Helpers exchange sums by recursive halving.
// Cost: one post and one await of a caller. A helper combines P / H values; then log2 H a + P n (b + c) among helpers, n being a
// block
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"

namespace copse::algorithms {

plan::Plan reduce_scatter_served(const Request& request) { return combine_for_all(request); }

}  // namespace copse::algorithms
