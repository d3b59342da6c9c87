// Communicators with helpers (docs/decisions/helpers.md): what callers tell their helpers, and what helpers do.
#include <unistd.h>

#include <array>

#include "choose/chooser.hpp"
#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

bool Communicator::can_serve_some(Collective collective) {
  static const auto kServed = [] {
    std::array<bool, algorithms::kCollectives> served{};
    for (const algorithms::Algorithm& row : algorithms::every())
      if (row.served()) served[static_cast<std::size_t>(row.collective)] = true;
    return served;
  }();
  return kServed[static_cast<std::size_t>(collective)];
}

// A user's operator cannot leave its process, and an order has no room for the sizes of all blocks.
bool Communicator::can_serve(const Arguments& arguments, int callers) {
  const bool has_users_operator = arguments.combine != nullptr && arguments.combine->code == 0;
  return can_serve_some(arguments.collective) && !arguments.ragged && !has_users_operator &&
         choose::can_be_served(arguments.collective, callers, arguments.element_bytes);
}

Communicator::Served Communicator::serve(const std::shared_ptr<Job>& job, bool looks_at_all) {
  State& state = *state_;
  engine::Executor& executor = *state.seat.executor;
  if (state.failure.outcome != Outcome::done) return Served::ended;
  const Outcome last = poll(*job);  // the outcome of the last call, or of a new job
  if (last == Outcome::pending) return executor.moved() ? Served::moved : Served::nothing;
  if (!engine::is_over(last)) return Served::ended;
  // The first caller of the node may have refused its last calls, and ended. All orders that it has given are visible by then.
  // Other callers may still make the calls that it refused. They need not wait for this helper.
  const bool last_orders = executor.refuses_all(state.group->kin->ground.leader_rank);
  const std::optional<engine::Order> order = executor.orders().find(executor.ticket(), last_orders || looks_at_all);
  if (!order && last_orders) {
    executor.refuse_from(state.calls + 1);
    return Served::ended;
  }
  if (!order) return Served::nothing;
  if (order->end) return Served::ended;
  engine::Combine combine;
  if (order->combine != 0) combine = engine::predefined(order->combine);
  state.calls = order->number - 1;
  start(job, {.collective = static_cast<Collective>(order->collective),
              .count = order->count,
              .element_bytes = order->element_bytes,
              .combine = order->combine != 0 ? &combine : nullptr,
              .root = order->root});
  return Served::moved;
}

bool Communicator::is_forsaken() const {
  const Group& group = *state_->group;
  const int first = group.kin->ground.leader_rank, local = group.kin->reached.peers[static_cast<std::size_t>(first)].local;
  return !under_way() && (group.has_ended(first) || group.plot.segment.given_up(local).load() != 0);
}

// The first caller of a node tells its helpers that no more calls will come. If it has refused its last calls, it has no ticket for
// that, and refuses all further calls instead. A caller that leaves a call under way gives up: helpers wait for it, and a goodbye
// would take the place of its order. A forked child is no caller, and does not have the memory.
void Communicator::State::send_helpers_home() {
  if (group->settings.helpers == 0 || group->is_helper() || failure.outcome != Outcome::done) return;
  if (group->kin->reached.pids[static_cast<std::size_t>(group->rank)] != getpid()) return;
  if (!started.empty()) return seat.executor->give_up();
  if (group->rank != group->kin->ground.leader_rank) return;
  if (seat.executor->is_in_step()) seat.executor->orders().give({.end = true}, seat.executor->ticket());
  else seat.executor->refuse_from(calls + 1);
}

}  // namespace copse::communicator
