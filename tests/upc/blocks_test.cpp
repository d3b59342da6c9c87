// Collectives of blocks of different sizes (<copse/upc_v.h>), with sizes of 0 among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "copse/upc_v.h"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Blocks : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Blocks, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

constexpr upc_flag_t kSome[] = {0, UPC_IN_MYSYNC | UPC_OUT_MYSYNC, UPC_IN_NOSYNC | UPC_OUT_NOSYNC};
constexpr std::size_t kMost = 5000;

// Sizes of blocks: some are 0, and one is large.
std::size_t size_of(int from, int to) {
  const int mix = from * 7 + to * 3;
  return mix % 4 == 1 ? 0 : mix % 5 == 2 ? kMost : static_cast<std::size_t>(mix % 61) + 1;
}
unsigned char byte_of(int from, int to, std::size_t i) {
  return static_cast<unsigned char>(from * 31 + to * 17 + static_cast<int>(i) * 7 + 5);
}

// An array with the same address on every thread, and where in it this test writes and reads.
struct Memory {
  upc_shared array;
  explicit Memory(std::size_t bytes) : array(upc_all_alloc(static_cast<std::size_t>(THREADS), bytes)) {}
  [[nodiscard]] unsigned char* on(int thread, std::size_t place = 0) const {  // this one
    return static_cast<unsigned char*>(upc_cast(pointer(thread, place)));
  }
  [[nodiscard]] upc_shared pointer(int thread, std::size_t place = 0) const { return {array.address + place, 0, thread}; }
};

void write(unsigned char* to, int from, int other, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = byte_of(from, other, i);
}
std::string read(const char* what, const unsigned char* got, int from, int other, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (got[i] != byte_of(from, other, i))
      return std::string(what) + ": byte " + std::to_string(i) + " of block " + std::to_string(from) + ", " +
             std::to_string(other) + " is wrong";
  return "";
}

// The blocks of one root. For the vector forms they are one behind the other, or at places in the opposite order, with gaps.
std::string rooted() {
  const auto n = static_cast<std::size_t>(THREADS);
  const Memory whole(2 * n * kMost), part(2 * kMost);
  std::vector<std::size_t> bytes(n), packed(n), apart(n);
  std::size_t end = 0;
  for (std::size_t t = 0; t < n; ++t) {
    bytes[t] = size_of(3, static_cast<int>(t));  // the first one is 0
    packed[t] = end;
    end += bytes[t];
    apart[t] = (n - 1 - t) * (kMost + 3);
  }
  for (const upc_flag_t flags : kSome)
    for (int root = 0; root < THREADS; ++root)
      for (const auto* const places : {&packed, &apart}) {
        const std::size_t* const given = places == &packed ? nullptr : places->data();
        std::vector<upc_shared> on_root, on_each, from_root, from_each;
        for (std::size_t t = 0; t < n; ++t) {
          on_root.push_back(whole.pointer(root, (*places)[t]));
          on_each.push_back(part.pointer(static_cast<int>(t), 8 * t));
          const upc_shared nowhere{1, 0, (1 << 30) + MYTHREAD};  // the pointer of an empty block may be anything
          from_root.push_back(bytes[t] == 0 ? nowhere : on_root[t]);
          from_each.push_back(bytes[t] == 0 ? nowhere : on_each[t]);
        }
        const auto me = static_cast<std::size_t>(MYTHREAD);
        const auto check_all = [&](const char* what) -> std::string {
          for (std::size_t t = 0; MYTHREAD == root && t < n; ++t)
            if (std::string wrong = read(what, whole.on(root, (*places)[t]), root, static_cast<int>(t), bytes[t]); !wrong.empty())
              return wrong;
          return "";
        };
        const auto clear = [&] {
          upc_barrier();
          std::fill_n(part.on(MYTHREAD), 2 * kMost, static_cast<unsigned char>(0));
          if (MYTHREAD == root) std::fill_n(whole.on(root), 2 * n * kMost, static_cast<unsigned char>(0));
          upc_barrier();
        };
        std::string wrong;
        const auto note = [&](const std::string& found) {
          if (wrong.empty()) wrong = found;
        };
        for (const bool general : {false, true}) {
          clear();
          for (std::size_t t = 0; MYTHREAD == root && t < n; ++t)
            write(whole.on(root, (*places)[t]), root, static_cast<int>(t), bytes[t]);
          upc_barrier();
          if (general) upc_all_scatter_x(from_each.data(), from_root.data(), bytes.data(), flags);
          else upc_all_scatter_v(part.pointer(0), whole.pointer(root), bytes.data(), given, flags);
          upc_barrier();
          note(read("scatter", part.on(MYTHREAD, general ? 8 * me : 0), root, MYTHREAD, bytes[me]));
          clear();
          write(part.on(MYTHREAD, general ? 8 * me : 0), root, MYTHREAD, bytes[me]);
          upc_barrier();
          if (general) upc_all_gather_x(from_root.data(), from_each.data(), bytes.data(), flags);
          else upc_all_gather_v(whole.pointer(root), part.pointer(0), bytes.data(), given, flags);
          upc_barrier();
          note(check_all("gather"));
        }
        clear();
        if (MYTHREAD == root) write(whole.on(root), root, 99, kMost);
        upc_barrier();
        upc_all_broadcast_x(on_each.data(), whole.pointer(root), kMost, flags);
        upc_barrier();
        note(read("broadcast", part.on(MYTHREAD, 8 * me), root, 99, kMost));
        if (!wrong.empty()) return wrong + " (root " + std::to_string(root) + ", flags " + std::to_string(flags) + ")";
      }
  return "";
}

// Every thread gets a block of every other.
std::string of_all() {
  const auto n = static_cast<std::size_t>(THREADS);
  const Memory src(2 * n * kMost), dst(2 * n * kMost);
  std::vector<std::size_t> bytes(n * n), own(n), places(n);
  for (int a = 0; a < THREADS; ++a)
    for (int b = 0; b < THREADS; ++b) bytes[static_cast<std::size_t>(a * THREADS + b)] = size_of(a, b);
  for (std::size_t t = 0; t < n; ++t) own[t] = size_of(static_cast<int>(t), 2);
  std::exclusive_scan(own.begin(), own.end(), places.begin(), std::size_t{0});
  const auto far = [&](std::size_t other) { return other * (kMost + 8); };  // where the general forms have a block
  std::vector<upc_shared> gathered_to, sources, sent_from, sent_to;
  for (int a = 0; a < THREADS; ++a) {
    sources.push_back(src.pointer(a, 16));
    for (int b = 0; b < THREADS; ++b) {
      const auto other = static_cast<std::size_t>(b);
      gathered_to.push_back(dst.pointer(a, far(other)));
      sent_from.push_back(src.pointer(a, far(other)));
      sent_to.push_back(dst.pointer(a, far(n - 1 - other)));
    }
  }
  std::string wrong;
  const auto note = [&](const std::string& found) {
    if (wrong.empty()) wrong = found;
  };
  const auto clear = [&] {
    upc_barrier();
    std::fill_n(src.on(MYTHREAD), 2 * n * kMost, static_cast<unsigned char>(0));
    std::fill_n(dst.on(MYTHREAD), 2 * n * kMost, static_cast<unsigned char>(0));
  };
  const auto me = static_cast<std::size_t>(MYTHREAD);
  for (const upc_flag_t flags : kSome)
    for (const bool general : {false, true}) {
      clear();
      write(src.on(MYTHREAD, general ? 16 : 0), MYTHREAD, 0, own[me]);
      upc_barrier();
      if (general) upc_all_gather_all_x(gathered_to.data(), sources.data(), own.data(), flags);
      else upc_all_gather_all_v(dst.pointer(0), src.pointer(0), own.data(), nullptr, flags);
      upc_barrier();
      for (std::size_t t = 0; t < n; ++t)
        note(read("gather_all", dst.on(MYTHREAD, general ? far(t) : places[t]), static_cast<int>(t), 0, own[t]));
      clear();
      std::size_t place = 0;
      for (int to = 0; to < THREADS; ++to) {
        write(src.on(MYTHREAD, general ? far(static_cast<std::size_t>(to)) : place), MYTHREAD, to, size_of(MYTHREAD, to));
        place += size_of(MYTHREAD, to);
      }
      upc_barrier();
      if (general) upc_all_exchange_x(sent_to.data(), sent_from.data(), bytes.data(), flags);
      else upc_all_exchange_v(dst.pointer(0), src.pointer(0), bytes.data(), flags);
      upc_barrier();
      place = 0;
      for (int from = 0; from < THREADS; ++from) {
        const std::size_t at_general = far(n - 1 - static_cast<std::size_t>(from));
        note(read("exchange", dst.on(MYTHREAD, general ? at_general : place), from, MYTHREAD, size_of(from, MYTHREAD)));
        place += size_of(from, MYTHREAD);
      }
      if (!wrong.empty())
        return wrong + (general ? " (general form, flags " : " (vector form, flags ") + std::to_string(flags) + ")";
    }
  return "";
}

TEST_P(Blocks, OfARoot) {
  for (const int threads : {1, 2, 3, 5}) EXPECT_EQ(run_upc(GetParam(), threads, rooted), 0) << threads;
}

TEST_P(Blocks, OfAllThreads) {
  for (const int threads : {1, 2, 3, 5}) EXPECT_EQ(run_upc(GetParam(), threads, of_all), 0) << threads;
}

TEST_P(Blocks, AreCheckedOnAllThreads) {
  const Variable check("COPSE_CHECK", "1");
  EXPECT_EQ(run_upc(GetParam(), 3, rooted), 0);
  EXPECT_EQ(run_upc(GetParam(), 3, of_all), 0);
}

}  // namespace
}  // namespace copse::test
