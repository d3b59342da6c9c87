// Values that are combined.
#include "algorithms/patterns/sums.hpp"

namespace copse::algorithms {

using plan::Builder;
using plan::Operand;

void fold(Builder& builder, Operand dst, std::span<const Fetch> items, std::size_t own, Operand via) {
  Operand sum = items[own]();
  std::size_t to_do = items.size() - 1;
  const auto place = [&] { return --to_do == 0 || via.space == plan::Space::none ? dst : via; };
  for (std::size_t left = own; left-- > 0;) {
    const Operand item = items[left](), next = place();
    builder.reduce(next, item, sum);
    sum = next;
  }
  for (std::size_t right = own + 1; right < items.size(); ++right) {
    const Operand item = items[right](), next = place();
    builder.reduce(next, sum, item);
    sum = next;
  }
  builder.copy(dst, sum);
}

void settle(Builder& builder, Operand place, const Sum& sum) {
  if (sum.high.space == plan::Space::none) {
    builder.copy(place, sum.low);
  } else {
    builder.reduce(place, sum.low, sum.high);
  }
}

}  // namespace copse::algorithms
