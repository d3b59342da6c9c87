// Ranks on two nodes, which are threads with a meeting for each node, and one of all callers between the nodes.
#include "communicator/over_nodes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "communicator/helpers_network.hpp"
#include "communicator/shared_bootstrap.hpp"

namespace copse::communicator {
namespace {

constexpr int kCallers = 2, kHelpers = 1, kNodes = 2, kHere = kCallers + kHelpers, kRanks = kNodes * kHere;
constexpr double kSeconds = 20;

// Streams that a helper gives out: ten of its own.
class Streams final : public HelpersNetwork {
 public:
  explicit Streams(int number) : number_(number) {}
  [[nodiscard]] int number() const override { return number_; }
  [[nodiscard]] std::vector<std::int32_t> offer(std::size_t most) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::int32_t> result;
    for (std::int32_t stream = 10 * number_; stream < 10 * number_ + 10 && result.size() < most; ++stream)
      if (!used.contains(stream) && offered.insert(stream).second) result.push_back(stream);
    return result;
  }
  void withdraw(const std::vector<std::int32_t>& streams) override {
    for (const std::int32_t stream : streams) offered.erase(stream);
  }
  [[nodiscard]] bool is_free(std::int32_t stream) override { return stream >= 0 && !used.contains(stream); }
  void take(std::int32_t stream) override { used.insert(stream); }
  [[nodiscard]] std::unique_ptr<engine::Wire> wire(std::vector<std::int32_t>, int) override { return nullptr; }

  std::set<std::int32_t> used, offered;

 private:
  int number_;
  std::mutex mutex_;
};

struct Nodes {
  Meeting here[kNodes]{Meeting(kHere), Meeting(kHere)};
  Meeting callers{kNodes * kCallers};
  Streams streams[kNodes]{Streams(0), Streams(1)};
};

// What one rank has: callers come first in their node, and in all.
struct Rank {
  int node, place;
  std::shared_ptr<bool> node_is_told = std::make_shared<bool>(true);
  std::unique_ptr<Bootstrap> callers;
  std::unique_ptr<Bootstrap> bootstrap;

  Rank(Nodes& nodes, int node, int place) : node(node), place(place) {
    Members members;
    if (place == 0) members = {kRanks, kNodes * kHelpers, node, {2 * node, 2 * node + 1, kNodes * kCallers + node}};
    auto on_node = nodes.here[node].come(place, Deadline::after(kSeconds));
    EXPECT_TRUE(tell_members(*on_node, members));
    EXPECT_EQ(members.helpers, kNodes * kHelpers);
    BetweenNodes between;
    if (place < kCallers) {
      callers = nodes.callers.come(2 * node + place, Deadline::after(kSeconds));
      between = [this](std::span<const std::byte> of_node, std::byte* all, std::size_t bytes) { return tell(of_node, all, bytes); };
    }
    bootstrap = std::make_unique<OverNodes>(std::move(on_node), members, between, node_is_told);
  }

  bool tell(std::span<const std::byte> of_node, std::byte* all, std::size_t bytes) const {
    std::vector<std::byte> mine(kHere * bytes + 1), gathered(kNodes * kCallers * mine.size());
    std::copy(of_node.begin(), of_node.end(), mine.begin());
    mine.back() = std::byte{!of_node.empty()};
    if (!callers->allgather(mine.data(), gathered.data(), mine.size())) return false;
    bool good = true;
    for (std::size_t from = 0; from < kNodes; ++from) {
      const std::byte* const its = &gathered[kCallers * from * mine.size()];
      good = good && its[mine.size() - 1] != std::byte{0};
      std::copy_n(its, kCallers * bytes, all + kCallers * from * bytes);
      std::copy_n(its + kCallers * bytes, bytes, all + (kNodes * kCallers + from) * bytes);
    }
    return good;
  }
};

template <class Body>
void on_all_ranks(Nodes& nodes, const Body& body) {
  std::vector<std::thread> threads;
  for (int node = 0; node < kNodes; ++node)
    for (int place = 0; place < kHere; ++place)
      threads.emplace_back([&, node, place] {
        Rank rank(nodes, node, place);
        body(rank);
      });
  for (std::thread& thread : threads) thread.join();
}

TEST(OverNodes, GathersOfAnySize) {
  Nodes nodes;
  on_all_ranks(nodes, [](Rank& rank) {
    Bootstrap& all = *rank.bootstrap;
    EXPECT_EQ(all.ranks(), kRanks);
    for (const std::size_t count : {1U, 100U, 3000U}) {
      std::vector<int> mine(count, 7 * all.rank()), gathered(kRanks * count, -1);
      ASSERT_TRUE(all.allgather(mine.data(), gathered.data(), count * sizeof mine[0]));
      for (std::size_t i = 0; i < gathered.size(); ++i) ASSERT_EQ(gathered[i], 7 * static_cast<int>(i / count));
    }
    EXPECT_TRUE(*rank.node_is_told);
    all.settle({}, {});
    int word = 0, words[kRanks];
    EXPECT_FALSE(all.allgather(&word, words, sizeof word));
  });
}

// All callers must hear the same, or some of them would be one exchange ahead.
TEST(OverNodes, AHelperThatLeavesMisleadsNobody) {
  Nodes nodes;
  on_all_ranks(nodes, [](Rank& rank) {
    if (rank.node == 1 && rank.place == kCallers) return;
    int word = 0, words[kRanks];
    EXPECT_FALSE(rank.bootstrap->allgather(&word, words, sizeof word));
    if (rank.place >= kCallers) return;
    rank.bootstrap.reset();
    EXPECT_TRUE(rank.callers->allgather(&word, words, sizeof word)) << "the callers are out of step";
  });
}

TEST(OverNodes, HelpersAgreeOnAStreamThatIsFreeOnAllOfThem) {
  Nodes nodes;
  nodes.streams[0].used = {0};
  nodes.streams[1].used = {1, 2};
  on_all_ranks(nodes, [&](Rank& rank) {
    const bool helps = rank.place >= kCallers;
    const HelpersStream agreed = agree_on_stream(*rank.bootstrap, helps ? &nodes.streams[rank.node] : nullptr);
    EXPECT_EQ(agreed.stream, 3);
    EXPECT_EQ(agreed.numbers, (std::vector<std::int32_t>{-1, -1, -1, -1, 0, 1}));
  });
  EXPECT_EQ(nodes.streams[0].used, (std::set<std::int32_t>{0, 3}));
  EXPECT_EQ(nodes.streams[1].used, (std::set<std::int32_t>{1, 2, 3}));
  EXPECT_TRUE(nodes.streams[0].offered.empty());
}

TEST(OverNodes, HelpersWithoutACommonStreamSaySo) {
  Nodes nodes;
  for (std::int32_t stream = 0; stream < 10; ++stream) nodes.streams[stream % 2].used.insert(stream);
  on_all_ranks(nodes, [&](Rank& rank) {
    const bool helps = rank.place >= kCallers;
    EXPECT_EQ(agree_on_stream(*rank.bootstrap, helps ? &nodes.streams[rank.node] : nullptr).stream, -1);
  });
  EXPECT_TRUE(nodes.streams[0].offered.empty());
}

}  // namespace
}  // namespace copse::communicator
