// Partitions are complete, even, and aligned if there is enough to align.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "shape/partition.hpp"

namespace copse::shape {
namespace {

TEST(Partition, CoversEverythingEvenly) {
  for (const std::size_t bytes : {1U, 2U, 3U, 4U, 8U, 16U, 24U, 64U, 100U, 128U}) {
    for (std::size_t parts = 1; parts <= 20; ++parts) {
      for (std::size_t count = 0; count <= 2000; count += count < 200 ? 1 : 37) {
        const Partition partition(count, bytes, parts);
        const std::size_t unit = 64 / std::gcd(std::size_t{64}, bytes);
        const bool is_aligned = count / unit >= parts;
        std::size_t next = 0;
        std::size_t least = count;
        std::size_t most = 0;
        for (std::size_t i = 0; i < parts; ++i) {
          const Chunk chunk = partition.chunk(i);
          ASSERT_EQ(chunk.first, next) << count << " x " << bytes << " in " << parts;
          next += chunk.count;
          least = std::min(least, chunk.count);
          most = std::max(most, chunk.count);
          const std::size_t misaligned = is_aligned ? chunk.first * bytes % 64 : 0;
          ASSERT_EQ(misaligned, 0U) << count << " x " << bytes << " in " << parts;
        }
        ASSERT_EQ(next, count);
        ASSERT_LE(most - least, is_aligned ? unit : 1) << count << " x " << bytes << " in " << parts;
      }
    }
  }
}

TEST(Partition, IsDefinedEverywhere) {
  const Partition nothing(0, 8, 4);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(nothing.chunk(i), (Chunk{0, 0}));
  const Partition few(3, 8, 8);
  std::size_t total = 0;
  for (std::size_t i = 0; i < 8; ++i) total += few.chunk(i).count;
  EXPECT_EQ(total, 3U);
  EXPECT_EQ(few.chunk(8), (Chunk{3, 0}));
  EXPECT_EQ(few.chunk(std::numeric_limits<std::size_t>::max() - 1), (Chunk{3, 0}));
  EXPECT_EQ(Partition(10, 0, 3).chunk(2).count, 4U) << "elements of no bytes";
  EXPECT_EQ(Partition(10, 4, 0).chunk(0), (Chunk{0, 10})) << "no parts is one part";
}

TEST(Partition, RunsOfPartsAreTheirPartsTogether) {
  const Partition partition(1003, 4, 7);
  for (std::size_t first = 0; first <= 7; ++first) {
    std::size_t total = 0;
    for (std::size_t n = 0; first + n <= 9; ++n) {  // also past the end
      EXPECT_EQ(partition.chunks(first, n), (Chunk{partition.chunk(first).first, total}));
      total += partition.chunk(first + n).count;
    }
  }
}

TEST(Partition, DoesNotOverflow) {
  const std::size_t count = std::size_t{1} << 62;
  const Partition partition(count, 1, 65536);
  EXPECT_EQ(partition.chunk(65535), (Chunk{count - (count >> 16), count >> 16}));
}

TEST(Partition, AlignsWhenEveryPartCanHaveALine) {
  // 33 doubles are 4 lines and one more element.
  EXPECT_EQ(Partition(33, 8, 2).chunk(0), (Chunk{0, 16}));
  EXPECT_EQ(Partition(33, 8, 2).chunk(1), (Chunk{16, 17}));
  // There is less than a line for each of eight, so the parts are even and not aligned.
  EXPECT_EQ(Partition(33, 8, 8).chunk(0), (Chunk{0, 4}));
}

}  // namespace
}  // namespace copse::shape
