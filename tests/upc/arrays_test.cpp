// The typed layer of <copse/upc.hpp>.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "copse/upc.hpp"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Arrays : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Arrays, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

// Each thread writes its own elements, and all threads read all of them, by each way there is.
template <std::size_t B>
std::string written_and_read(std::size_t elements) {
  const upc::shared_array<long, B> a(elements);
  std::size_t mine = 0;
  bool other = false;
  a.for_each_mine([&](std::size_t i, long& x) {
    x = static_cast<long>(i) * 3;
    ++mine;
    other = other || a.thread_of(i) != MYTHREAD || &x != &a[i];
  });
  if (other) return "an element of another thread was visited";
  if (mine * sizeof(long) != upc_affinitysize(elements * sizeof(long), B * sizeof(long), static_cast<std::size_t>(MYTHREAD)))
    return std::to_string(mine) + " elements are mine";
  upc_barrier();
  auto p = a.begin();
  for (std::size_t i = 0; i < elements; ++i, ++p) {
    const auto step = static_cast<std::ptrdiff_t>(i);
    if (a.load(i) != 3 * step || p.load() != 3 * step) return "element " + std::to_string(i) + " is loaded wrongly";
    if (p.get() != nullptr && (a[i] != 3 * step || *p != 3 * step || a.begin()[step] != 3 * step))
      return "element " + std::to_string(i) + " is wrong";
    if (p.get() == nullptr && launched() == 0) return "element " + std::to_string(i) + " cannot be reached";
    if (p != a.begin() + step || p - a.begin() != step || a.end() - p != static_cast<std::ptrdiff_t>(elements - i))
      return "a pointer is wrong";
    if (p.thread() != a.thread_of(i) || (p + 5) - 5 != p || p - 2 != a.begin() + (step - 2)) return "a moved pointer is wrong";
  }
  if (p != a.end() || a.size() != elements) return "the end is elsewhere";
  const upc::shared_array<long, 0> sum(1);
  upc_all_reduceL(sum.raw(), a.raw(), UPC_ADD, a.size(), a.block, nullptr, 0);
  const auto n = static_cast<long>(elements);
  return sum.load(0) == 3 * n * (n - 1) / 2 ? "" : "the sum is " + std::to_string(sum.load(0));
}

TEST_P(Arrays, AreWrittenAndRead) {
  for (const int threads : {1, 2, 3, 5})
    for (const std::size_t elements : {1, 4, 29}) {
      EXPECT_EQ(run_upc(GetParam(), threads, [=] { return written_and_read<1>(elements); }), 0);
      EXPECT_EQ(run_upc(GetParam(), threads, [=] { return written_and_read<4>(elements); }), 0);
      EXPECT_EQ(run_upc(GetParam(), threads, [=] { return written_and_read<0>(elements); }), 0);
    }
}

TEST_P(Arrays, MayBeMovedAndGiveTheirMemoryBack) {
  EXPECT_EQ(run_upc(
                GetParam(), 3,
                []() -> std::string {
                  for (int i = 0; i < 100; ++i) {
                    upc::shared_array<double, 2> a(50000);
                    if (MYTHREAD == 0) a.store(49999, i);
                    const upc::shared_array<double, 2> moved(std::move(a));
                    upc_barrier();
                    if (moved.load(49999) != i || moved.size() != 50000) return "the elements are gone";
                    upc_barrier();
                  }
                  const upc::shared_ptr<int> none;
                  return none ? "null is something" : "";
                },
                "1M"),
            0);
}

}  // namespace
}  // namespace copse::test
