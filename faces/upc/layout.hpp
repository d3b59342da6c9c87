// Where the elements of a block-cyclic array lie (UPC 1.3, 6.4.2 and 6.5.1.1). Pure arithmetic.
//
// Blocks are dealt to the threads in turn. The blocks of one thread follow one another in its memory, so all that a thread has of
// an array is one run. A row is one block of each thread: rows in order, and within a row the threads in order, is the order of the
// array. The first row may lack its first threads, and the last row its last.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "copse/upc.h"

namespace copse::upc {

// Elements that lie one after the other on one thread.
struct Piece {
  std::size_t first = 0;  // number of the first in the array
  std::size_t count = 0;
  std::size_t address = 0;  // of the first, in the thread's memory
};

class Layout {
 public:
  // The array begins at `start`. A block of 0 is the indefinite one: all elements lie on the first thread. `elements` >= 1.
  Layout(upc_shared start, std::size_t bytes, std::size_t block, std::size_t elements, int threads)
      : start_(start), bytes_(bytes), elements_(elements), threads_(static_cast<std::size_t>(threads)) {
    if (block == UPC_INDEFINITE) start_.phase = 0;
    const std::size_t ends = start_.phase + elements;  // a block that is larger than the array need not be larger than this
    block_ = block == UPC_INDEFINITE ? ends : std::min(block, ends);
  }

  [[nodiscard]] std::size_t rows() const { return (first_thread() + (start_.phase + elements_ - 1) / block_) / threads_ + 1; }

  // Returns what the thread has in a row. It may be nothing.
  [[nodiscard]] Piece block(int thread, std::size_t row) const {
    const std::size_t number = row * threads_ + static_cast<std::size_t>(thread);
    if (number < first_thread()) return {};
    const std::size_t begin = (number - first_thread()) * block_, end = begin + block_, phase = start_.phase;
    if (begin >= phase + elements_ || end <= phase) return {};
    const std::size_t first = std::max(begin, phase), last = std::min(end, phase + elements_);
    return {first - phase, last - first, start_.address + (row * block_ + first - begin - phase) * bytes_};
  }

  // Returns all that the thread has. `first` is the number of its first element; the others need not follow that in the array.
  [[nodiscard]] Piece run(int thread) const {
    const auto me = static_cast<std::size_t>(thread);
    Piece piece = block(thread, me < first_thread() ? 1 : 0);
    const std::size_t place = (me + threads_ - first_thread()) % threads_;
    piece.count = before(start_.phase + elements_, place) - before(start_.phase, place);
    return piece;
  }

 private:
  [[nodiscard]] std::size_t first_thread() const { return static_cast<std::size_t>(start_.thread); }
  // Returns how many of the first `end` places of the blocks belong to the thread with this place in the order of the blocks.
  [[nodiscard]] std::size_t before(std::size_t end, std::size_t place) const {
    const std::size_t whole = end / block_, rest = end % block_;
    const std::size_t blocks = whole / threads_ + (whole % threads_ > place ? 1 : 0);
    return blocks * block_ + (whole % threads_ == place ? rest : 0);
  }

  upc_shared start_;
  std::size_t bytes_, block_ = 1, elements_, threads_;
};

}  // namespace copse::upc
