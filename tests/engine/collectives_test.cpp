// Every algorithm over every reach in real memory: right data, for sizes around every boundary, in place or not.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "choose/chooser.hpp"
#include "ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using communicator::Communicator;
using communicator::Outcome;

// Values that tell which rank and element they come from, in all their bits. Sums wrap, and have a closed form.
constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
std::uint64_t place_of(int rank, std::size_t i, int call) {
  return i * 31 + static_cast<std::uint64_t>(rank) * 1009 + static_cast<std::uint64_t>(call) * 7919;
}
std::int64_t value_of(int rank, std::size_t i, int call) {
  return static_cast<std::int64_t>(place_of(rank, i, call) * kSpread);
}

engine::Combine sum() {
  engine::Combine combine;
  combine.kernel = kernels::reduce_kernel(COPSE_SUM, COPSE_INT64);
  combine.kernel_two = kernels::reduce_two_kernel(COPSE_SUM, COPSE_INT64);
  return combine;
}

// 2x2 matrices modulo 2^16 in four lanes: multiplication is associative and does not commute.
void multiply(void *, const void *in, void *inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t a[4], b[4], c[4];
    std::memcpy(a, static_cast<const std::byte *>(in) + 8 * i, 8);
    std::memcpy(b, static_cast<std::byte *>(inout) + 8 * i, 8);
    for (std::size_t j = 0; j < 4; ++j)  // unsigned: two 16-bit factors overflow an int
      c[j] = static_cast<std::uint16_t>(1U * a[j & 2] * b[j & 1] + 1U * a[(j & 2) + 1] * b[2 + (j & 1)]);
    std::memcpy(static_cast<std::byte *>(inout) + 8 * i, c, 8);
  }
}

engine::Combine matrix_product() {
  engine::Combine combine;
  combine.user = multiply;
  combine.commutative = false;
  return combine;
}

std::vector<std::int64_t> expected_reduction(const engine::Combine &combine, int ranks, std::size_t count, int call) {
  std::vector<std::int64_t> result(count), next(count);
  if (combine.commutative) {
    const auto n = static_cast<std::uint64_t>(ranks);
    for (std::size_t i = 0; i < count; ++i)
      result[i] = static_cast<std::int64_t>((n * place_of(0, i, call) + 1009 * (n * (n - 1) / 2)) * kSpread);
    return result;
  }
  for (std::size_t i = 0; i < count; ++i) result[i] = value_of(ranks - 1, i, call);
  for (int rank = ranks - 2; rank >= 0; --rank) {
    for (std::size_t i = 0; i < count; ++i) next[i] = value_of(rank, i, call);
    combine.apply(result.data(), next.data(), result.data(), count, 8);
  }
  return result;
}

// TEST_REACH=heap: run under the preloaded shared heap, and it must be used. TEST_REACH=heap_only: moreover without
// kernel copies, and every other rank's buffers lie outside the heap.
std::string_view test_reach() {
  const char *reach = std::getenv("TEST_REACH");
  return reach != nullptr ? reach : "";
}

bool outside_heap() {
  static const bool outside = [] {
    const char *rank = std::getenv("TEST_SPMD_RANK");
    return test_reach() == "heap_only" && rank != nullptr && std::atoi(rank) % 2 == 1;
  }();
  return outside;
}

template <class T>
struct TestAllocator {
  using value_type = T;
  T *allocate(std::size_t n) {
    if (!outside_heap()) return std::allocator<T>().allocate(n);
    void *memory = mmap(nullptr, n * sizeof(T), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, std::size_t n) {
    if (!outside_heap()) return std::allocator<T>().deallocate(memory, n);
    munmap(memory, n * sizeof(T));
  }
  friend bool operator==(const TestAllocator &, const TestAllocator &) { return true; }
};
using Buffer = std::vector<std::int64_t, TestAllocator<std::int64_t>>;

std::string difference(const Buffer &got, const std::vector<std::int64_t> &want,
                       const std::string &where) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (got[i] == want[i]) continue;
    std::ostringstream text;
    text << where << ": element " << i << " of " << want.size() << " is " << got[i] << ", expected " << want[i];
    return text.str();
  }
  return {};
}

// One call of `count` 8-byte elements (a broadcast: up to 7 bytes fewer), checked on this rank.
std::string one_call(Communicator &comm, Collective collective, std::size_t count, int root, bool in_place,
                     const engine::Combine &combine, int call) {
  const int rank = comm.rank();
  Buffer in(count), out(count, -1);
  for (std::size_t i = 0; i < count; ++i) in[i] = value_of(rank, i, call);
  const Buffer before = in;
  std::ostringstream where;
  where << algorithms::name_of(collective) << " count " << count << " root " << root << (in_place ? " in place" : "")
        << " call " << call;
  Outcome outcome = Outcome::done;
  std::vector<std::int64_t> want;
  Buffer *got = &out;
  switch (collective) {
    case Collective::barrier: outcome = comm.barrier(); break;
    case Collective::broadcast:
      got = &in;
      want.resize(count);
      for (std::size_t i = 0; i < count; ++i) want[i] = value_of(root, i, call);
      if (count > 0) {  // what is not sent stays as it was
        const std::size_t cut = static_cast<std::size_t>(call) % 8, bytes = count * 8 - cut;
        std::memcpy(reinterpret_cast<std::byte *>(want.data()) + bytes,
                    reinterpret_cast<const std::byte *>(before.data()) + bytes, cut);
        outcome = comm.broadcast(in.data(), bytes, root);
      } else {
        outcome = comm.broadcast(nullptr, 0, root);
      }
      break;
    case Collective::reduce: {
      const bool alias = in_place && rank == root;
      if (alias) got = &in;
      if (rank == root) want = expected_reduction(combine, comm.ranks(), count, call);
      outcome = comm.reduce(in.data(), rank == root ? got->data() : nullptr, count, 8, combine, root);
      if (outcome == Outcome::done && !alias && in != before) return where.str() + ": the input was changed";
      break;
    }
    case Collective::allreduce:
      if (in_place) got = &in;
      want = expected_reduction(combine, comm.ranks(), count, call);
      outcome = comm.allreduce(in.data(), got->data(), count, 8, combine);
      if (outcome == Outcome::done && !in_place && in != before) return where.str() + ": the input was changed";
      break;
  }
  if (outcome != Outcome::done) return where.str() + ": " + comm.explain(outcome);
  return difference(*got, want, where.str());
}

struct Case {
  const Algorithm *algorithm;
  plan::Carrier carrier;
  Kind kind;
};

std::string name_of(const testing::TestParamInfo<Case> &info) {
  return std::string(algorithms::name_of(info.param.algorithm->collective)) + "_" +
         std::string(info.param.algorithm->name) + "_" + plan::name_of(info.param.carrier) + "_" +
         name_of(info.param.kind);
}

// TEST_SWEEP=full: more ranks, sizes and fragmentations, and threads within processes too.
bool full_sweep() {
  const char *sweep = std::getenv("TEST_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "full";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Algorithm &algorithm : algorithms::all())
    for (int c = 0; c < plan::kCarriers; ++c)
      if (algorithm.carries(static_cast<plan::Carrier>(c)))
        for (Kind kind : kKinds) {
          const auto carrier = static_cast<plan::Carrier>(c);
          const bool in_common = carrier == plan::Carrier::line || carrier == plan::Carrier::slot;
          if (kind == Kind::apart && in_common) continue;  // the same as threads
          cases.push_back({&algorithm, carrier, kind});
        }
  return cases;
}

std::vector<int> rank_counts(Kind kind) {
  if (!full_sweep()) return {2, 3, 5};
  if (kind == Kind::mixed) return {2, 3, 4, 7, 16};
  std::vector<int> counts{24, 32};
  for (int ranks = 1; ranks <= 17; ++ranks) counts.push_back(ranks);
  return counts;
}

// Hierarchical algorithms need a machine with regions, and this one may have but one: pretend, for some.
std::string machine_for(int ranks) {
  if (ranks >= 5 && ranks % 2 == 1) return "numa:3 core:2 pu:1";
  return ranks == 8 || ranks == 24 ? "package:2 numa:2 core:3 pu:1" : "";
}

std::vector<choose::Fragmentation> fragmentations(const Algorithm &algorithm, plan::Carrier carrier) {
  using Mode = choose::Fragmentation::Mode;
  if (!algorithm.fragments || carrier == plan::Carrier::line) return {{}};
  if (!full_sweep()) return {{Mode::none, 0}, {Mode::fixed, 512}};
  return {{Mode::none, 0}, {Mode::fixed, 512}, {Mode::halves, 0}};
}

// In elements of 8 bytes: around nothing, a line's payload, the test's fragment, the classes of slots, and more.
std::vector<std::size_t> counts_for(const Algorithm &algorithm, plan::Carrier carrier, int ranks, bool tiny_fragments) {
  if (algorithm.collective == Collective::barrier) return {0, 0, 0, 0};
  std::vector<std::size_t> counts{0, 1, 2, 14, 15};
  if (carrier == plan::Carrier::line) return counts;
  for (std::size_t edge : {std::size_t{16}, std::size_t{64}, std::size_t{128}, std::size_t{1024}})
    counts.insert(counts.end(), {edge - 1, edge, edge + 1});
  if (!full_sweep()) {
    counts.push_back(tiny_fragments ? 3001 : 8193);
    return counts;
  }
  counts.push_back(8191);
  if (tiny_fragments && ranks > 8) return counts;  // thousands of fragments teach no more than hundreds do
  counts.insert(counts.end(), {8192, 8193, 20000});
  if (ranks <= 5) counts.push_back(131072);
  return counts;
}

class EveryAlgorithm : public testing::TestWithParam<Case> {};

TEST_P(EveryAlgorithm, GivesRightResults) {
  const auto [algorithm, carrier, kind] = GetParam();
  for (int ranks : rank_counts(kind)) {
    for (const choose::Fragmentation fragmentation : fragmentations(*algorithm, carrier)) {
      const bool tiny = fragmentation.mode == choose::Fragmentation::Mode::fixed;
      const std::vector<std::size_t> counts = counts_for(*algorithm, carrier, ranks, tiny);
      choose::Settings settings;
      settings.forced.push_back({algorithm->collective, algorithm, carrier, {}});
      settings.fragment = fragmentation;
      settings.topology = machine_for(ranks);
      if (test_reach() == "heap_only") settings.reach = choose::ReachLimit::direct;
      const std::string wrong = run_ranks(kind, ranks, settings, [&, a = algorithm](Communicator &comm) {
        if (test_reach() != "" && !comm.capabilities().heap) return "no shared heap: " + comm.capabilities().heap_why_not;
        int call = 0;
        for (std::size_t count : counts) {
          for (int turn = 0; turn < 4; ++turn) {  // roots: both ends, and one after the other
            const int root = turn == 0 ? 0 : turn == 1 ? ranks - 1 : call % ranks;
            const bool in_place = turn % 2 == 1;
            const bool ordered = a->keeps_order && turn >= 2;
            const std::string wrong = one_call(comm, a->collective, count, root, in_place,
                                               ordered ? matrix_product() : sum(), ++call);
            if (!wrong.empty()) return wrong;
          }
        }
        return std::string{};
      });
      ASSERT_EQ(wrong, "") << ranks << " ranks, fragments of mode " << static_cast<int>(fragmentation.mode);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryAlgorithm, testing::ValuesIn(all_cases()), name_of);

}  // namespace
}  // namespace copse::test
