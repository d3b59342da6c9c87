// Atoms: the pieces of one call's message, cut wherever a rank's plan cuts it.
//
// A range of a plan is some of `of` even chunks of a fragment or, in a once-section, of the message. The boundaries depend on
// the message's size. Those of different `of` need not meet, not even where the fractions are equal, because shape::Partition
// rounds each partition by itself. So the plans of one call may cut in one way only. Then a chunk is an atom, and two ranges
// are the same bytes for every size exactly when they are the same atoms. In a message made of blocks, an atom is a
// fragment's piece of a block.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "plan/plan.hpp"

namespace copse::analysis {

struct AtomSpan {
  std::uint32_t first = 0, last = 0;  // [first, last)
  [[nodiscard]] std::uint32_t size() const { return last - first; }
  friend bool operator==(const AtomSpan&, const AtomSpan&) = default;
};

class Cuts {
 public:
  // Takes the ranges of all data operands of all ranks' plans of one call.
  Cuts(std::span<const plan::Plan* const> plans, int fragments);

  // Returns which cuts do not meet, or nothing if all do.
  [[nodiscard]] const std::string& clash() const { return clash_; }
  [[nodiscard]] bool one_fragment() const { return fragments_ == 1; }
  [[nodiscard]] std::uint32_t fragments() const { return fragments_; }
  [[nodiscard]] std::uint32_t atoms() const { return fragments_ * parts_; }
  [[nodiscard]] AtomSpan fragment(int number) const {
    if (one_fragment()) return {0, parts_};
    const auto first = static_cast<std::uint32_t>(number) * parts_;
    return {first, first + parts_};
  }
  // Returns the span of a range: in a loop, of the given fragment; otherwise, of the message.
  [[nodiscard]] AtomSpan span_of(bool loop, int number, const plan::Range& range) const {
    const AtomSpan whole = loop ? fragment(number) : AtomSpan{0, atoms()};
    if (range.of == 1) return whole;
    return {whole.first + range.first, whole.first + range.first + range.count};
  }

 private:
  std::uint32_t fragments_ = 1;  // also 1 if no data moves in a loop
  std::uint32_t parts_ = 1;      // parts of a fragment
  std::string clash_;
};

}  // namespace copse::analysis
