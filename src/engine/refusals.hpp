// Calls that a rank would not make, as its own executor and those of the others see them (docs/decisions/refusals.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "engine/neighbours.hpp"
#include "engine/outcome.hpp"

namespace copse::engine {

class Signals;

class Refusals {
 public:
  explicit Refusals(const Neighbours &here)
      : here_(here), journal_(here.segment.journal(here.me_here)), journal_mask_(here.segment.geometry().journal_depth() - 1) {}

  // This rank begins the call of that number at that ticket.
  void note_begun(std::uint64_t number, std::uint64_t ticket) {
    number_ = number;
    journal_[begun_++ & journal_mask_].store(begun_word(number, ticket), std::memory_order_release);
  }

  // This rank makes no call of that number, which would have begun at that ticket; or none at all.
  void refuse(std::uint64_t number, std::uint64_t ticket);
  void refuse_all(std::uint64_t ticket);
  // Has this rank refused its last calls?
  [[nodiscard]] bool aside() const { return aside_; }
  // Is it leaving a call that another has refused?
  [[nodiscard]] bool leaving() const { return leaving_; }

  // Who has refused the call that this rank is in; -1: nobody.
  [[nodiscard]] int refused_by() const;
  // This rank takes no further part in the call that it is in, which ends with that ticket. `refused` once it is out.
  Outcome leave(Signals &signals, std::uint64_t last);
  // Before the call of that number, after refused ones: finds the ticket that it has.
  Outcome rejoin(Signals &signals, std::uint64_t number);
  // That call has been noted: whoever finds no refusal finds that.
  void forget();

 private:
  [[nodiscard]] Refusal &own() const { return here_.segment.refusal(here_.me_here); }
  [[nodiscard]] std::optional<std::uint64_t> ticket_of(int local, std::uint64_t number, std::uint64_t near) const;

  const Neighbours &here_;
  std::atomic<std::uint64_t> *journal_;  // this rank's
  std::uint64_t journal_mask_, begun_ = 0;
  std::uint64_t number_ = 0;  // of the current call
  bool aside_ = false, leaving_ = false;
};

}  // namespace copse::engine
