// Writes and finds orders.
#include "engine/orders.hpp"

#include <algorithm>
#include <cstring>

namespace copse::engine {

// Callers come before helpers, also among the ranks of this node.
Orders::Orders(const Neighbours& here) : here_(here) {
  while (callers_ < here_.on_node() && here_.rank_of(callers_) < here_.callers()) ++callers_;
}

void Orders::give(const Order& order, std::uint64_t ticket) {
  Line& line = here_.segment.order(here_.me_here, ticket);
  std::memcpy(line.payload, &order, sizeof order);
  line.post(ticket);  // partner: find
}

std::optional<Order> Orders::find(std::uint64_t ticket, bool of_all) {
  constexpr int kAtOnce = 8;
  for (int i = 0; i < (of_all ? callers_ : std::min(callers_, kAtOnce)); ++i) {
    const Line& line = here_.segment.order(caller_, ticket);
    if (line.reached(ticket)) {
      Order order;
      std::memcpy(&order, line.payload, sizeof order);
      return order;
    }
    caller_ = (caller_ + 1) % callers_;
  }
  return std::nullopt;
}

}  // namespace copse::engine
