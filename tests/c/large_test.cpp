// Messages whose total size exceeds 2^31 and 2^32 bytes, in little memory.
//
// Inputs are pages that nobody has written; the system keeps one zero page for all of them. Outputs are a small piece
// of memory that is mapped many times. Only the places that are checked, on both sides of the two powers and of the
// ends of blocks, have pages of their own in the outputs and data in the inputs.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "c_ranks.hpp"

namespace copse::test {
namespace {

constexpr int kRanks = 2, kRoot = 1;
constexpr std::size_t kBlock = (std::size_t{9} << 28) + 77;  // a little over 2.25 GiB, so each exceeds 2^31
constexpr std::size_t kGap = 1000;                           // after each block, in the v-forms
constexpr std::size_t kTotal = kRanks * (kBlock + kGap);
constexpr std::size_t kPage = 4096;

class Memory {
 public:
  explicit Memory(int fd = -1) {
    void* base = mmap(nullptr, kTotal + kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    base_ = static_cast<unsigned char*>(base);
    for (std::size_t at = 0; fd >= 0 && at < kTotal; at += kPiece)
      if (mmap(base_ + at, std::min(kPiece, (kTotal - at + kPage - 1) / kPage * kPage), PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
        usable_ = false;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (base_ != nullptr) munmap(base_, kTotal + kPage);
  }
  [[nodiscard]] bool usable() const { return base_ != nullptr && usable_; }
  [[nodiscard]] unsigned char* at(std::size_t offset) const { return base_ + offset; }
  // Gives these bytes their own pages.
  void keep(std::size_t first, std::size_t end) {
    const std::size_t begin = first / kPage * kPage;
    if (mmap(base_ + begin, (end - begin + kPage - 1) / kPage * kPage, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
      usable_ = false;
  }

  static constexpr std::size_t kPiece = std::size_t{4} << 20;

 private:
  unsigned char* base_ = nullptr;
  bool usable_ = true;
};

unsigned char stamp(int rank, std::size_t offset) {  // never zero
  return static_cast<unsigned char>((offset * 0x9E3779B97F4A7C15U >> 40) + static_cast<unsigned>(rank) * 101) | 1;
}

// Where the blocks lie: block `from` -> `to` begins at input_at of `from` and at output_at of `to`.
struct Shape {
  const char* name;
  bool input_blocks, output_blocks;  // the buffer holds a block for each rank
  bool from_root, to_root;
  copse_status (*call)(copse_comm*, const unsigned char* input, unsigned char* output, bool ragged);
};

const std::size_t kSizes[] = {kBlock, kBlock}, kPlaces[] = {0, kBlock + kGap};

const Shape kShapes[] = {
    {"broadcast", false, false, true, false,
     [](copse_comm* comm, const unsigned char* input, unsigned char* output, bool) {
       return copse_broadcast(comm, copse_comm_rank(comm) == kRoot ? const_cast<unsigned char*>(input) : output, kBlock, kRoot);
     }},
    {"gather", false, true, false, true,
     [](copse_comm* comm, const unsigned char* input, unsigned char* output, bool ragged) {
       return ragged ? copse_gatherv(comm, input, kBlock, output, kSizes, kPlaces, kRoot)
                     : copse_gather(comm, input, kBlock, output, kRoot);
     }},
    {"scatter", true, false, true, false,
     [](copse_comm* comm, const unsigned char* input, unsigned char* output, bool ragged) {
       return ragged ? copse_scatterv(comm, input, kSizes, kPlaces, output, kBlock, kRoot)
                     : copse_scatter(comm, input, output, kBlock, kRoot);
     }},
    {"allgather", false, true, false, false,
     [](copse_comm* comm, const unsigned char* input, unsigned char* output, bool ragged) {
       return ragged ? copse_allgatherv(comm, input, output, kSizes, kPlaces) : copse_allgather(comm, input, kBlock, output);
     }},
    {"alltoall", true, true, false, false,
     [](copse_comm* comm, const unsigned char* input, unsigned char* output, bool ragged) {
       return ragged ? copse_alltoallv(comm, input, kSizes, kPlaces, output, kSizes, kPlaces)
                     : copse_alltoall(comm, input, output, kBlock);
     }},
};

// Calls visit(from, input offset, output offset, bytes) for every checked piece that `rank` gives or gets.
template <class Visit>
void each_piece(const Shape& shape, bool ragged, int rank, bool gets, Visit&& visit) {
  constexpr std::size_t kAround = 2 * kPage;
  const std::size_t stride = kBlock + (ragged ? kGap : 0);
  for (int other = 0; other < kRanks; ++other) {
    const int from = gets ? other : rank, to = gets ? rank : other;
    if ((shape.from_root && from != kRoot) || (shape.to_root && to != kRoot)) continue;
    if (!shape.input_blocks && !shape.output_blocks && to == kRoot) continue;  // the root of a broadcast keeps its data
    const std::size_t input = shape.input_blocks ? static_cast<std::size_t>(to) * stride : 0;
    const std::size_t output = shape.output_blocks ? static_cast<std::size_t>(from) * stride : 0;
    std::vector<std::size_t> middles{0, kBlock};
    for (const std::size_t power : {std::size_t{1} << 31, std::size_t{1} << 32})
      for (const std::size_t begin : {input, output})
        if (power >= begin && power - begin <= kBlock) middles.push_back(power - begin);
    for (const std::size_t middle : middles) {
      const std::size_t first = middle - std::min(middle, kAround), end = std::min(middle + kAround, kBlock);
      visit(from, input + first, output + first, end - first);
    }
  }
}

std::string one_call(copse_comm* comm, const Shape& shape, bool ragged) {
  const int rank = copse_comm_rank(comm);
  const int fd = memfd_create("large_test", 0);
  if (fd < 0 || ftruncate(fd, Memory::kPiece) != 0) return "no memfd";
  Memory input, output(fd);
  close(fd);
  each_piece(shape, ragged, rank, false, [&](int from, std::size_t first, std::size_t, std::size_t bytes) {
    for (std::size_t at = first; input.usable() && at < first + bytes; ++at) *input.at(at) = stamp(from, at);
  });
  each_piece(shape, ragged, rank, true, [&](int, std::size_t, std::size_t first, std::size_t bytes) {
    if (output.usable()) output.keep(first, first + bytes);
  });
  if (!input.usable() || !output.usable()) return "no address space";
  if (shape.call(comm, input.at(0), output.at(0), ragged) != COPSE_OK) return copse_comm_message(comm);
  std::string wrong;
  std::size_t seen = 0;
  each_piece(shape, ragged, rank, true, [&](int from, std::size_t source, std::size_t first, std::size_t bytes) {
    for (std::size_t i = 0; wrong.empty() && i < bytes; ++i, ++seen)
      if (*output.at(first + i) != stamp(from, source + i))
        wrong =
            "byte " + std::to_string(first + i) + " is not byte " + std::to_string(source + i) + " of rank " + std::to_string(from);
  });
  const bool gets = (!shape.to_root || rank == kRoot) && (shape.input_blocks || shape.output_blocks || rank != kRoot);
  if (wrong.empty() && gets != (seen > 0)) wrong = "nothing was looked at";
  copse_barrier(comm);  // the buffers stay until all ranks have ended
  return wrong.empty() ? wrong : std::string(shape.name) + (ragged ? "v: " : ": ") + wrong;
}

struct Case {
  Shape shape;
  Kind kind;
  bool ragged;
  const char* reach;
};
void PrintTo(const Case& c, std::ostream* out) { *out << c.shape.name; }

// Returns each shape and each reach, but not every pair, because a case copies gigabytes.
std::vector<Case> cases() {
  std::vector<Case> result;
  for (const Shape& shape : kShapes) {
    result.push_back({shape, Kind::processes, false, "staged"});
    result.push_back({shape, Kind::threads, false, "direct"});
    const bool blocks = shape.input_blocks || shape.output_blocks;
    result.push_back({shape, Kind::processes, blocks, "kernel"});
  }
  return result;
}

class Large : public testing::TestWithParam<Case> {};

TEST_P(Large, PassesBothPowers) {
  const Case& c = GetParam();
  const Variable reach("COPSE_REACH", c.reach);
  const auto body = [&](copse_comm* comm) { return one_call(comm, c.shape, c.ragged); };
  EXPECT_EQ(c.kind == Kind::threads ? with_threads(kRanks, body) : with_processes(kRanks, body), "");
}

INSTANTIATE_TEST_SUITE_P(Calls, Large, testing::ValuesIn(cases()), [](const auto& info) {
  return std::string(info.param.shape.name) + (info.param.ragged ? "v_" : "_") + info.param.reach;
});

}  // namespace
}  // namespace copse::test
