// Collectives of values, reductions whose result all threads get, and the distance of threads (<copse/bupc.h>).
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include <cstdint>
#include <vector>

#include "copse/bupc.h"
#include "upc_threads.hpp"

extern "C" int bupc_header_works_in_c11(void);
extern "C" int bupc_header_works_in_c99(void);

namespace copse::test {
namespace {

TEST(BerkeleyHeader, IsAlsoC11) { EXPECT_EQ(bupc_header_works_in_c11(), 0); }
TEST(BerkeleyHeader, IsAlsoC99) { EXPECT_EQ(bupc_header_works_in_c99(), 0); }

class Values : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Values, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

struct Triple {
  char name;
  double weight;
  int thread;
};

std::string reductions() {
  const int n = THREADS, sum = n * (n - 1) / 2;
  for (int root = 0; root < n; ++root) {
    const int at_root = bupc_allv_reduce(int, MYTHREAD, root, UPC_ADD);
    if (MYTHREAD == root && at_root != sum) return "the sum is " + std::to_string(at_root);
  }
  if (bupc_allv_reduce(std::int64_t, MYTHREAD, -1, UPC_ADD) != sum) return "the sum for all is wrong";
  if (bupc_allv_reduce_all(double, MYTHREAD + 0.5, UPC_MAX) != n - 0.5) return "the maximum is wrong";
  if (bupc_allv_reduce_all(long double, 2, UPC_MULT) != static_cast<long double>(1 << n)) return "the product is wrong";
  if (bupc_allv_reduce_all(unsigned char, 1 << MYTHREAD, UPC_OR) != (1 << n) - 1) return "the or is wrong";
  if (bupc_allv_reduce_all(float, MYTHREAD == 0 ? 0.0F : 3.0F, UPC_LOGAND) != 0.0F) return "the logical and is wrong";
  if (bupc_allv_prefix_reduce(long, MYTHREAD, UPC_ADD) != MYTHREAD * (MYTHREAD + 1) / 2) return "the prefix sum is wrong";
  if (bupc_allv_prefix_reduce(short, -MYTHREAD, UPC_MIN) != -MYTHREAD) return "the prefix minimum is wrong";
  return "";
}

std::string movements() {
  const auto n = static_cast<std::size_t>(THREADS);
  for (int root = 0; root < THREADS; ++root) {
    const Triple mine{static_cast<char>('a' + MYTHREAD), MYTHREAD / 3.0, MYTHREAD};
    const Triple got = bupc_allv_broadcast(Triple, mine, root);
    if (got.thread != root || got.name != 'a' + root || got.weight != root / 3.0) return "broadcast gave another thread's value";
    std::vector<Triple> all(n);
    for (std::size_t i = 0; i < n; ++i) all[i] = {'s', MYTHREAD + 0.25, static_cast<int>(i) + 100 * MYTHREAD};
    const Triple part = bupc_allv_scatter(Triple, root, MYTHREAD == root ? all.data() : nullptr);
    if (part.thread != MYTHREAD + 100 * root || part.weight != root + 0.25) return "scatter gave another part";
    std::vector<int> to(n, -1);
    int* const result = bupc_allv_gather(int, 7 * MYTHREAD, root, MYTHREAD == root ? to.data() : nullptr);
    if (MYTHREAD == root && result != to.data()) return "gather returned another place";
    for (std::size_t i = 0; MYTHREAD == root && i < n; ++i)
      if (to[i] != 7 * static_cast<int>(i)) return "gather gave " + std::to_string(to[i]);
  }
  std::vector<Triple> all(n);
  const Triple mine{'g', 1, MYTHREAD};
  bupc_allv_gather_all(Triple, mine, MYTHREAD % 2 == 0 ? all.data() : nullptr);
  for (std::size_t i = 0; MYTHREAD % 2 == 0 && i < n; ++i)
    if (all[i].thread != static_cast<int>(i)) return "gather_all gave " + std::to_string(all[i].thread);
  const int from = bupc_allv_permute(int, 10 * MYTHREAD, after(MYTHREAD, 2));
  if (from != 10 * after(MYTHREAD, 2 * THREADS - 2)) return "permute gave " + std::to_string(from);
  return "";
}

// A value that is too long to be staged where it can be read in place.
struct Long {
  int thread;
  std::array<char, 20000> rest;
};

std::string long_movements() {
  const auto mine = std::make_unique<Long>();
  mine->thread = MYTHREAD;
  mine->rest.fill(static_cast<char>(MYTHREAD));
  std::vector<Long> all(static_cast<std::size_t>(THREADS));
  bupc_allv_gather_all(Long, *mine, all.data());
  for (int i = 0; i < THREADS; ++i)
    if (const Long& one = all[static_cast<std::size_t>(i)]; one.thread != i || one.rest.back() != i) return "gather_all is wrong";
  const Long from = bupc_allv_permute(Long, *mine, after(MYTHREAD));
  if (from.thread != after(MYTHREAD, THREADS - 1) || from.rest.back() != from.thread) return "permute is wrong";
  const Long first = bupc_allv_broadcast(Long, *mine, THREADS - 1);
  return first.thread == THREADS - 1 && first.rest.back() == THREADS - 1 ? "" : "broadcast is wrong";
}

TEST_P(Values, OfManyBytesAreMoved) {
  for (const int threads : {1, 2, 5}) EXPECT_EQ(run_upc(GetParam(), threads, long_movements), 0) << threads;
}

TEST_P(Values, AreReduced) {
  for (int threads = 1; threads <= 7; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, reductions), 0) << threads;
}

TEST_P(Values, AreMoved) {
  for (int threads = 1; threads <= 7; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, movements), 0) << threads;
}

double left(double a, double) { return a; }

// Block t of dst is the result, for an array that begins anywhere, in every mode.
std::string reduced_for_all() {
  const auto n = static_cast<std::size_t>(THREADS);
  constexpr std::size_t kBlock = 3;
  for (const std::size_t elements : {std::size_t{1}, std::size_t{2}, 4 * n + 5})
    for (int first = 0; first < THREADS; ++first)
      for (const upc_flag_t flags : kModes) {
        const upc_shared a = upc_all_alloc(n + elements, kBlock * sizeof(double)), dst = upc_all_alloc(n, sizeof(double));
        const upc_shared src = upc_add(a, first * static_cast<std::ptrdiff_t>(kBlock) + 1, sizeof(double), kBlock);
        for (std::size_t i = 0; i < elements; ++i) {
          const upc_shared one = upc_add(src, static_cast<std::ptrdiff_t>(i), sizeof(double), kBlock);
          if (one.thread == written_by_me(flags))
            element_of<double>(src, static_cast<std::ptrdiff_t>(i), kBlock) = static_cast<double>(i + 1);
        }
        enter(flags);
        bupc_all_reduce_allD(dst, src, UPC_ADD, elements, kBlock, nullptr, flags);
        leave(flags);
        const double sum = element_of<double>(dst, read_by_me(flags));
        if (sum != static_cast<double>(elements * (elements + 1) / 2)) return "the sum is " + std::to_string(sum);
        upc_barrier();
        bupc_all_reduce_allD(dst, src, UPC_NONCOMM_FUNC, elements, kBlock, left, 0);
        if (element_of<double>(dst, after(MYTHREAD)) != 1) return "the first element was not first";
        upc_all_free(a);
        upc_all_free(dst);
      }
  return "";
}

TEST_P(Values, OfArraysForAll) {
  for (const int threads : {1, 2, 3, 5}) EXPECT_EQ(run_upc(GetParam(), threads, reduced_for_all), 0) << threads;
}

// Returns a complaint unless threads with numbers that differ by less than `group` are `near`, and all others `far`.
std::string distances(int group, int near, int far) {
  for (int a = 0; a < THREADS; ++a)
    for (int b = 0; b < THREADS; ++b) {
      const int expected = a == b ? BUPC_THREADS_SAME : a / group == b / group ? near : far;
      if (const int distance = bupc_thread_distance(a, b); distance != expected)
        return "from " + std::to_string(a) + " to " + std::to_string(b) + " it is " + std::to_string(distance);
    }
  return "";
}

TEST_P(Values, DistancesAreThoseOfTheMachine) {
  if (GetParam() == Kind::launched) GTEST_SKIP() << "the threads may be on several nodes";
  {
    const Variable machine("COPSE_TOPOLOGY", "zoot");  // one memory; each of these threads has a cache of its own
    EXPECT_EQ(run_upc(GetParam(), 8, [] { return distances(1, 0, BUPC_THREADS_NEAR); }), 0);
  }
  const Variable machine("COPSE_TOPOLOGY", "ig");  // eight regions, each with a cache of its own
  EXPECT_EQ(run_upc(GetParam(), 8, [] { return distances(1, 0, BUPC_THREADS_FAR); }), 0);
  EXPECT_EQ(run_upc(GetParam(), 16, [] { return distances(2, BUPC_THREADS_VERYNEAR, BUPC_THREADS_FAR); }), 0);
}

}  // namespace
}  // namespace copse::test
