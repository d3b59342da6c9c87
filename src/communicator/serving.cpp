// Communicators with helpers (docs/decisions/helpers.md): what callers tell their helpers, and what helpers do.
#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

bool Communicator::can_serve(const Arguments& arguments) {
  if (arguments.ragged) return false;
  switch (arguments.collective) {
    case Collective::barrier:
    case Collective::broadcast: return true;
    case Collective::reduce:
    case Collective::allreduce: return arguments.combine->code != 0;  // a user's operator cannot leave its process
    default: return false;
  }
}

engine::Order order_for(const Arguments& arguments, std::uint64_t number) {
  return {.number = number,
          .count = arguments.count,
          .element_bytes = static_cast<std::uint32_t>(arguments.element_bytes),
          .root = arguments.root,
          .combine = arguments.combine == nullptr ? std::uint16_t{0} : arguments.combine->code,
          .collective = static_cast<std::uint8_t>(arguments.collective)};
}

Communicator::Served Communicator::serve(const std::shared_ptr<Job>& job) {
  State& state = *state_;
  engine::Executor& executor = *state.seat.executor;
  if (state.failure.outcome != Outcome::done) return Served::ended;
  const Outcome last = poll(*job);  // the last call's, or that of a new job
  if (last == Outcome::pending) return executor.moved() ? Served::moved : Served::nothing;
  if (!engine::is_over(last)) return Served::ended;
  const std::optional<engine::Order> order = executor.next_order();
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

bool Communicator::is_forsaken() const { return !under_way() && state_->group->has_ended(0); }

// The first caller tells the helpers that no more calls will come.
void Communicator::State::send_helpers_home() {
  if (!group || group->settings.helpers == 0 || group->rank != 0 || failure.outcome != Outcome::done) return;
  seat.executor->give({.end = true});
}

}  // namespace copse::communicator
