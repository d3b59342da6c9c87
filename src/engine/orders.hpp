// The orders that the callers of a node give its helpers (signal/order.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "engine/neighbours.hpp"
#include "engine/signal/order.hpp"

namespace copse::engine {

class Orders {
 public:
  explicit Orders(const Neighbours& here);

  // Gives the helpers an order for the call that begins at this ticket.
  void give(const Order& order, std::uint64_t ticket);
  // Only helpers call this. Returns the order of the call that begins at this ticket, if a caller of this node has given it. With
  // many callers, the helper looks at some of them at a time, unless `of_all` is set.
  [[nodiscard]] std::optional<Order> find(std::uint64_t ticket, bool of_all);

 private:
  const Neighbours& here_;
  int callers_ = 0;  // of this node
  int caller_ = 0;  // where the next search begins: at the caller that gave the last order, or behind those that gave none
};

}  // namespace copse::engine
