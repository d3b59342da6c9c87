// Pointers-to-shared and shared memory (UPC 1.3, 6.4.2, 7.2.2, 7.2.3, 7.2.5).
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "upc_threads.hpp"

extern "C" int upc_header_compiles_as_c11(void);
extern "C" int upc_header_compiles_as_c99(void);
extern "C" int upc_header_compiles_as_cxx17(void);

namespace copse::test {
namespace {

class Pointers : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Pointers, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

TEST(Header, IsAlsoC11) { EXPECT_EQ(upc_header_compiles_as_c11(), 0); }
TEST(Header, IsAlsoC99) { EXPECT_EQ(upc_header_compiles_as_c99(), 0); }
TEST(Header, IsAlsoCxx17) { EXPECT_EQ(upc_header_compiles_as_cxx17(), 0); }

TEST(Header, HasTheNumbersOfTheSpecification) {
  static_assert(UPC_ADD == 1 && UPC_MULT == 2 && UPC_AND == 4 && UPC_OR == 8 && UPC_XOR == 16 && UPC_LOGAND == 32 &&
                UPC_LOGOR == 64 && UPC_MIN == 128 && UPC_MAX == 256 && UPC_FUNC == 65536 && UPC_NONCOMM_FUNC == 131072);
  static_assert(UPC_IN_ALLSYNC == 1 && UPC_IN_MYSYNC == 2 && UPC_IN_NOSYNC == 4 && UPC_OUT_ALLSYNC == 8 && UPC_OUT_MYSYNC == 16 &&
                UPC_OUT_NOSYNC == 32);
}

// Walks element by element: an array's neighbours follow from the words of 6.4.2 alone.
std::string walk() {
  for (const std::size_t block : {1, 2, 3, 7, 100})
    for (int thread = 0; thread < THREADS; ++thread) {
      const upc_shared start{4096, block / 2, thread};
      upc_shared p = start;
      std::map<std::pair<int, std::size_t>, int> seen;
      for (int i = 0; i < 60; ++i) {
        if (!seen.insert({{p.thread, p.address}, i}).second) return "two elements lie in one place";
        upc_shared next = p;
        if (++next.phase < block) {
          next.address += 8;
        } else {  // the next thread's block; the row ends with the last thread
          next.phase = 0;
          next.address -= (block - 1) * 8;
          if (++next.thread == THREADS) {
            next.thread = 0;
            next.address += block * 8;
          }
        }
        const upc_shared one = upc_add(p, 1, 8, block), back = upc_add(one, -1, 8, block), far = upc_add(start, i + 1, 8, block);
        if (!upc_equal(one, next) || one.phase != next.phase || !upc_equal(far, next) || far.phase != next.phase)
          return "element " + std::to_string(i + 1) + " lies elsewhere with block size " + std::to_string(block);
        if (!upc_equal(back, p) || back.phase != p.phase) return "one step back does not undo one step";
        if (upc_sub(next, start, 8, block) != i + 1 || upc_sub(start, next, 8, block) != -(i + 1)) return "the difference is wrong";
        p = next;
      }
    }
  return "";
}

TEST_P(Pointers, StepOverBlocksAndThreads) {
  for (int threads = 1; threads <= 9; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, walk), 0) << threads;
}

TEST_P(Pointers, HaveThreePartsAndAreComparedByTwo) {
  EXPECT_EQ(
      run_upc(GetParam(), 3,
              []() -> std::string {
                const upc_shared p{128, 2, 1};
                if (upc_threadof(p) != 1 || upc_phaseof(p) != 2 || upc_addrfield(p) != 128) return "a part is wrong";
                if (upc_resetphase(p).phase != 0 || !upc_equal(upc_resetphase(p), p)) return "the phase counts in comparisons";
                if (upc_equal(p, upc_shared{128, 2, 2}) || upc_equal(p, upc_shared{136, 2, 1})) return "different places are equal";
                if (!upc_is_null(upc_null()) || upc_is_null(p) || upc_cast(upc_null()) != nullptr) return "null is not null";
                const int castable = upc_thread_info(1).guaranteedCastable;
                if (castable != (upc_cast(p) == nullptr ? 0 : UPC_CASTABLE_ALL & ~UPC_CASTABLE_STATIC))
                  return "it is said wrongly what is castable";
                if (castable == 0 && (MYTHREAD == 1 || launched() == 0)) return "memory that can be reached is not castable";
                const upc_shared moved = upc_add(p, -3, 4, UPC_INDEFINITE);
                if (moved.address != 116 || moved.thread != 1 || moved.phase != 0 || upc_sub(moved, p, 4, UPC_INDEFINITE) != -3)
                  return "indefinite arithmetic is wrong";
                return "";
              }),
      0);
}

TEST_P(Pointers, ShareAnArrayByAffinity) {
  EXPECT_EQ(run_upc(GetParam(), 4,
                    []() -> std::string {
                      for (const std::size_t bytes : {0, 1, 3, 8})
                        for (const std::size_t total : {0, 1, 7, 24, 32, 33, 95, 96, 97}) {
                          std::size_t counted[4] = {};
                          for (std::size_t byte = 0; byte < total; ++byte) ++counted[bytes == 0 ? 0 : byte / bytes % 4];
                          for (std::size_t thread = 0; thread < 4; ++thread)
                            if (upc_affinitysize(total, bytes, thread) != counted[thread])
                              return std::to_string(total) + " bytes in blocks of " + std::to_string(bytes) +
                                     ": wrong for thread " + std::to_string(thread);
                        }
                      return "";
                    }),
            0);
}

// Every thread holds several blocks at a time; no two overlap, and all of them can be written by every thread.
TEST_P(Pointers, AllocateWhatNobodyElseHas) {
  EXPECT_EQ(run_upc(GetParam(), 5,
                    []() -> std::string {
                      constexpr int kRounds = 20;
                      const upc_shared all = upc_all_alloc(13, 100);
                      if (all.thread != 0 || all.phase != 0 || all.address % 64 != 0)
                        return "upc_all_alloc gave another kind of pointer";
                      const upc_shared same = upc_all_alloc(static_cast<std::size_t>(THREADS), sizeof(upc_shared));
                      element_of<upc_shared>(same, MYTHREAD) = all;
                      upc_barrier();
                      if (!upc_equal(element_of<upc_shared>(same, after(MYTHREAD)), all)) return "threads got different pointers";
                      std::vector<std::pair<upc_shared, std::size_t>> mine;
                      for (int round = 0; round < kRounds; ++round) {
                        const auto bytes = static_cast<std::size_t>(1 + (round * 977 + MYTHREAD * 331) % 5000);
                        const upc_shared own = upc_alloc(bytes),
                                         global = upc_global_alloc(static_cast<std::size_t>(THREADS), bytes);
                        if (own.thread != MYTHREAD || own.phase != 0 || global.thread != 0)
                          return "an allocation has another affinity";
                        mine.emplace_back(own, bytes);
                        mine.emplace_back(global, bytes);
                        upc_memset(own, MYTHREAD + 1, bytes);
                        for (int thread = 0; thread < THREADS; ++thread)
                          upc_memset({global.address, 0, thread}, MYTHREAD + 1, bytes);
                        if (round % 3 == 0) {
                          upc_free(mine.front().first);
                          mine.erase(mine.begin());
                        }
                      }
                      upc_barrier();
                      for (const auto& [p, bytes] : mine)
                        if (bytes_at(p.thread, p.address, bytes) != std::vector<unsigned char>(bytes, MYTHREAD + 1))
                          return "two allocations overlap";
                      upc_barrier();
                      for (const auto& [p, bytes] : mine) upc_free(p);
                      upc_free(upc_null());
                      if (!upc_is_null(upc_alloc(0)) || !upc_is_null(upc_global_alloc(0, 8)) || !upc_is_null(upc_all_alloc(3, 0)))
                        return "no bytes are not null";
                      upc_all_free(all);
                      upc_all_free(same);
                      return "";
                    }),
            0);
}

// More is allocated in all than there is at a time.
TEST_P(Pointers, FreeGivesMemoryBack) {
  EXPECT_EQ(run_upc(
                GetParam(), 3,
                []() -> std::string {
                  for (int round = 0; round < 200; ++round) {
                    upc_free(upc_alloc(std::size_t{1} << 19));
                    upc_all_free(upc_all_alloc(3, std::size_t{1} << 19));
                  }
                  return "";
                },
                launched() > 0 ? "4M" : "1M"),
            0);
}

TEST_P(Pointers, CopyBetweenThreads) {
  EXPECT_EQ(run_upc(GetParam(), 4,
                    []() -> std::string {
                      constexpr std::size_t kBytes = 3001;
                      const auto n = static_cast<std::size_t>(THREADS);
                      const upc_shared a = upc_all_alloc(n, kBytes), b = upc_all_alloc(n, kBytes);
                      std::vector<unsigned char> out(kBytes), in(kBytes);
                      for (std::size_t i = 0; i < kBytes; ++i)
                        out[i] = static_cast<unsigned char>(i * 3 + static_cast<std::size_t>(MYTHREAD));
                      const upc_shared next{a.address, 0, after(MYTHREAD)};
                      upc_memput(next, out.data(), kBytes);
                      upc_memget(in.data(), next, kBytes);
                      if (in != out) return "upc_memget does not get what upc_memput has put";
                      upc_barrier();
                      upc_memcpy({b.address, 0, after(MYTHREAD, 3)}, {a.address, 0, after(MYTHREAD, 2)},
                                 kBytes);  // what the thread before that one has put
                      upc_barrier();
                      for (std::size_t i = 0; i < kBytes; ++i)
                        if (at<unsigned char>(MYTHREAD, b.address + i) !=
                            static_cast<unsigned char>(i * 3 + static_cast<std::size_t>(after(MYTHREAD, 2))))
                          return "upc_memcpy copied something else";
                      return "";
                    }),
            0);
}

}  // namespace
}  // namespace copse::test
