// The defaults as data: one row of rules.def says what runs in one case. The first row that holds for a call decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include "choose/situation.hpp"

namespace copse::choose {

// Sizes in bytes, or numbers of ranks, both ends included.
struct Bounds {
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
  bool together = false;  // of the messages of all ranks together, their number rounded up to a power of two

  // The same bounds for one of `ranks` messages.
  [[nodiscard]] Bounds of_one(int ranks) const;
  [[nodiscard]] constexpr bool hold(std::size_t value) const { return from <= value && value <= to; }
};

// How large the fragments are into which a message is cut.
enum class Pieces : std::uint8_t {
  whole,   // no bound of the rule's
  staged,  // 32 KiB: they stay in the second cache of both sides, overlap, and are worth a signal. 64 KiB for two ranks, and
           // for ranks that take turns: these must be worth a turn.
  large,   // 64 KiB
  strips,  // 16 KiB for each rank: what is read from one side is still in the first cache when it is stored
};
[[nodiscard]] const char *name_of(Pieces pieces);
[[nodiscard]] std::size_t bytes_of(Pieces pieces, const Situation &situation);  // 0: no bound

struct Rule {
  algorithms::Collective collective{};
  Bounds bytes, ranks;
  Facts with = 0, without = 0;  // what must be so, and what must not
  int algorithm = 0;            // its place in the registry
  plan::Carrier carrier{};
  int radix = 2;
  Pieces pieces = Pieces::whole;
  int line = 0;  // of rules.def

  [[nodiscard]] bool applies(algorithms::Collective to, int among, Facts facts) const {
    return collective == to && ranks.hold(static_cast<std::size_t>(among)) && (facts & with) == with && (facts & without) == 0;
  }
};

[[nodiscard]] std::span<const Rule> rules();

// For people: the case that it is for.
[[nodiscard]] std::string case_of(const Rule &rule);

}  // namespace copse::choose
