// A rule says what runs in one case. The first rule that applies to a call decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "choose/situation.hpp"

namespace copse::choose {

// A range of sizes in bytes, or of numbers of ranks. Both ends are included.
struct Bounds {
  std::size_t from = 0, to = std::numeric_limits<std::size_t>::max();
  bool together = false;  // bounds the sum over all ranks, their number rounded up to a power of two

  // Returns the bounds for one of `ranks` messages. They are lower than these bounds if these are for all ranks together.
  [[nodiscard]] Bounds of_one(int ranks) const;
  [[nodiscard]] constexpr bool hold(std::size_t value) const { return from <= value && value <= to; }
};

// The size of the fragments into which a message is cut.
enum class Pieces : std::uint8_t {
  whole,   // the rule sets no bound
  // 32 KiB. Such fragments stay in the second cache of both sides, overlap, and are worth a signal. It is 64 KiB for two ranks,
  // and for ranks that take turns, because a fragment must be worth a turn.
  staged,
  large,   // 64 KiB
  strips,  // 16 KiB for each rank: data read from one side is still in the first cache when it is stored
  fixed,   // Rule::fragment_bytes
};
[[nodiscard]] const char* name_of(Pieces pieces);

inline constexpr int kByMpi = -1;  // instead of an algorithm: the MPI's own collective

struct Rule {
  algorithms::Collective collective{};
  Bounds bytes, ranks;
  Facts with = 0, without = 0;  // what must be true, and what must not
  int algorithm = 0;            // index in the registry, or kByMpi
  plan::Carrier carrier{};
  int radix = 2;
  Pieces pieces = Pieces::whole;
  int line = 0;                 // where the rule stands
  const char* file = "rules.def";
  std::size_t fragment_bytes = 0;

  // Tells whether the rule is only for calls whose caller says where buffers lie.
  [[nodiscard]] constexpr bool is_for_placed() const { return (with & (kPlaced | kEarly)) != 0; }
  [[nodiscard]] bool applies(algorithms::Collective to, int among, Facts facts) const {
    return collective == to && ranks.hold(static_cast<std::size_t>(among)) && (facts & with) == with && (facts & without) == 0;
  }
};

// Returns the size of the fragments; 0: no bound.
[[nodiscard]] std::size_t fragment_bytes_of(const Rule& rule, const Situation& situation);

// Describes the rule's case to the user.
[[nodiscard]] std::string case_of(const Rule& rule);

}  // namespace copse::choose
