// The buffers of one call, as ranges of addresses. What is written must not overlap anything (MPI-4.1 6.1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace copse::communicator {

// Bytes that a call reads or writes.
struct Span {
  std::uintptr_t begin, end;
  bool written;
  const char* name;  // of the buffer
};

struct Overlap {
  const Span *first, *second;  // in the order of their addresses
  std::uintptr_t bytes;

  // Returns a text such as "output and input overlap by 8 bytes (of 64 and 16)".
  [[nodiscard]] std::string text() const;
};

// Returns the first two spans that overlap, at least one of them written. Sorts the spans.
std::optional<Overlap> first_overlap(std::vector<Span>& spans);

}  // namespace copse::communicator
