// Writes and finds orders.
#include "engine/orders.hpp"

#include <algorithm>
#include <cstring>

namespace copse::engine {

void Orders::give(const Order& order, std::uint64_t ticket) {
  Line& line = here_.segment.order(here_.me_here, ticket);
  std::memcpy(line.payload, &order, sizeof order);
  line.post(ticket);  // partner: find
}

std::optional<Order> Orders::find(std::uint64_t ticket, bool of_all) {
  constexpr int kAtOnce = 8;
  const int callers = here_.callers();
  for (int i = 0; i < (of_all ? callers : std::min(callers, kAtOnce)); ++i) {
    const Peer& caller = here_.peer(caller_);
    if (caller.local >= 0) {
      const Line& line = here_.segment.order(caller.local, ticket);
      if (line.reached(ticket)) {
        Order order;
        std::memcpy(&order, line.payload, sizeof order);
        return order;
      }
    }
    caller_ = (caller_ + 1) % callers;
  }
  return std::nullopt;
}

}  // namespace copse::engine
