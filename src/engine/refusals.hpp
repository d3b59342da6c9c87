// Calls that a rank refuses to make, as its own executor and those of the others see them (docs/decisions/refusals.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/neighbours.hpp"
#include "engine/outcome.hpp"

namespace copse::engine {

class Refusals {
 public:
  // Waits until `ready` holds, which depends on something that `rank` must do.
  using Wait = std::function<Outcome(const std::function<bool()>& ready, int rank)>;

  explicit Refusals(const Neighbours& here)
      : here_(here), journal_(here.segment.journal(here.me_here)), journal_mask_(here.segment.geometry().journal_depth() - 1) {}

  // Forgets what was noted in this memory before `ticket`, where the calls of this rank begin. Afterwards the caller says that this
  // rank has passed all earlier tickets: until then, the other ranks believe nothing that they read here.
  void begin_at(std::uint64_t ticket);

  // Notes that this rank begins the call with this number at this ticket.
  void note_begun(std::uint64_t number, std::uint64_t ticket) {
    number_ = number;
    journal_[begun_++ & journal_mask_].store(begun_word(number, ticket), std::memory_order_release);
  }

  // Says that this rank does not make the call with this number, which would have begun at this ticket. refuse_from() says
  // that it makes no call from that number on.
  void refuse(std::uint64_t number, std::uint64_t ticket);
  void refuse_from(std::uint64_t number, std::uint64_t ticket);
  // Tells whether a rank of this node has said that it makes no call any more.
  [[nodiscard]] bool refuses_all(int local) const {
    return here_.segment.refusal(local).last.load(std::memory_order_acquire) == UINT64_MAX;
  }
  // Tells whether this rank has refused its last calls.
  [[nodiscard]] bool aside() const { return aside_; }
  // Tells whether this rank is leaving a call that another rank has refused.
  [[nodiscard]] bool leaving() const { return leaving_; }

  // Returns the rank that has refused the call that this rank is in, or -1 if there is none.
  [[nodiscard]] int refused_by() const;
  // Takes no further part in the current call, which ends with ticket `last`. Returns `refused` once this rank is out of the
  // call.
  Outcome leave(const Wait& wait, std::uint64_t last);
  // Finds the ticket of the call with this number, which this rank makes after refused calls. At first, `ticket` is that of this
  // rank's next call. If the outcome is `done`, it is that of the call.
  Outcome rejoin(const Wait& wait, std::uint64_t number, std::uint64_t& ticket);
  // Forgets the refusals. The call after them has been noted, so a rank that finds no refusal finds that call.
  void forget();

 private:
  [[nodiscard]] Refusal& own() const { return here_.segment.refusal(here_.me_here); }
  [[nodiscard]] std::optional<std::uint64_t> ticket_of(int local, std::uint64_t number, std::uint64_t near) const;

  const Neighbours& here_;
  std::atomic<std::uint64_t>* journal_;  // this rank's
  std::uint64_t journal_mask_, begun_ = 0;
  std::uint64_t number_ = 0;  // of the current call
  std::uint64_t first_ = 0;  // ticket of the first call
  bool aside_ = false, leaving_ = false;
};

}  // namespace copse::engine
