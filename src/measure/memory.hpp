// What one processor does with its own caches and with memory, and how fast it combines operands.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "measure/crew.hpp"
#include "topology/machine.hpp"

namespace copse::measure {

// Returns the time in ns of reading a line of the first cache, where each line holds the address of the next.
[[nodiscard]] double own_line_ns(unsigned processor);
// Returns the rate of a copy between two buffers that together fill half of a cache of this size.
[[nodiscard]] double own_rate(unsigned processor, std::size_t cache_bytes);

// These measure the last cache, with buffers that fit there but not in the second cache. last_rate() lets all of these processors
// copy at the same time, and returns the sum of their rates. last_line_ns() returns the time of reading a line.
[[nodiscard]] double last_rate(std::span<const unsigned> processors, std::size_t bytes);
[[nodiscard]] double last_line_ns(unsigned processor, std::size_t bytes);

// Returns the rates of combining two operands, by "operator:type". A rate counts the bytes of one operand. Operands and results
// are in the second cache.
[[nodiscard]] std::map<std::string, double> reduction_rates(unsigned processor, std::size_t cache_bytes);

// Memory that does not fit in the caches of these processors. The processors belong to one region, and each has a part of the
// memory.
class Memory {
 public:
  Memory(std::vector<unsigned> processors, std::size_t cache_bytes);
  [[nodiscard]] double line_ns() const;
  [[nodiscard]] double rate_of_one() const;
  [[nodiscard]] double rate_of_all() const;

 private:
  [[nodiscard]] double rate(std::size_t readers) const;
  std::vector<unsigned> processors_;
  std::size_t part_;  // bytes
  Pages pages_;
};

}  // namespace copse::measure
