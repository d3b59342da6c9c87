// Calls that a rank would not make, as its own executor and those of the others see them (docs/decisions/refusals.md).
#include <functional>
#include <optional>

#include "engine/executor.hpp"

namespace copse::engine {

void Executor::refuse(std::uint64_t number) {
  Refusal &mine = refusal();
  if (!aside_) {
    mine.first.store(number, std::memory_order_release);
    mine.ticket.store(ticket_, std::memory_order_release);
  }
  aside_ = true;
  mine.last.store(number, std::memory_order_release);
}

void Executor::refuse_all() {
  refuse(1);
  refusal().last.store(UINT64_MAX, std::memory_order_release);
}

// Has another rank refused the call that this one is in?
Outcome Executor::refused_by_another() {
  if (aside_ || leaving_) return Outcome::done;
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    if (!segment_.refusal(static_cast<int>(local)).is_of(number_)) continue;
    lost_rank_ = rank_of_local_[local];
    return Outcome::refused;
  }
  return Outcome::done;
}

// This rank takes no further part in the call that it is in. The call is over when nobody can touch this rank's buffers any
// more: when every other rank has come to its end, or has refused it.
Outcome Executor::leave() {
  const std::uint64_t last = ticket_ + fragments_ - 1;
  leaving_ = true;
  segment_.progress(peers_[static_cast<std::size_t>(me_)].local).pass(last);
  Outcome outcome = Outcome::done;
  for (std::size_t local = 0; local < rank_of_local_.size() && outcome == Outcome::done; ++local) {
    const int rank = rank_of_local_[local];
    if (rank == me_) continue;
    const auto out = [&] {
      const int number_here = static_cast<int>(local);
      return segment_.progress(number_here).passed(last) || segment_.refusal(number_here).is_of(number_);
    };
    outcome = wait_for(std::ref(out), rank);
  }
  if (outcome == Outcome::pending) return outcome;
  leaving_ = false;
  return outcome == Outcome::done ? Outcome::refused : outcome;
}

// Of the call of that number, as a rank has noted it; none: it has not begun it. A call may have been noted for each of its
// parts, and the first counts. The rank may note calls while this one reads; but who has seen a word sees those that were noted
// before it, at the next reading.
std::optional<std::uint64_t> Executor::ticket_of(int local, std::uint64_t number) const {
  const std::atomic<std::uint64_t> *const journal = segment_.journal(local);
  std::optional<std::int64_t> ahead, before;
  do {
    before = ahead;
    for (std::uint64_t i = 0; i <= journal_mask_; ++i) {
      const std::uint64_t word = journal[i].load(std::memory_order_acquire);
      const std::int64_t its = ahead_of(word, ticket_);
      if (is_of(word, number) && its >= 0 && its < ahead.value_or(INT64_MAX)) ahead = its;
    }
  } while (ahead != before);
  if (!ahead) return std::nullopt;
  return ticket_ + static_cast<std::uint64_t>(*ahead);
}

// Before the call of that number: finds out which ticket it has. Whoever has begun it knows; or, if all ranks have refused
// what came before, the one that was the last to do so. By then every other rank is out of the calls that this one has
// refused, and they can be forgotten.
Outcome Executor::take_part_again(std::uint64_t number) {
  Refusal &mine = refusal();
  const std::uint64_t refused = mine.last.load(std::memory_order_relaxed);
  if (refused < number - 1) mine.last.store(number - 1, std::memory_order_release);
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const int rank = rank_of_local_[local];
    if (rank == me_) continue;
    const auto beyond = [&] {
      const int there = static_cast<int>(local);
      const std::uint64_t last = segment_.refusal(there).last.load(std::memory_order_acquire);
      return (last != 0 && last >= number - 1) || ticket_of(there, number);
    };
    if (const Outcome outcome = wait_for(std::ref(beyond), rank); outcome != Outcome::done) return outcome;
  }
  std::uint64_t latest = 0, ticket = ticket_;
  std::optional<std::uint64_t> begun;
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const Refusal &theirs = segment_.refusal(static_cast<int>(local));
    // Before the journal: who has another refusal, or none any more, has noted the call before.
    const std::uint64_t last = theirs.last.load(std::memory_order_acquire);
    const std::uint64_t first = theirs.first.load(std::memory_order_acquire);
    const std::uint64_t their_ticket = theirs.ticket.load(std::memory_order_acquire);
    if (last != 0 && first > latest) {
      latest = first;
      ticket = their_ticket;
    }
    if (!begun) begun = ticket_of(static_cast<int>(local), number);
  }
  ticket_ = begun.value_or(ticket);
  segment_.progress(peers_[static_cast<std::size_t>(me_)].local).pass(ticket_ - 1);
  return Outcome::done;
}

// The call has been noted: whoever finds no refusal finds that.
void Executor::forget_refusal() {
  refusal().last.store(0, std::memory_order_release);
  aside_ = false;
}

}  // namespace copse::engine
