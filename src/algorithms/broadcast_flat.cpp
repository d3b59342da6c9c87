// broadcast, flat: every rank takes the message from the root (KNEM IV.A).
#include "algorithms/patterns.hpp"

namespace copse::algorithms {

plan::Plan broadcast_flat(const Request &request) {
  plan::Builder builder = request.builder();
  builder.loop();
  send_down(builder, request.ranks_tree(shape::Form::flat), request.rank, 0, plan::Builder::input());
  return builder.finish();
}

}  // namespace copse::algorithms
