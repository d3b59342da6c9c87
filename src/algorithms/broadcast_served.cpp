// broadcast, served: the root gives to its helper, and helpers pass the message on to one another and to their callers
// (as CDCP IV.A does for allreduces).
// Cost: one post of the root, one await of each other caller. ceil(log_k H) (k-1) (a + n b) among helpers
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"

namespace copse::algorithms {

plan::Plan broadcast_served(const Request& request) {
  plan::Builder builder = request.builder();
  const Service service(builder, request, serving_tree(request));
  const bool is_root = request.rank == request.root;
  if (request.callers() == 1) return builder.finish();
  if (service.is_caller()) {
    service.call(is_root, !is_root);
  } else if (!service.is_idle()) {
    builder.loop();
    if (service.is_top()) {
      service.deliver(builder.take_part(0, request.root, {}, builder.scratch(0)));
    } else {
      service.pass_down();
    }
    service.release();
  }
  return builder.finish();
}

}  // namespace copse::algorithms
