// Collective calls for tests, with a naive model of each: the input of every rank, and the expected result.
//
// All ranks draw the same call, and any rank can compute every other rank's input. A message consists of blocks (one
// block if the collective has none). In ragged calls every block has its own size, and every buffer has its own gaps
// and order.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "communicator/communicator.hpp"

namespace copse::test {

// Operators whose result does not depend on the order of ranks, unless they are `ordered`. (Floats hold small whole
// numbers.)
struct Operation {
  const char* name;
  std::size_t element_bytes;
  copse_op op;
  copse_type type;
  bool whole_numbers;  // elements are drawn as whole numbers
  bool ordered;
};
inline constexpr int kOperations = 9;
[[nodiscard]] const Operation& operation(int number);  // the last is the ordered one

struct ModelCall {
  algorithms::Collective collective{};
  int ranks = 1, root = 0;
  const Operation* operation = &test::operation(0);  // where nothing is reduced, an element is a byte
  std::size_t count = 0;                             // elements of the message or block; ragged: of the largest
  bool ragged = false, in_place = false;
  std::uint64_t seed = 0;  // of the data, sizes and places
  bool alike = false;  // ragged, but all blocks that there are have `count` elements

  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::vector<int> permutation() const;  // of a permute: a few come again and again, others do not
  [[nodiscard]] std::size_t element_bytes() const;
};

// Draws a call of any collective over `ranks`, of up to about `most_bytes` in all.
[[nodiscard]] ModelCall draw_call(std::mt19937_64& random, int ranks, std::size_t most_bytes);

// TEST_REACH=heap: run under the preloaded shared heap, which must be used. TEST_REACH=heap_only: also without kernel
// copies, and with the buffers of every other rank outside the heap.
[[nodiscard]] std::string_view test_reach();
[[nodiscard]] bool outside_heap();

template <class T>
struct TestAllocator {
  using value_type = T;
  T* allocate(std::size_t n) {
    if (!outside_heap()) return std::allocator<T>().allocate(n);
    void* memory = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t n) {
    if (!outside_heap()) return std::allocator<T>().deallocate(memory, n);
    munmap(memory, n * sizeof(T));
  }
  friend bool operator==(const TestAllocator&, const TestAllocator&) { return true; }
};

// One call on this rank: its buffers, and whether their contents are right at the end.
class CallBuffers {
 public:
  CallBuffers(int rank, const ModelCall& call);

  [[nodiscard]] communicator::Arguments arguments();
  [[nodiscard]] const ModelCall& call() const { return call_; }
  // For use after the call. Returns what is wrong, or an empty text.
  [[nodiscard]] std::string wrong_bytes() const;

 private:
  using Bytes = std::vector<std::byte, TestAllocator<std::byte>>;
  struct Half {
    plan::Extent extent{};
    Bytes bytes;
    std::vector<communicator::Block> blocks;
  };
  [[nodiscard]] Half side(plan::Extent extent, std::uint64_t salt) const;

  int rank_;
  ModelCall call_;
  engine::Combine combine_;
  std::vector<int> permutation_;
  Half input_, output_;
  bool has_input_, has_output_, one_buffer_;
  Bytes input_before_, output_before_;
};

// Such a call on a communicator.
class CallUnderTest {
 public:
  CallUnderTest(communicator::Communicator& comm, const ModelCall& call) : comm_(comm), buffers_(comm.rank(), call) {}

  // Runs the call, or starts it and finishes it later. Returns what is wrong, or an empty text.
  std::string run() { return check(comm_.run(buffers_.arguments())); }
  void start() { job_ = comm_.start(buffers_.arguments()); }
  std::string finish();

 private:
  [[nodiscard]] std::string check(communicator::Outcome outcome) const;

  communicator::Communicator& comm_;
  CallBuffers buffers_;
  std::shared_ptr<communicator::Job> job_;
};

}  // namespace copse::test
