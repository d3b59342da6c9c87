// allreduce, served: the callers' values are combined by helpers, which have no part of the message, and come back from them
// (CDCP IV.A).
// Cost: one post and one await of a caller. A helper combines P / H values; then 2 ceil(log_k H) (k-1) (a + n b) among helpers
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/patterns.hpp"
#include "algorithms/patterns/serving.hpp"

namespace copse::algorithms {

plan::Plan allreduce_served(const Request &request) {
  plan::Builder builder = request.builder();
  const Service service(builder, request);
  if (service.is_caller()) {
    service.call(true, true);
  } else if (!service.is_idle()) {
    builder.loop();
    service.combine_up();
    if (!service.is_top()) {
      builder.lag(kLag);
      service.pass_down();
    }
    service.release();
  }
  return builder.finish();
}

}  // namespace copse::algorithms
