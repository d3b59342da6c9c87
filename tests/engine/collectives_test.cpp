// Runs every algorithm over every reach in real memory and checks the data, for sizes around every boundary, in place
// or not.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "choose/decision.hpp"
#include "graph.hpp"
#include "model.hpp"
#include "ranks.hpp"

namespace copse::test {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using communicator::Communicator;

struct Case {
  const Algorithm* algorithm;
  plan::Carrier carrier;
  Kind kind;
  int number;  // neighbours differ by one in algorithm, carrier and kind
  int nodes = 1;
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return std::string(algorithms::name_of(info.param.algorithm->collective)) + "_" + std::string(info.param.algorithm->name) + "_" +
         plan::name_of(info.param.carrier) + "_" + (info.param.nodes > 1 ? "nodes_" : "") + name_of(info.param.kind);
}

// With TEST_SWEEP=full there are more ranks, sizes and fragmentations, and threads within processes.
bool full_sweep() {
  const char* sweep = std::getenv("TEST_SWEEP");
  return sweep != nullptr && std::string_view(sweep) == "full";
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Algorithm& algorithm : algorithms::all())
    for (int c = 0; c < plan::kCarriers; ++c)
      if (algorithm.carries(static_cast<plan::Carrier>(c)))
        for (Kind kind : kKinds) {
          const auto carrier = static_cast<plan::Carrier>(c);
          const auto index = &algorithm - algorithms::all().data();
          const int number = static_cast<int>(index) + c + static_cast<int>(kind);
          const bool in_common = carrier == plan::Carrier::line || carrier == plan::Carrier::slot;
          if (kind == Kind::apart && in_common) continue;  // the same as threads
          cases.push_back({&algorithm, carrier, kind, number});
          if (kind == Kind::threads) cases.push_back({&algorithm, carrier, kind, number, 3});
        }
  return cases;
}

// Other tests prove every plan for every number of ranks, and many ranks on few processors take long. So the full sweep
// runs each case with the small numbers and two large ones, which change from case to case. The quick sweep takes 3 or
// 5 ranks. An algorithm meets both numbers, as threads or as processes, and over one reach or another.
std::vector<int> rank_counts(Kind kind, int number, int nodes) {
  if (nodes > 1) return {5};
  if (!full_sweep()) return {2, (number + (test_reach() == "heap_only" ? 1 : 0)) % 2 == 0 ? 3 : 5};
  if (kind == Kind::mixed) return {2, 3, 4, 7, 16};
  return {1, 2, 3, 4, 5, 6, 8, 9 + number % 9, number % 2 == 0 ? 24 : 32};
}

// Hierarchical algorithms need a machine with regions, and this one may have only one. So some cases pretend.
std::string machine_for(int ranks) {
  if (ranks >= 5 && ranks % 2 == 1) return "numa:3 core:2 pu:1";
  return ranks == 8 || ranks == 24 ? "package:2 numa:2 core:3 pu:1" : "";
}

std::vector<choose::Fragmentation> fragmentations(const Algorithm& algorithm, plan::Carrier carrier) {
  using Mode = choose::Fragmentation::Mode;
  if (!algorithm.fragments || carrier == plan::Carrier::line) return {{}};
  if (!full_sweep()) return {{Mode::none, 0}, {Mode::fixed, 512}};
  return {{Mode::none, 0}, {Mode::fixed, 512}, {Mode::halves, 0}};
}

// Sizes in elements of 8 bytes: around zero, a line's payload, the test's fragment, the classes of slots, and more.
std::vector<std::size_t> counts_for(const Algorithm& algorithm, plan::Carrier carrier, int ranks, int nodes, bool tiny_fragments) {
  if (algorithm.collective == Collective::barrier) return {0, 0, 0, 0};
  if (nodes > 1) return {0, 2, 15, carrier == plan::Carrier::line ? std::size_t{1} : std::size_t{513}};
  std::vector<std::size_t> counts{0, 1, 2, 14, 15};
  if (carrier == plan::Carrier::line) return counts;
  for (std::size_t edge : {std::size_t{16}, std::size_t{64}, std::size_t{128}, std::size_t{1024}})
    counts.insert(counts.end(), {edge - 1, edge, edge + 1});
  if (!full_sweep()) {
    counts.push_back(tiny_fragments ? 3001 : 8193);
    return counts;
  }
  counts.push_back(8191);
  if (tiny_fragments && ranks > 8) return counts;  // thousands of fragments show no more than hundreds
  counts.insert(counts.end(), {8192, 8193, 20000});
  if (ranks <= 5) counts.push_back(131072);
  return counts;
}

class EveryAlgorithm : public testing::TestWithParam<Case> {};

TEST_P(EveryAlgorithm, GivesRightResults) {
  const auto [algorithm, carrier, kind, number, nodes] = GetParam();
  for (int ranks : rank_counts(kind, number, nodes)) {
    for (const choose::Fragmentation fragmentation : fragmentations(*algorithm, carrier)) {
      const bool tiny = fragmentation.mode == choose::Fragmentation::Mode::fixed;
      const std::vector<std::size_t> counts = counts_for(*algorithm, carrier, ranks, nodes, tiny);
      choose::Settings settings;
      settings.forced.push_back({algorithm->collective, algorithm, carrier, {}});
      settings.fragment = fragmentation;
      settings.topology = machine_for(ranks);
      settings.nodes = nodes;
      settings.slots = ranks % 2 == 0 ? choose::Stores::streamed : choose::Stores::cached;
      if (test_reach() == "heap_only") settings.reach = choose::ReachLimit::direct;
      const std::string wrong = run_ranks(kind, ranks, settings, [&, a = algorithm](Communicator& comm) {
        if (test_reach() != "" && !comm.capabilities().heap) return "no shared heap: " + comm.capabilities().heap_why_not;
        int call = 0;
        const bool reduces = algorithms::traits_of(a->collective).reduces;
        const bool ragged = algorithms::contents_of(a->collective, ranks).blocks > 0;
        const bool always = algorithms::traits_of(a->collective).along_edges;
        for (std::size_t count : counts) {
          for (int turn = 0; turn < 4; ++turn) {  // roots: both ends, then one after the other
            const int root = turn == 0 ? 0 : turn == 1 ? ranks - 1 : call % ranks;
            const bool in_place = turn % 2 == 1;
            const bool ordered = a->keeps_order && turn >= 2;
            const std::size_t bytes = count * 8 - (reduces || count == 0 ? 0 : static_cast<std::size_t>(call) % 8);
            const ModelCall model{a->collective,
                                  ranks,
                                  root,
                                  &operation(ordered ? kOperations - 1 : 0),
                                  reduces ? count : bytes,
                                  always || (ragged && turn >= 2),
                                  in_place,
                                  static_cast<std::uint64_t>(++call),
                                  always && (a->alike() || turn >= 2)};
            const std::string wrong = CallUnderTest(comm, model).run();
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

// Tests the harness itself. One rank finds something wrong, or throws, while the others sit in a call with it. They
// come to an end, and the first complaint is reported.
class Harness : public testing::TestWithParam<Kind> {};

TEST_P(Harness, EndsRanksThatWait) {
  if (std::getenv("TEST_SPMD_NAME") != nullptr) GTEST_SKIP() << "there a complaint ends the process";
  for (const bool throws : {false, true}) {
    choose::Settings settings;
    settings.nodes = GetParam() == Kind::threads && throws ? 2 : 1;
    const std::string wrong = run_ranks(GetParam(), 4, settings, [&](Communicator& comm) -> std::string {
      const bool planted = comm.rank() == 2;
      if (planted && throws) throw std::runtime_error("planted");
      if (planted) return "planted";
      return comm.barrier() == communicator::Outcome::done ? "a barrier of three among four" : "an end that followed";
    });
    EXPECT_EQ(wrong, "rank 2: planted\n");
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, Harness, testing::ValuesIn(kKinds),
                         [](const auto& info) { return std::string("of_") + name_of(info.param); });

// All data that one node has for another crosses the wire in one message, packed or not.
TEST(Wire, CarriesOneMessageForAllBlocksBetweenNodes_of_threads) {
  constexpr int kRanks = 6;
  for (const plan::Carrier carrier : {plan::Carrier::line, plan::Carrier::slot, plan::Carrier::get}) {
    choose::Settings settings;
    const auto* row = algorithms::find(Collective::alltoall, "hierarchical");
    settings.forced.push_back({Collective::alltoall, row, carrier, {}});
    settings.nodes = 2;
    const std::uint64_t before = messages_sent.load();
    const std::string wrong = run_ranks(Kind::threads, kRanks, settings, [](Communicator& comm) {
      return CallUnderTest(comm, {Collective::alltoall, kRanks, 0, &operation(0), 3, false, false, 1}).run();
    });
    EXPECT_EQ(wrong, "") << plan::name_of(carrier);
    EXPECT_EQ(messages_sent.load() - before, 2u) << plan::name_of(carrier);
  }
}

// So does all data for neighbours on another node, if all blocks are of one size. Otherwise each block is a message.
TEST(Wire, CarriesOneMessageForAllEdgesBetweenNodes_of_threads) {
  constexpr int kRanks = 6;
  std::uint64_t edges = 0;
  for (int from = 0; from < kRanks; ++from)
    for (int to = 0; to < kRanks; ++to) edges += from / 3 != to / 3 && is_edge(from, to, kRanks) ? 1U : 0U;
  ASSERT_GT(edges, 2U);
  for (const bool alike : {false, true}) {
    choose::Settings settings;
    settings.nodes = 2;
    const std::uint64_t before = messages_sent.load();
    const std::string wrong = run_ranks(Kind::threads, kRanks, settings, [&](Communicator& comm) {
      return CallUnderTest(comm, {Collective::neighbor_alltoall, kRanks, 0, &operation(0), 3, true, false, 1, alike}).run();
    });
    EXPECT_EQ(wrong, "");
    EXPECT_EQ(messages_sent.load() - before, alike ? 2U : edges);
  }
}

// The leaders of the nodes use the wire's own collectives, fragment by fragment, if it can apply the operator, and in no lane.
TEST(Wire, IsAskedForCollectivesOfItsOwn_of_threads) {
  constexpr int kRanks = 5;
  for (const Collective collective : {Collective::barrier, Collective::broadcast, Collective::reduce, Collective::allreduce}) {
    choose::Settings settings;
    settings.forced.push_back({collective, algorithms::find(collective, "delegated"), {}, {}});
    settings.fragment = {choose::Fragmentation::Mode::fixed, 1024};
    settings.nodes = 2;
    const bool moves = algorithms::traits_of(collective).moves_data, reduces = algorithms::traits_of(collective).reduces;
    const auto run = [&](int operator_number, bool in_lane) {
      const std::uint64_t before = delegated.load();
      const std::string wrong = run_ranks(Kind::threads, kRanks, settings, [&](Communicator& comm) -> std::string {
        std::string why_not;
        const auto lane = in_lane ? comm.lane(why_not) : nullptr;
        if (in_lane && !lane) return why_not;
        const std::size_t elements = reduces ? 512 : 4096;
        const ModelCall model{collective, kRanks, 3, &operation(operator_number), moves ? elements : 0, false, false, 1};
        return CallUnderTest(in_lane ? *lane : comm, model).run();
      });
      EXPECT_EQ(wrong, "") << algorithms::name_of(collective);
      return delegated.load() - before;
    };
    EXPECT_EQ(run(0, false), moves ? 4U : 1U) << algorithms::name_of(collective);
    EXPECT_EQ(run(0, true), 0U) << algorithms::name_of(collective);
    if (!reduces) continue;
    EXPECT_EQ(run(kOperations - 1, false), 0U) << algorithms::name_of(collective);
  }
}

// Elements so large that a slot holds one of them but not one for each rank. The result is that of their parts, reduced
// one by one. Runs the chosen algorithm, a forced one that needs no more room, and a forced one that does.
constexpr std::size_t kWide = 5000;  // times 8 bytes

void keep_left(void*, const void* in, void* inout, std::size_t count) {  // associative, but does not commute
  std::memcpy(inout, in, count * 8);
}
void add(void*, const void* in, void* inout, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t a, b;
    std::memcpy(&a, static_cast<const std::byte*>(in) + i * 8, 8);
    std::memcpy(&b, static_cast<std::byte*>(inout) + i * 8, 8);
    b += a;
    std::memcpy(static_cast<std::byte*>(inout) + i * 8, &b, 8);
  }
}
template <auto combine>
void wide(void* context, const void* in, void* inout, std::size_t count) {
  combine(context, in, inout, count * kWide);
}

TEST(WideElements, AreReducedLikeNarrowOnes) {
  for (const Kind kind : {Kind::threads, Kind::processes}) {
    for (const char* name : {"", "ring", "tiled"}) {
      choose::Settings settings;
      if (const auto* row = algorithms::find(Collective::reduce_scatter, name))
        settings.forced.push_back({Collective::reduce_scatter, row, plan::Carrier::slot, {}});
      const std::string wrong = run_ranks(kind, 5, settings, [](Communicator& comm) -> std::string {
        for (const bool ordered : {false, true}) {
          constexpr std::size_t kCount = 3;
          std::vector<std::uint64_t> input(5 * kCount * kWide), one(kCount * kWide, 1), other(kCount * kWide, 2);
          for (std::size_t i = 0; i < input.size(); ++i) input[i] = i * 7919 + static_cast<std::uint64_t>(comm.rank());
          engine::Combine combine;
          combine.commutative = !ordered;
          combine.user = ordered ? &keep_left : &add;
          communicator::Arguments arguments{Collective::reduce_scatter, input.data(), one.data(), kCount * kWide, 8, &combine};
          if (comm.run(arguments) != communicator::Outcome::done) return "narrow elements";
          combine.user = ordered ? &wide<keep_left> : &wide<add>;
          arguments.output = other.data();
          arguments.count = kCount;
          arguments.element_bytes = kWide * 8;
          if (comm.run(arguments) != communicator::Outcome::done) return "wide elements";
          if (one != other) return ordered ? "other results in rank order" : "other results";
          const auto at = static_cast<std::uint64_t>(comm.rank()) * kCount * kWide * 7919;
          if (one[0] != (ordered ? at : 5 * at + 10)) return "wrong results";
        }
        return {};
      });
      EXPECT_EQ(wrong, "") << name_of(kind) << " " << name;
    }
  }
}

}  // namespace
}  // namespace copse::test
