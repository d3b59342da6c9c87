// A user's operator gets the right elements, at addresses that its type may rely on.
#include "engine/combine.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

namespace copse::engine {
namespace {

// Memory whose first byte lies `odd` bytes after a multiple of 64.
class Odd {
 public:
  Odd(std::size_t odd, std::size_t bytes, unsigned char seed) : memory_(bytes + odd + 128), bytes_(bytes) {
    for (std::size_t i = 0; i < memory_.size(); ++i) memory_[i] = static_cast<unsigned char>(seed + i * 7 + i / 251);
    first_ = memory_.data() + odd + (64 - reinterpret_cast<std::uintptr_t>(memory_.data()) % 64) % 64;
  }
  [[nodiscard]] unsigned char* at() const { return first_; }
  [[nodiscard]] std::vector<unsigned char> bytes() const { return {first_, first_ + bytes_}; }
  [[nodiscard]] unsigned char behind() const { return first_[bytes_]; }

 private:
  std::vector<unsigned char> memory_;
  std::size_t bytes_;
  unsigned char* first_;
};

struct Users {
  std::size_t element_bytes, align, elements = 0, odd = 0;
};

// Combines bytes; does not commute.
unsigned char combined(unsigned char a, unsigned char b) { return static_cast<unsigned char>(3 * a + b); }
void combine_elements(void* context, const void* in, void* inout, std::size_t count) {
  auto& users = *static_cast<Users*>(context);
  users.elements += count;
  const auto is_odd = [&](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % users.align != 0; };
  users.odd += is_odd(in) || is_odd(inout);
  const auto* a = static_cast<const unsigned char*>(in);
  auto* b = static_cast<unsigned char*>(inout);
  for (std::size_t i = 0; i < count * users.element_bytes; ++i) b[i] = combined(a[i], b[i]);
}

enum class Result { apart, in_a, in_b };

void check(std::size_t element_bytes, std::size_t count, std::size_t odd_a, std::size_t odd_b, std::size_t odd_dst, Result where) {
  const std::size_t bytes = element_bytes * count;
  const Odd a(odd_a, bytes, 1), b(odd_b, bytes, 2), apart(odd_dst, bytes, 3);
  const Odd& dst = where == Result::in_a ? a : where == Result::in_b ? b : apart;
  const std::vector<unsigned char> was_a = a.bytes(), was_b = b.bytes();
  const unsigned char was_behind = dst.behind();
  std::vector<unsigned char> want(bytes);
  for (std::size_t i = 0; i < bytes; ++i) want[i] = combined(was_a[i], was_b[i]);
  Users users{element_bytes, std::gcd(alignof(std::max_align_t), element_bytes)};
  Combine combine;
  combine.user = combine_elements;
  combine.context = &users;
  combine.apply(dst.at(), a.at(), b.at(), count, element_bytes);
  EXPECT_EQ(users.odd, 0U) << "calls at addresses that are no multiple of " << users.align;
  EXPECT_EQ(users.elements, count);
  EXPECT_EQ(dst.bytes(), want);
  EXPECT_EQ(dst.behind(), was_behind);
  EXPECT_TRUE(where == Result::in_a || a.bytes() == was_a);
  EXPECT_TRUE(where == Result::in_b || b.bytes() == was_b);
}

// A line's payload begins 8 bytes after a multiple of 16. The sizes are: shorter than the strips in which elements are
// copied, a few strips and a bit, and an element that is larger than a strip.
TEST(UsersOperator, GetsElementsWhereItsTypeMayLie) {
  struct Message {
    std::size_t element_bytes, count;
  };
  for (const auto [size, count] :
       {Message{4, 5}, {8, 3}, {12, 5000}, {16, 1}, {16, 7}, {16, 5000}, {24, 5}, {48, 1000}, {65552, 3}})
    for (const Result where : {Result::apart, Result::in_a, Result::in_b})
      for (unsigned odd = 0; odd < 8; ++odd) {
        SCOPED_TRACE(testing::Message() << count << " elements of " << size << " bytes, odd " << odd << ", result "
                                        << static_cast<int>(where));
        check(size, count, odd & 1 ? 8 : 0, odd & 2 ? 8 : 0, odd & 4 ? 8 : 0, where);
      }
}

}  // namespace
}  // namespace copse::engine
