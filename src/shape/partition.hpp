// Partitions: messages cut into parts, for tiles, rings and fragments.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace copse::shape {

// A run of elements of a message.
struct Chunk {
  std::size_t first = 0;  // element
  std::size_t count = 0;  // elements; may be 0
  friend bool operator==(const Chunk&, const Chunk&) = default;
};

// A message of `count` elements in `parts` chunks that are as even as possible. If there are enough elements for every
// part, boundaries are also multiples of 64 bytes from the beginning of the message, so that no two parts share a cache
// line of an aligned buffer. Any count is allowed, 0 included. There may be more parts than elements; some chunks are
// then empty.
class Partition {
 public:
  Partition(std::size_t count, std::size_t element_bytes, std::size_t parts)
      : count_(count), parts_(std::max<std::size_t>(parts, 1)), unit_(unit(count, element_bytes, parts_)) {}

  [[nodiscard]] std::size_t parts() const { return parts_; }

  // Returns parts [first, first + n) as one run.
  [[nodiscard]] Chunk chunks(std::size_t first, std::size_t n) const {
    const std::size_t begin = boundary(first);
    return {begin, boundary(first + n) - begin};
  }

  // Returns an empty chunk for an index past the last part.
  [[nodiscard]] Chunk chunk(std::size_t index) const {
    const std::size_t begin = boundary(index);
    return {begin, boundary(index + 1) - begin};
  }

 private:
  static constexpr std::size_t kLine = 64;

  // Returns the number of elements between two possible boundaries.
  static std::size_t unit(std::size_t count, std::size_t element_bytes, std::size_t parts) {
    const std::size_t elements = element_bytes == 0 ? 1 : kLine / std::gcd(kLine, element_bytes);
    return count / elements >= parts ? elements : 1;
  }

  [[nodiscard]] std::size_t boundary(std::size_t index) const {
    if (index >= parts_) return count_;
    const std::size_t units = count_ / unit_ + (count_ % unit_ != 0 ? 1 : 0);
    // This is index * units / parts, without overflow for any count.
    const std::size_t before = units / parts_ * index + units % parts_ * index / parts_;
    return std::min(count_, before * unit_);
  }

  std::size_t count_;
  std::size_t parts_;
  std::size_t unit_;
};

}  // namespace copse::shape
