// Whether ranks live, and what a group's calls run on.
#include "communicator/group.hpp"

#include <chrono>

namespace copse::communicator {

// The plot is given back only if nobody has given up in it. A lane that gave up has noted that in the plot, too.
Group::~Group() {
  if (!left) return;
  const int local = kin->reached.peers[static_cast<std::size_t>(rank)].local;
  if (plot.segment.given_up(local).load() == 0) kin->plots.give_back(plot.number, left->next_ticket, left->warm);
}

bool Group::has_ended(int other) const {
  const auto& process = kin->reached.peers[static_cast<std::size_t>(other)].process;
  if (!process) return false;
  if (process->ended()) return true;
  constexpr std::chrono::seconds kStopped{10};
  if (other >= callers() && !is_helper()) process->end_if_stopped(kStopped);  // a stopped helper must not stop the program
  return false;
}

int Group::first_ended() const {
  for (int other = 0; other < ranks; ++other)
    if (has_ended(other)) return other;
  return -1;
}

LaneGround Group::lane_ground() const {
  std::size_t most = wire != nullptr ? wire->lanes_most() : SIZE_MAX;
  if (settings.helpers > 0) most = std::min(most, static_cast<std::size_t>(settings.streams - 1));
  const Conditions& conditions = kin->conditions;
  return {*bootstrap, kin->ground,          plot.segment, conditions.capabilities.ranks_here, conditions.most_on_a_node,
          most,       settings.first_ticket};
}

std::unique_ptr<engine::Executor> Group::executor_on(const engine::Segment& where, engine::Wire* over, std::uint64_t ticket) const {
  const auto lost = [this](int other) { return has_ended(other); };
  auto executor = std::make_unique<engine::Executor>(where, kin->reached.peers, rank, kin->conditions.tuning.wait, over, lost,
                                                     progress->scratches());
  executor->begin_at(ticket);
  executor->while_waiting([everything = progress.get()] { everything->idle(); });
  const Tuning& tuning = kin->conditions.tuning;
  if (tuning.heap_only) executor->publish_from_heap_only();
  executor->stream_from(tuning.stream_from);
  executor->store_slots(tuning.slots);
  return executor;
}

}  // namespace copse::communicator
