// barrier, dissemination: after round k every rank knows of the 2^(k+1) ranks before it.
#include "algorithms/registry.hpp"

namespace copse::algorithms {

plan::Plan barrier_dissemination(const Request &request) {
  plan::Builder builder = request.builder();
  int area = 0;
  for (int distance = 1; distance < request.ranks; distance *= 2, ++area) {
    const std::int32_t to[] = {(request.rank + distance) % request.ranks};
    builder.signal(area, to);
    builder.await_signal(area, (request.rank - distance + request.ranks) % request.ranks);
  }
  return builder.finish();
}

}  // namespace copse::algorithms
