// What a caller tells the helpers of its node about a call that it begins (docs/decisions/helpers.md). A helper makes no calls of
// its own, so it cannot know the arguments. The order lies in a ring of lines beside those of the plans, under the call's first
// ticket.
#pragma once

#include <cstdint>
#include <type_traits>

#include "plan/plan.hpp"

namespace copse::engine {

struct Order {
  std::uint64_t number = 0;  // Call::number
  std::uint64_t count = 0;
  std::uint32_t element_bytes = 1;
  std::int32_t root = 0;
  std::uint16_t combine = 0;  // Combine::code
  std::uint8_t collective = 0;
  bool end = false;  // there will be no more calls
};
static_assert(std::is_trivially_copyable_v<Order> && sizeof(Order) <= plan::kLinePayloadBytes);

}  // namespace copse::engine
