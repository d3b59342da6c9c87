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

// The time of reading a line of the first cache, whose address the line before it has told.
[[nodiscard]] double own_line_ns(unsigned processor);
// The rate of a copy between two buffers that together fill half of a cache of this size.
[[nodiscard]] double own_rate(unsigned processor, std::size_t cache_bytes);

// The same between buffers that do not fit in the second cache but do in the last one, by all of these processors at the same time.
// Returns the sum of their rates.
[[nodiscard]] double last_rate(std::span<const unsigned> processors, std::size_t bytes);
[[nodiscard]] double last_line_ns(unsigned processor, std::size_t bytes);

// The rates of combining two operands, in bytes of one of them, by "operator:type", where all are in the second cache.
[[nodiscard]] std::map<std::string, double> reduction_rates(unsigned processor, std::size_t cache_bytes);

// Memory that does not fit in the caches of these processors, which are of one region. Each has a part of it.
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
