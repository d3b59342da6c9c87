// Gives and takes blocks that use two places in turn.
#include "algorithms/patterns/two_places.hpp"

#include "algorithms/patterns/pairs.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;
using plan::Range;

TwoPlaces::TwoPlaces(Builder& builder, int area, int rounds)
    : builder_(builder), area_(area), waits_for_(static_cast<std::size_t>(rounds), -1) {}

void TwoPlaces::await_turn(int round) {
  if (round < 2 || waits_for_[static_cast<std::size_t>(round - 2)] < 0) return;
  builder_.portion(round - 2);
  builder_.await_signal(area_ + 2, waits_for_[static_cast<std::size_t>(round - 2)]);
}

void TwoPlaces::give(int round, int reader, Operand value) {
  await_turn(round);
  builder_.portion(round / 2);
  builder_.give(area(round), std::vector{reader}, value);
  if (builder_.stages(reader)) waits_for_[static_cast<std::size_t>(round)] = reader;
}

Operand TwoPlaces::open(int round, int reader, Range block) {
  await_turn(round);
  const Operand place = builder_.open(area(round), std::vector{reader}, opened(block));
  if (builder_.shares_memory_with(reader)) waits_for_[static_cast<std::size_t>(round)] = reader;
  return place;
}

void TwoPlaces::post(int round, int reader, Operand value) {
  builder_.portion(round / 2);
  builder_.post(area(round), std::vector{reader}, value);
}

Operand TwoPlaces::take(int round, int from, Operand as, Operand home) {
  builder_.portion(round / 2);
  return builder_.take(area(round), from, as, home);
}

void TwoPlaces::taken(int round, int from, Operand value) {
  if (!is_staged(value) || static_cast<std::size_t>(round) + 2 >= waits_for_.size()) return;
  builder_.portion(round);
  builder_.signal(area_ + 2, std::vector{from});
}

}  // namespace copse::algorithms
