// reduce, served: the callers' values are combined by helpers, which have no part of the message. The root takes the result from
// its helper (as CDCP IV.A does for allreduces).
// Cost: one post of a caller, and one await of the root. A helper combines P / H values; then ceil(log_k H) (k-1) (a + n b)
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"

namespace copse::algorithms {

plan::Plan reduce_served(const Request& request) {
  plan::Builder builder = request.builder();
  const Service service(builder, request, serving_tree(request));
  if (service.is_caller()) {
    service.call(true, request.rank == request.root);
  } else if (!service.is_idle()) {
    builder.loop();
    service.combine_up();
    service.release();
  }
  return builder.finish();
}

}  // namespace copse::algorithms
