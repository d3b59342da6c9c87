// Refusing calls, leaving calls that others refuse, and coming back.
#include "engine/refusals.hpp"

namespace copse::engine {

// In 32 bits, a ticket of long ago looks like one to come.
void Refusals::begin_at(std::uint64_t ticket) {
  first_ = ticket;
  if (here_.own_progress().word.load(std::memory_order_relaxed) == 0) return;  // the memory is new, and stays untouched
  for (std::uint64_t i = 0; i <= journal_mask_; ++i) journal_[i].store(0, std::memory_order_relaxed);  // partner: ticket_of
}

void Refusals::refuse(std::uint64_t number, std::uint64_t ticket) {
  Refusal& mine = own();
  if (!aside_) {
    mine.first.store(number, std::memory_order_release);
    mine.ticket.store(ticket, std::memory_order_release);
  }
  aside_ = true;
  mine.last.store(number, std::memory_order_release);
}

void Refusals::refuse_from(std::uint64_t number, std::uint64_t ticket) {
  refuse(number, ticket);
  own().last.store(UINT64_MAX, std::memory_order_release);
}

int Refusals::refused_by() const {
  if (aside_ || leaving_) return -1;
  for (int local = 0; local < here_.on_node(); ++local)
    if (here_.segment.refusal(local).is_of(number_)) return here_.rank_of(local);
  return -1;
}

// The call is over when nobody can touch this rank's buffers any more. That is so when every other rank has come to the
// call's end or has refused it.
Outcome Refusals::leave(const Wait& wait, std::uint64_t last) {
  leaving_ = true;
  here_.own_progress().pass(last);
  Outcome outcome = Outcome::done;
  for (int local = 0; local < here_.on_node() && outcome == Outcome::done; ++local) {
    const int rank = here_.rank_of(local);
    if (rank == here_.me) continue;
    const auto out = [&] { return here_.segment.progress(local).passed(last) || here_.segment.refusal(local).is_of(number_); };
    outcome = wait(std::ref(out), rank);
  }
  if (outcome == Outcome::pending) return outcome;
  leaving_ = false;
  return outcome == Outcome::done ? Outcome::refused : outcome;
}

// Returns the ticket of the call with this number, as a rank has noted it, or nothing if that rank has not begun the call. A
// call may have been noted for each of its parts; the first note counts. The rank may note calls while this one reads. But a
// reader that has seen a word sees all words that were noted before it at the next reading.
std::optional<std::uint64_t> Refusals::ticket_of(int local, std::uint64_t number, std::uint64_t near) const {
  if (!here_.segment.progress(local).passed(first_ - 1)) return std::nullopt;  // it has not come to its first call
  const std::atomic<std::uint64_t>* const journal = here_.segment.journal(local);
  std::optional<std::int64_t> ahead, before;
  do {
    before = ahead;
    for (std::uint64_t i = 0; i <= journal_mask_; ++i) {
      const std::uint64_t word = journal[i].load(std::memory_order_acquire);
      const std::int64_t its = ahead_of(word, near);
      if (is_of(word, number) && its >= 0 && its < ahead.value_or(INT64_MAX)) ahead = its;
    }
  } while (ahead != before);
  if (!ahead) return std::nullopt;
  return near + static_cast<std::uint64_t>(*ahead);
}

// A rank that has begun the call knows its ticket. If all ranks have refused what came before, the last one to do so knows
// it. By then every other rank is out of the calls that this one has refused, and they can be forgotten. A helper begins only calls
// that a caller has begun. It refuses calls only when it leaves for good. Otherwise it is out once it has passed all tickets
// before.
Outcome Refusals::rejoin(const Wait& wait, std::uint64_t number, std::uint64_t& ticket) {
  Refusal& mine = own();
  const std::uint64_t near = ticket, refused = mine.last.load(std::memory_order_relaxed);
  if (refused < number - 1) mine.last.store(number - 1, std::memory_order_release);
  for (int local = 0; local < here_.on_node(); ++local) {
    const int rank = here_.rank_of(local);
    if (rank == here_.me || rank >= here_.callers()) continue;
    const auto beyond = [&] {
      const std::uint64_t last = here_.segment.refusal(local).last.load(std::memory_order_acquire);
      return (last != 0 && last >= number - 1) || ticket_of(local, number, near);
    };
    if (const Outcome outcome = wait(std::ref(beyond), rank); outcome != Outcome::done) return outcome;
  }
  std::uint64_t latest = 0;
  std::optional<std::uint64_t> begun;
  for (int local = 0; local < here_.on_node(); ++local) {
    const Refusal& theirs = here_.segment.refusal(local);
    // This is read before the journal: a rank that has another refusal, or none any more, has noted the call before.
    const std::uint64_t last = theirs.last.load(std::memory_order_acquire);
    const std::uint64_t first = theirs.first.load(std::memory_order_acquire);
    const std::uint64_t their_ticket = theirs.ticket.load(std::memory_order_acquire);
    if (last != 0 && first > latest) {
      latest = first;
      ticket = their_ticket;
    }
    if (!begun) begun = ticket_of(local, number, near);
  }
  if (begun) ticket = *begun;
  for (int local = 0; local < here_.on_node(); ++local) {
    const int rank = here_.rank_of(local);
    if (rank < here_.callers()) continue;
    const auto gone = [&] { return here_.segment.progress(local).passed(ticket - 1) || refuses_all(local); };
    if (const Outcome outcome = wait(std::ref(gone), rank); outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

void Refusals::forget() {
  own().last.store(0, std::memory_order_release);
  aside_ = false;
}

}  // namespace copse::engine
