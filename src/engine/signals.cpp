// Waiting long for signals, and noticing that one will never come.
#include "engine/signals.hpp"

#include <algorithm>
#include <utility>

#include "engine/signal/processor.hpp"

namespace copse::engine {

Signals::Signals(const Neighbours& here, WaitPolicy policy, std::function<bool(int)> lost)
    : here_(here), mask_(here.segment.geometry().line_depth - 1), policy_(policy), lost_(std::move(lost)), refusals_(here) {}

// The clock decides when a rank that polls checks whether others still live, as in wait_until. The number of polls would not do,
// because a single poll may take a whole turn of the processor.
bool Signals::look_is_due() { return ++polls_.in_vain % 32 == 0 && clock_is_due(); }

bool Signals::clock_is_due() {
  const auto now = std::chrono::steady_clock::now();
  if (now < polls_.next_look) return false;
  polls_.next_look = now + kWatchEvery;
  return true;
}

Outcome Signals::poll_again(const std::function<bool()>& ready, int rank) {
  if (!look_is_due()) return Outcome::pending;
  const Outcome news = bad_news(rank);
  if (ready()) return Outcome::done;
  return news == Outcome::done ? Outcome::pending : news;
}

Outcome Signals::wait_long(const std::function<bool()>& ready, int rank, const WaitPolicy& policy) {
  if (polling_) return poll_again(ready, rank);
  if (policy.stays > 0) {  // otherwise the wait yields at once, whoever is awaited
    tell_processor();
    const bool has_spun = !std::exchange(processor_.shared, is_beside(rank));
    if (!has_spun && !processor_.shared && spin_until(policy, ready)) return Outcome::done;
  }
  Outcome news = Outcome::done;
  const bool came = wait_beyond_spinning(
      policy, ready,
      [&] {
        news = bad_news(rank);
        return news == Outcome::done || ready();  // the rank may have posted and then died
      },
      idle_, [&] { return is_beside(rank); });
  return came || ready() ? Outcome::done : news;
}

void Signals::tell_processor() {
  const std::int32_t processor = this_processor();
  if (processor == processor_.told) return;
  processor_.told = processor;
  here_.segment.processor(here_.me_here).store(processor, std::memory_order_relaxed);
}

// A rank that has moved since it told its processor tells the new one at its next long wait. Until then this answer may be wrong.
// That costs a needless yield, or a wait without yields although the ranks share a processor.
bool Signals::is_beside(int rank) const {
  const int local = here_.peer(rank).local;
  if (local < 0) return false;
  const std::int32_t here = this_processor();
  return here != 0 && here_.segment.processor(local).load(std::memory_order_relaxed) == here;
}

// Finds out whether a rank has ended, or a rank of this node has given up. In this way a rank that waits for a rank that
// waits for a dead one learns of it.
Outcome Signals::bad_news(int rank) {
  const bool ended = lost_ && [&] {
    const CancelDeferred deferred;
    return lost_(rank);
  }();
  // The words are read after that check, because a rank that gives up and then ends has said before its end whose fault it was.
  // The word of a rank about itself counts more than the word of a rank that has only heard of it, such as this rank's own word
  // from another lane.
  std::int32_t heard_of = -1;
  for (int local = 0; local < here_.on_node(); ++local) {
    const std::int32_t culprit = here_.segment.given_up(local).load(std::memory_order_relaxed) - 1;
    if (culprit < 0) continue;
    heard_of = culprit;
    if (culprit != here_.rank_of(local)) continue;
    lost_rank_ = culprit;
    return Outcome::peer_failed;
  }
  if (heard_of < 0) {
    if (const int refuser = refusals_.refused_by(); refuser >= 0) {  // a refuser may end as it likes
      lost_rank_ = refuser;
      return Outcome::refused;
    }
    if (!ended) return Outcome::done;
  }
  lost_rank_ = heard_of >= 0 ? heard_of : rank;
  return Outcome::peer_lost;
}

// A rank that has passed the ticket may end as it likes. Refusals do not count here, because this rank learns of them where it
// awaits the other rank's messages.
Outcome Signals::news_of_node(std::uint64_t ticket) {
  for (int local = 0; local < here_.on_node(); ++local) {
    const auto has_passed = [&] { return here_.segment.progress(local).passed(ticket); };
    if (local == here_.me_here || has_passed()) continue;
    const Outcome news = bad_news(here_.rank_of(local));
    if (news != Outcome::done && news != Outcome::refused && !has_passed()) return news;
  }
  return Outcome::done;
}

Outcome Signals::blame_if_lost(int rank) {
  if (rank < 0) return Outcome::done;
  lost_rank_ = rank;
  return Outcome::peer_lost;
}

void Signals::give_up_for(int culprit) const {
  here_.segment.given_up(here_.me_here).store(culprit + 1, std::memory_order_relaxed);
}

bool Signals::all_passed(std::uint64_t ticket) {
  if (known_passed(ticket)) return true;
  std::uint64_t least = ticket_;
  for (int local = 0; local < here_.on_node(); ++local) {
    const std::uint64_t theirs = here_.segment.progress(local).word.load(std::memory_order_acquire);
    if (static_cast<std::int64_t>(theirs - least) < 0) least = theirs;
  }
  passed_ = least;
  return known_passed(ticket);
}

Outcome Signals::acquire_long(std::span<const std::int32_t> readers, std::uint64_t ticket, std::uint64_t depth) {
  const std::uint64_t previous = ticket - depth;
  if (static_cast<std::int64_t>(previous - ticket_) >= 0) {  // this call has used it, so its readers are known
    for (const int local : readers) {
      const Outcome outcome = await_passed(here_.segment.progress(local), previous, here_.rank_of(local));
      if (outcome != Outcome::done) return outcome;
    }
    return Outcome::done;
  }
  if (all_passed(previous)) return Outcome::done;
  // A rank that is so far ahead waits until half of its ring is free. Otherwise it would wait for every single step of the
  // others and disturb it. That half belongs to earlier calls. They end even if this rank waits here.
  const std::uint64_t half = previous + std::min(depth / 2, ticket_ - 1 - previous);
  for (int local = 0; local < here_.on_node(); ++local) {
    const int rank = here_.rank_of(local);
    if (rank == here_.me) continue;
    const Outcome outcome = await_passed(here_.segment.progress(local), half, rank, policy_.patient());
    if (outcome != Outcome::done) return outcome;
  }
  return Outcome::done;
}

// Zeroes old lines. The 48 bits that a line keeps of its ticket must not wrap around while it still holds them: an area that
// is seldom used, or never again, would seem to be posted. No rank waits for such old tickets.
void Signals::forget_old_lines() {
  Line* const lines = here_.segment.lines(here_.me_here, 0);
  const std::size_t count = std::size_t{here_.segment.geometry().areas} * here_.segment.geometry().line_depth;
  const auto forget = [this](Line& line) {
    if (line.older_than(kForgetEvery, ticket_)) line.word.store(0, std::memory_order_relaxed);
  };
  std::for_each(lines, lines + count, forget);
  if (here_.segment.geometry().helpers == 0) return;
  for (std::uint32_t i = 0; i < here_.segment.geometry().journal_depth(); ++i) forget(here_.segment.order(here_.me_here, i));
}

}  // namespace copse::engine
