// The signals of one rank. The rank posts its lines and its progress, and waits for those of the other ranks of its node.
//
// A wait polls as the policy says, and checks now and then whether the rank that it waits for will ever come. A rank that
// only polls (MPI_Test) never waits: a signal that is not there yet is `pending`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>

#include "engine/neighbours.hpp"
#include "engine/outcome.hpp"
#include "engine/refusals.hpp"
#include "engine/signal/wait.hpp"

namespace copse::engine {

// Many fields: one wait reads most of them, so they stand together.
class Signals {
 public:
  // A long wait for a rank of this node calls `lost` now and then, which says whether that rank has died.
  Signals(const Neighbours& here, WaitPolicy policy, std::function<bool(int rank)> lost);

  // Returns the first ticket of the current call or, between two calls, of the next one.
  [[nodiscard]] std::uint64_t ticket() const { return ticket_; }
  // Ends a call of this many fragments.
  void end_call(std::uint64_t fragments) {
    const std::uint64_t first = ticket_;
    ticket_ += fragments;
    if ((first ^ ticket_) >= kForgetEvery) [[unlikely]]
      forget_old_lines();
  }
  // Numbers calls from this ticket on (see Executor::begin_at).
  void begin_at(std::uint64_t ticket) {
    passed_ = ticket;
    refusals_.begin_at(ticket);
    go_to(ticket);
  }
  // Gives this ticket to the next call. This rank reads nothing of earlier tickets.
  void go_to(std::uint64_t ticket) {
    ticket_ = ticket;
    here_.own_progress().pass(ticket - 1);
  }

  // Tells whether no rank of the node will read anything that this rank has posted so far. No call may be under way here.
  [[nodiscard]] bool nobody_reads() { return !refusals_.aside() && all_passed(ticket_ - 1); }

  // Sets whether this rank only polls from now on, or waits again.
  void poll(bool polling) { polling_ = polling; }
  [[nodiscard]] bool polling() const { return polling_; }
  // From now on, a call that waits long calls `idle` now and then.
  void while_waiting(std::function<void()> idle) { idle_ = std::move(idle); }

  [[nodiscard]] std::uint64_t mask() const { return mask_; }

  void post(Line* ring, std::uint64_t ticket, std::uint32_t portion) {
    ring[ticket & mask_].post(ticket, portion);
    fetch_to_write(&ring[(ticket + kWrittenAhead) & mask_]);
  }
  // Posts a payload that reaches into the second half of the line, which post() does not fetch.
  void post_whole(Line* ring, std::uint64_t ticket) {
    post(ring, ticket, 0);
    fetch_to_write(ring[(ticket + kWrittenAhead) & mask_].payload + sizeof(Line) / 2);
  }

  // Waits until `rank`, the owner of the ring, has posted this portion.
  [[gnu::always_inline]] Outcome await(const Line* ring, std::uint64_t ticket, std::uint32_t portion, int rank) {
    const Line& line = ring[ticket & mask_];
    const auto reached = [&line, ticket, portion] { return line.reached(ticket, portion); };
    if (reached()) {
      // A peer that has posted already may be further ahead, so its next line is fetched while this rank works on this line.
      // No further lines are fetched, and none of a peer that is not ahead: the peer would have to win back a line that it is
      // about to write.
      __builtin_prefetch(&ring[(ticket + 1) & mask_]);
      return Outcome::done;
    }
    if (spins() && spin_until(policy_, reached)) return Outcome::done;
    return wait_long(std::ref(reached), rank, policy_);
  }

  // Waits until the progress of `rank` has passed the ticket.
  Outcome await_passed(const Line& progress, std::uint64_t ticket, int rank) {
    return await_passed(progress, ticket, rank, policy_);
  }

  // Waits until this rank may write its line or slot of the ticket again, in a ring of this depth. `readers` are the ranks
  // that read what this call puts there, by their numbers on the node.
  Outcome acquire(std::span<const std::int32_t> readers, std::uint64_t ticket, std::uint64_t depth) {
    if (known_passed(ticket - depth)) return Outcome::done;
    return acquire_long(readers, ticket, depth);
  }

  // Waits until `ready` holds. It depends on something that `rank` must do.
  Outcome wait_for(const std::function<bool()>& ready, int rank) {
    return ready() ? Outcome::done : wait_long(ready, rank, policy_);
  }

  // Asks until there is an answer, or only once when polling. The answer comes from a rank of another node. That rank may wait for
  // a rank of this node. So now and then this rank looks whether a rank of this node has died in the middle of its work on the
  // ticket, and whether a node is lost. `lost` is told since when this rank has waited, and returns a rank of such a node, or -1.
  template <class Answered, class Lost>
  Outcome ask_until(Answered&& answered, Lost&& lost, std::uint64_t ticket) {
    const auto end_with = [&](Outcome outcome) {
      unanswered_since_ = {};
      return outcome;
    };
    if (answered()) return end_with(Outcome::done);
    Outcome news = Outcome::done;
    const auto look = [&] {
      if (unanswered_since_ == Clock::time_point{}) unanswered_since_ = Clock::now();
      news = news_of_node(ticket);
      if (news == Outcome::done) news = blame_if_lost(lost(unanswered_since_));
      return news == Outcome::done || answered();
    };
    // All waits of this rank share one clock, because a look asks the system about every rank of the node.
    if (!polling_) static_cast<void>(wait_until(policy_, answered, [&] { return !clock_is_due() || look(); }, idle_));
    else if (clock_is_due()) static_cast<void>(look());  // a program may poll seldom
    if (answered()) return end_with(Outcome::done);
    return news == Outcome::done ? Outcome::pending : end_with(news);
  }

  // Tells whether `rank` will never take its part. `done` means that there is no such news.
  [[nodiscard]] Outcome bad_news(int rank);
  // Returns the rank at fault after a wait ended as peer_lost, peer_failed or refused.
  [[nodiscard]] int lost_rank() const { return lost_rank_; }
  void blame(int rank) { lost_rank_ = rank; }
  // Tells the other ranks of the node that this one will not go on, and whose fault it is.
  void give_up_for(int culprit) const;

  [[nodiscard]] Refusals& refusals() { return refusals_; }
  // Leaves a call that another rank has refused, and comes back to the calls of the others (see Refusals).
  Outcome leave(std::uint64_t last) { return refusals_.leave(waiting(), last); }
  Outcome rejoin(std::uint64_t number) {
    std::uint64_t ticket = ticket_;
    const Outcome outcome = refusals_.rejoin(waiting(), number, ticket);
    if (outcome == Outcome::done) go_to(ticket);
    return outcome;
  }

 private:
  using Clock = std::chrono::steady_clock;
  [[nodiscard]] Refusals::Wait waiting() {
    return [this](const std::function<bool()>& ready, int rank) { return wait_for(ready, rank); };
  }
  static constexpr std::uint64_t kForgetEvery = std::uint64_t{1} << 46;  // tickets: at 60 ns each, 48 days
  static constexpr std::uint64_t kWrittenAhead = 8;  // a line is fetched for writing this many tickets before its turn

  Outcome await_passed(const Line& progress, std::uint64_t ticket, int rank, const WaitPolicy& policy) {
    const auto passed = [&progress, ticket] { return progress.passed(ticket); };
    if (passed() || (spins() && spin_until(policy, passed))) return Outcome::done;
    return wait_long(std::ref(passed), rank, policy);
  }
  // Tells whether a wait begins with polls. It does not if the last long wait was for a rank on this rank's own processor.
  [[nodiscard]] bool spins() const { return !polling_ && !processor_.shared; }
  // Tells the other ranks of the node where this one runs.
  void tell_processor();
  [[nodiscard]] bool is_beside(int rank) const;
  // Waits after spinning has failed, or when it would fail.
  [[gnu::cold]] Outcome wait_long(const std::function<bool()>& ready, int rank, const WaitPolicy& policy);
  Outcome poll_again(const std::function<bool()>& ready, int rank);
  [[nodiscard]] bool look_is_due();
  [[nodiscard]] bool clock_is_due();
  [[nodiscard]] Outcome news_of_node(std::uint64_t ticket);
  [[nodiscard]] Outcome blame_if_lost(int rank);
  Outcome acquire_long(std::span<const std::int32_t> readers, std::uint64_t ticket, std::uint64_t depth);
  // Tells whether every rank of the node is known to have passed the ticket. If not, all_passed() looks.
  [[nodiscard]] bool known_passed(std::uint64_t ticket) const { return static_cast<std::int64_t>(passed_ - ticket) > 0; }
  [[nodiscard]] bool all_passed(std::uint64_t ticket);
  void forget_old_lines();

  const Neighbours& here_;
  const std::uint64_t mask_;  // of a ring of lines
  std::uint64_t ticket_ = 0;  // see ticket()
  std::uint64_t passed_ = 0;  // every rank of the node is known to have passed all tickets before this
  WaitPolicy policy_;
  std::function<bool(int)> lost_;
  std::function<void()> idle_ = [] {};
  int lost_rank_ = -1;
  struct Polls {
    std::uint32_t in_vain = 0;
    Clock::time_point next_look{};  // when to check again whether others live
  } polls_;
  bool polling_ = false;
  Clock::time_point unanswered_since_{};  // the first look of ask_until() in vain; the epoch: there was none
  struct {
    std::int32_t told = 0;  // see tell_processor()
    bool shared = false;  // see spins()
  } processor_;
  Refusals refusals_;
};

}  // namespace copse::engine
