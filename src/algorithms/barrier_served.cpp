// barrier, served: callers signal helpers, which have no part in the barrier and release them (as CDCP IV.A does for allreduces).
// Cost: one signal and one wait of a caller. P / H signals for each of H helpers, then 2 ceil(log_k H) (k-1) a among helpers
// Wins: barriers that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"
#include "algorithms/patterns/signals.hpp"

namespace copse::algorithms {

plan::Plan barrier_served(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& tree = serving_tree(request);
  const Service service(builder, request, tree);
  if (!service.is_idle()) meet(builder, tree, tree, request.rank);
  return builder.finish();
}

}  // namespace copse::algorithms
