// Says in words what went wrong.
#include <cstring>

#include "communicator/state.hpp"

namespace copse::communicator {

using algorithms::Collective;

std::string Communicator::has_ended_text(int rank) const {
  const Reached& reached = state_->group->kin->reached;
  const auto number = static_cast<std::size_t>(rank);
  if (reached.peers[number].local < 0)
    return "the node of rank " + std::to_string(rank) + " no longer answers: it has failed, or the network to it";
  return "rank " + std::to_string(rank) + " (process " + std::to_string(reached.pids[number]) +
         ") has ended before it took its part";
}

std::string Communicator::who_has_ended() const {
  const int rank = state_->group->first_ended();
  return rank < 0 ? std::string() : has_ended_text(rank);
}

std::string Communicator::explain(Outcome outcome, const Job* job) const {
  const Collective collective = job != nullptr ? job->arguments->collective : state_->jobs.running;
  const std::string call = std::string(algorithms::name_of(collective)) + " among " + std::to_string(state_->ranks) + " ranks";
  const auto& cut_off = (job != nullptr ? *job : state_->jobs.blocking()).cut_off;
  const int lost = state_->seat.executor->lost_rank();
  switch (outcome) {
    case Outcome::done: return call + " is done";
    case Outcome::pending: return call + " is not over yet";
    case Outcome::truncated:
      return call + ": rank " + std::to_string(cut_off.from) + " gives " +
             (cut_off.given == engine::CutOff::kTooMuch ? "more" : std::to_string(cut_off.given)) + " bytes to rank " +
             std::to_string(cut_off.to) + ", which has room for " + std::to_string(cut_off.room);
    case Outcome::outside: return "the MPI was to make this call";
    case Outcome::refused:
      return call + ": rank " + std::to_string(lost) + " refused its arguments, and takes no part; the next call is sound again";
    case Outcome::peer_lost: return call + ": " + has_ended_text(lost);
    case Outcome::peer_failed:
      return call + ": rank " + std::to_string(lost) + " has given up, for a reason that its own message tells";
    case Outcome::wire_failed: return call + ": a message between nodes failed";
    case Outcome::reach_failed:
      return call + ": reading or writing another rank's buffer failed (" + std::strerror(state_->failure.error) +
             "); is every buffer as long as its count says? COPSE_REACH=staged avoids such accesses";
    case Outcome::threw:
      return call + ": this rank's part, or an operator of the program's, ended in a C++ exception; the other ranks have been told";
    case Outcome::no_memory: return call + ": this rank has no memory left for it; the other ranks have been told";
  }
  return call;
}

}  // namespace copse::communicator
