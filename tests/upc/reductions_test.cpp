// The reductions, against the definition element by element (UPC 1.3), with the closed form of block-cyclic arrays as
// oracle.
//
// Before and after a call, threads write and read what its synchronisation mode allows: so a call that synchronises less fails.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <type_traits>
#include <vector>

#include "upc_threads.hpp"

namespace copse::test {
namespace {

// Where element `k` lies: block b = t0 + (p0 + k) div B, on thread b mod N, at a0 + (b div N) B s + (phase - p0) s.
upc_shared place(upc_shared start, std::size_t k, std::size_t bytes, std::size_t block) {
  if (block == 0) return {start.address + k * bytes, 0, start.thread};
  const auto threads = static_cast<std::size_t>(THREADS);
  const std::size_t b = static_cast<std::size_t>(start.thread) + (start.phase + k) / block, phase = (start.phase + k) % block;
  return {start.address + (b / threads) * block * bytes + phase * bytes - start.phase * bytes, phase,
          static_cast<int>(b % threads)};
}

// Permutations of four things, numbered from 0 to 23, and their products: associative, and not commutative.
struct Permutations {
  using One = std::array<int, 4>;
  std::vector<One> all;
  std::array<std::array<int, 24>, 24> product{};
  Permutations() {
    One one{0, 1, 2, 3};
    do all.push_back(one);
    while (std::next_permutation(one.begin(), one.end()));
    for (std::size_t a = 0; a < 24; ++a)
      for (std::size_t b = 0; b < 24; ++b) {
        One both{};
        for (std::size_t i = 0; i < 4; ++i) both[i] = all[b][static_cast<std::size_t>(all[a][i])];
        product[a][b] = static_cast<int>(std::find(all.begin(), all.end(), both) - all.begin());
      }
  }
};
const Permutations kPermutations;

template <class T>
T in_order(T a, T b) {
  return static_cast<T>(kPermutations.product[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)]);
}
// Associative and commutative: (1 + a)(1 + b) - 1 in integers, which wrap; a sum in floating types, which must be exact.
template <class T>
T any_order(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a + b;
  else
    return static_cast<T>(static_cast<unsigned long>(a) + static_cast<unsigned long>(b) +
                          static_cast<unsigned long>(a) * static_cast<unsigned long>(b));
}

template <class T>
T expected_of(upc_op_t op, T a, T b) {
  using U = unsigned long;
  if (op == UPC_LOGAND) return a != 0 && b != 0;
  if (op == UPC_LOGOR) return a != 0 || b != 0;
  if (op == UPC_MIN) return b < a ? b : a;
  if (op == UPC_MAX) return b > a ? b : a;
  if (op == UPC_FUNC) return any_order(a, b);
  if (op == UPC_NONCOMM_FUNC) return in_order(a, b);
  if constexpr (std::is_floating_point_v<T>) {
    return op == UPC_ADD ? a + b : a * b;
  } else {
    switch (op) {
      case UPC_ADD: return static_cast<T>(static_cast<U>(a) + static_cast<U>(b));
      case UPC_MULT: return static_cast<T>(static_cast<U>(a) * static_cast<U>(b));
      case UPC_AND: return static_cast<T>(a & b);
      case UPC_OR: return static_cast<T>(a | b);
      default: return static_cast<T>(a ^ b);
    }
  }
}

// Elements for which every result is exact, and no operator is idle: products stay small, and truth values mix.
template <class T>
T element(upc_op_t op, std::size_t k, unsigned round) {
  const std::size_t mix = (k * 2654435761U + round * 40503U) >> 3;
  switch (op) {
    case UPC_MULT: return static_cast<T>(mix % 7 == 0 ? 2 : mix % 5 == 0 ? -1 : 1);
    case UPC_LOGAND: return static_cast<T>(round % 3 == 0 || mix % 9 != 0 ? mix % 4 + 1 : 0);
    case UPC_LOGOR: return static_cast<T>(round % 3 == 0 || mix % 9 != 0 ? 0 : mix % 4 + 1);
    case UPC_AND: return static_cast<T>(~(std::size_t{1} << mix % (8 * sizeof(T))));
    case UPC_NONCOMM_FUNC: return static_cast<T>(mix % 24);
    default: return static_cast<T>(mix % 100);
  }
}

struct Case {
  upc_op_t op;
  std::size_t block;
  int thread;  // of src
  std::size_t phase;
  std::size_t elements;
  int root;  // of dst
  unsigned round;
  upc_flag_t flags;
};

template <class T>
struct Functions {
  using Call = void (*)(upc_shared, upc_shared, upc_op_t, size_t, size_t, T (*)(T, T), upc_flag_t);
  Call reduce, prefix;
};
template <class T>
Functions<T> functions();
#define FUNCTIONS(letter, type)                                     \
  template <>                                                       \
  Functions<type> functions() {                                     \
    return {upc_all_reduce##letter, upc_all_prefix_reduce##letter}; \
  }
COPSE_UPC_TYPES(FUNCTIONS)
#undef FUNCTIONS

std::string text_of(const Case& c) {
  return "op " + std::to_string(c.op) + ", block " + std::to_string(c.block) + ", " + std::to_string(c.elements) +
         " elements from thread " + std::to_string(c.thread) + ", phase " + std::to_string(c.phase) + ", to thread " +
         std::to_string(c.root) + ": ";
}

constexpr std::size_t kMost = 41, kLarge = 50;  // elements, and a block that is larger than the array
constexpr unsigned char kUntouched = 0x5a;

// Memory of a whole array is written before each call, so that a result in the wrong place is found.
template <class T>
std::size_t room() {
  return (kMost + 2 * kLarge + 2) * sizeof(T);
}

template <class T>
std::string check_prefix(const Case& c, upc_shared dst, const std::vector<T>& results, int thread) {
  std::vector<unsigned char> expected(room<T>(), kUntouched);
  const std::size_t base = dst.address - c.phase * sizeof(T) - sizeof(T);
  for (std::size_t k = 0; k < c.elements; ++k) {
    const upc_shared p = place(dst, k, sizeof(T), c.block);
    if (p.thread != thread) continue;
    const T found = at<T>(thread, p.address);
    if (found != results[k])
      return "prefix, " + text_of(c) + "element " + std::to_string(k) + " is " + std::to_string(found) + ", not " +
             std::to_string(results[k]);
    fill(thread, p.address, kUntouched, sizeof(T));
  }
  if (bytes_at(thread, base, expected.size()) != expected) return "prefix, " + text_of(c) + "wrote elsewhere";
  return "";
}

template <class T>
std::string try_case(const Case& c, upc_shared source, upc_shared result, upc_shared single) {
  const auto start = [&](upc_shared array) {  // one element from the beginning, so that all of the phases have room
    return upc_shared{array.address + (1 + c.phase) * sizeof(T), c.phase, c.thread};
  };
  const upc_shared src = start(source), dst = start(result), one{single.address + sizeof(T), 5, c.root};
  const upc_flag_t flags = c.flags;
  const int mine = written_by_me(flags), looked = read_by_me(flags);
  fill(mine, result.address, kUntouched, room<T>());
  fill(mine, single.address, kUntouched, 3 * sizeof(T));
  std::vector<T> results(c.elements);
  for (std::size_t k = 0; k < c.elements; ++k) {
    const T value = element<T>(c.op, k, c.round);
    results[k] = k == 0 ? value : expected_of(c.op, results[k - 1], value);
    const upc_shared p = place(src, k, sizeof(T), c.block);
    const upc_shared moved = upc_add(src, static_cast<ptrdiff_t>(k), sizeof(T), c.block);
    if (!upc_equal(p, moved) || p.phase != moved.phase || upc_sub(moved, src, sizeof(T), c.block) != static_cast<ptrdiff_t>(k))
      return text_of(c) + "upc_add and upc_sub do not follow the closed form for element " + std::to_string(k);
    if (p.thread == mine) at<T>(mine, p.address) = value;
  }
  T (*const func)(T, T) = c.op == UPC_FUNC ? any_order<T> : c.op == UPC_NONCOMM_FUNC ? in_order<T> : nullptr;
  enter(flags);
  functions<T>().reduce(one, src, c.op, c.elements, c.block, func, flags);
  leave(flags);
  std::vector<unsigned char> around(3 * sizeof(T), kUntouched);
  std::string wrong;
  if (looked == c.root) {
    const T found = at<T>(looked, one.address);
    if (found != results.back())
      wrong = "reduce, " + text_of(c) + "the result is " + std::to_string(found) + ", not " + std::to_string(results.back());
    fill(looked, one.address, kUntouched, sizeof(T));
  }
  if (wrong.empty() && bytes_at(looked, single.address, around.size()) != around)
    wrong = "reduce, " + text_of(c) + "wrote elsewhere";
  enter(flags);
  functions<T>().prefix(dst, src, c.op, c.elements, c.block, func, flags);
  leave(flags);
  if (wrong.empty()) wrong = check_prefix(c, dst, results, looked);
  upc_barrier();
  return wrong;
}

bool sampled = false;  // a share of the cases must do, also with TEST_SWEEP=full

// Without TEST_SWEEP=full, every type runs a share of the cases: each case is run by one type, and fewer under ThreadSanitizer.
template <class T>
std::string try_type(unsigned type) {
  constexpr upc_op_t kOps[] = {UPC_ADD,   UPC_MULT, UPC_AND, UPC_OR,   UPC_XOR,         UPC_LOGAND,
                               UPC_LOGOR, UPC_MIN,  UPC_MAX, UPC_FUNC, UPC_NONCOMM_FUNC};
#if defined(__SANITIZE_THREAD__)
  constexpr unsigned kShare = 67;
#else
  constexpr unsigned kShare = 11;
#endif
  const bool every = std::getenv("TEST_SWEEP") != nullptr && !sampled;
  const unsigned stride = every ? 1 : kShare;
  const upc_shared src = upc_all_alloc(static_cast<std::size_t>(THREADS), room<T>()),
                   dst = upc_all_alloc(static_cast<std::size_t>(THREADS), room<T>()),
                   one = upc_all_alloc(static_cast<std::size_t>(THREADS), 3 * sizeof(T));
  std::string wrong;
  unsigned round = 0;
  for (const upc_op_t op : kOps) {
    if (std::is_floating_point_v<T> && (op == UPC_AND || op == UPC_OR || op == UPC_XOR)) continue;
    for (const auto& [block, phase] : {std::pair{0, 0}, {1, 0}, {3, 0}, {3, 1}, {3, 2}, {50, 0}, {50, 49}, {50, 30}})
      for (int thread = 0; thread < THREADS; ++thread)
        for (const std::size_t elements : {std::size_t{1}, std::size_t{2}, std::size_t{7}, std::size_t{24}, kMost}) {
          if (++round % stride != type % stride) continue;
          for (const upc_flag_t flags : kModes) {
            if (!(every && THREADS <= 3) && flags != kModes[round % std::size(kModes)]) continue;
            const Case c{op,       static_cast<std::size_t>(block),   thread, static_cast<std::size_t>(phase),
                         elements, static_cast<int>(round) % THREADS, round,  flags};
            const std::string found = try_case<T>(c, src, dst, one);
            if (wrong.empty()) wrong = found;
          }
        }
  }
  upc_all_free(one);
  upc_all_free(dst);
  upc_all_free(src);
  return wrong;
}

std::string all_types() {
  std::string wrong;
  unsigned type = 0;
#define TRY(letter, ctype) \
  if (const std::string found = try_type<ctype>(type++); wrong.empty() && !found.empty()) wrong = #letter ": " + found;
  COPSE_UPC_TYPES(TRY)
#undef TRY
  return wrong;
}

class Reductions : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Reductions, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

TEST_P(Reductions, FollowTheDefinitionElementByElement) {
  sampled = false;
  for (int threads = 1; threads <= 9; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, all_types), 0) << threads << " threads";
}

TEST_P(Reductions, FollowTheDefinitionOnManyThreads) {
  sampled = true;
  expect_right_on_many_threads(GetParam(), all_types);
}

// A reduction runs as reduce, or as exscan and allreduce. Operators that do not commute keep to algorithms that keep their order.
TEST_P(Reductions, RunByEveryAlgorithm) {
  sampled = true;
  for (const char* algorithms :
       {"reduce=flat;exscan=flat;allreduce=exchange", "reduce=chain;exscan=chain;allreduce=recursive_doubling",
        "reduce=knomial;exscan=recursive_doubling;allreduce=bine", "reduce=bine;exscan=binomial;allreduce=dissemination",
        "reduce=prop;allreduce=reduce_broadcast", "reduce=hierarchical;allreduce=reduce_broadcast_two_stage",
        "reduce=hierarchical_flat;allreduce=ring", "reduce=fixed;allreduce=rabenseifner", "reduce=rabenseifner;allreduce=dual_root",
        "reduce=tiled;allreduce=tiled", "reduce=tiled_hierarchical;allreduce=tiled_cyclic",
        "reduce=multi_lane;allreduce=movement_avoiding"}) {
    const Variable forced("COPSE_ALGORITHM", algorithms);
    for (const int threads : {2, 5})
      EXPECT_EQ(run_upc(GetParam(), threads, all_types), 0) << algorithms << ", " << threads << " threads";
  }
}

TEST_P(Reductions, ArgumentsThatAreRightPassTheChecks) {
  sampled = false;
  const Variable check("COPSE_CHECK", "1");
  EXPECT_EQ(run_upc(GetParam(), 3, all_types), 0);
}

// Long arrays, so that messages of partials are long as well, and the kernels' lanes are all used.
TEST_P(Reductions, OfLongArrays) {
  const auto body = []() -> std::string {
    constexpr std::size_t kElements = 100003;
    const auto n = static_cast<std::size_t>(THREADS);
    const upc_shared a = upc_all_alloc(n, (kElements / n + 8) * sizeof(long)),
                     b = upc_all_alloc(n, (kElements / n + 8) * sizeof(long)), sum = upc_all_alloc(1, sizeof(long));
    for (const std::size_t block : {1, 7}) {
      for (std::size_t k = 0; k < kElements; ++k)
        if (const upc_shared p = place(a, k, sizeof(long), block); p.thread == MYTHREAD)
          at<long>(p.thread, p.address) = element<long>(UPC_NONCOMM_FUNC, k, 1);
      upc_all_reduceL(sum, a, UPC_ADD, kElements, block, nullptr, 0);
      upc_all_prefix_reduceL(b, a, UPC_NONCOMM_FUNC, kElements, block, in_order<long>, 0);
      long expected = 0, total = 0;
      for (std::size_t k = 0; k < kElements; ++k) {
        const long value = element<long>(UPC_NONCOMM_FUNC, k, 1);
        expected = k == 0 ? value : in_order(expected, value);
        total += value;
        const upc_shared p = place(b, k, sizeof(long), block);
        if (p.thread == MYTHREAD && at<long>(p.thread, p.address) != expected) return "element " + std::to_string(k) + " is wrong";
      }
      if (element_of<long>(sum, 0) != total) return "the sum is wrong";
      upc_all_reduceL(sum, a, UPC_NONCOMM_FUNC, kElements, block, in_order<long>, 0);
      if (element_of<long>(sum, 0) != expected) return "the ordered result is wrong";
      upc_barrier();
    }
    return "";
  };
  for (const int threads : {1, 2, 5}) EXPECT_EQ(run_upc(GetParam(), threads, body, "16M"), 0) << threads << " threads";
}

}  // namespace
}  // namespace copse::test
