// Calls that a rank would not make, as its own executor and those of the others see them (docs/decisions/refusals.md).
#include "engine/executor.hpp"

namespace copse::engine {

void Executor::refuse(std::uint64_t number) {
  Refusal &mine = refusal();
  if (!aside_) {
    mine.first.store(number, std::memory_order_relaxed);
    mine.ticket.store(ticket_, std::memory_order_relaxed);
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
    if (!segment_.refusal(static_cast<int>(local)).is_of(number())) continue;
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
      return segment_.progress(number_here).passed(last) || segment_.refusal(number_here).is_of(number());
    };
    outcome = wait_for(out, rank);
  }
  if (outcome == Outcome::pending) return outcome;
  leaving_ = false;
  return outcome == Outcome::done ? Outcome::refused : outcome;
}

// Of two words, that of the earlier call, or of the earlier part of one; 0 is none.
static std::uint64_t earlier(std::uint64_t one, std::uint64_t other) {
  if (one == 0 || other == 0) return one | other;
  const std::uint64_t ahead = (one - other) & kNumberMask;
  if (ahead != 0) return ahead > kNumberMask / 2 ? one : other;
  return static_cast<std::int64_t>(one - other) < 0 ? one : other;
}

// The word of the first call, of that number or a later one, that a rank has begun; 0: it has begun none. It may note calls
// while this rank reads; but who has seen a word sees those that were noted before it, at the second reading.
std::uint64_t Executor::first_begun(int local, std::uint64_t number) const {
  const std::atomic<std::uint64_t> *const journal = segment_.journal(local);
  std::uint64_t first = 0, before = 0;
  do {
    before = first;
    for (std::uint64_t i = 0; i <= journal_mask_; ++i) {
      const std::uint64_t word = journal[i].load(std::memory_order_acquire);
      const bool ahead = static_cast<std::int64_t>(ticket_of(word, ticket_) - ticket_) >= 0;
      if (ahead && is_from(word, number)) first = earlier(first, word);
    }
  } while (first != before);
  return first;
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
      return (last != 0 && last >= number - 1) || first_begun(there, number) != 0;
    };
    if (const Outcome outcome = wait_for(beyond, rank); outcome != Outcome::done) return outcome;
  }
  std::uint64_t latest = 0, ticket = ticket_, begun = 0;
  for (std::size_t local = 0; local < rank_of_local_.size(); ++local) {
    const Refusal &theirs = segment_.refusal(static_cast<int>(local));
    // In this order: who begins a call after a refusal writes so before it takes the refusal back.
    const std::uint64_t last = theirs.last.load(std::memory_order_acquire);
    const std::uint64_t first = theirs.first.load(std::memory_order_relaxed);
    const std::uint64_t their_ticket = theirs.ticket.load(std::memory_order_relaxed);
    if (last != 0 && first > latest) {
      latest = first;
      ticket = their_ticket;
    }
    begun = earlier(begun, first_begun(static_cast<int>(local), number));
  }
  if (begun != 0) ticket = ticket_of(begun, ticket_);
  ticket_ = ticket;
  segment_.progress(peers_[static_cast<std::size_t>(me_)].local).pass(ticket - 1);
  return Outcome::done;
}

// The call has been noted: whoever finds no refusal finds that.
void Executor::forget_refusal() {
  refusal().last.store(0, std::memory_order_release);
  aside_ = false;
}

}  // namespace copse::engine
