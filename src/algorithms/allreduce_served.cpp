// allreduce, served: the callers' values are combined by helpers, which have no part of the message, and come back from them
// (CDCP IV.A).
// Cost: one post and one await of a caller. A helper combines P / H values; then log2 H (a + n (b + c)) among helpers
// Wins: calls that are hidden behind computation, where some processors are free
#include "algorithms/patterns/serving.hpp"
#include "algorithms/patterns/trees.hpp"

namespace copse::algorithms {
namespace {

std::vector<int> tops_of(const shape::SurveyedTree& forest, const Request& request) {
  std::vector<int> result;
  for (int helper = request.callers(); helper < request.ranks; ++helper) {
    const auto at = static_cast<std::size_t>(helper);
    if (forest.parent[at] == shape::kNoParent && !forest.children[at].empty()) result.push_back(helper);
  }
  return result;
}

}  // namespace

plan::Plan allreduce_served(const Request& request) {
  plan::Builder builder = request.builder();
  const shape::SurveyedTree& forest = serving_forest(request);
  const Service service(builder, request, forest);
  if (service.is_caller()) {
    service.call(true, true);
  } else if (!service.is_idle()) {
    builder.loop();
    if (service.is_top()) {
      service.combine_and_exchange(tops_of(forest, request));
    } else {
      service.combine_up();
      builder.lag(kLag);
      service.pass_down();
    }
    service.release();
  }
  return builder.finish();
}

}  // namespace copse::algorithms
