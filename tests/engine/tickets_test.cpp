// An area that is seldom used, over more tickets than anybody can wait for. The words of its lines must not be taken
// for new ones when the part of the ticket that they hold comes round again.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include "algorithms/registry.hpp"
#include "engine/executor.hpp"

namespace copse::engine {
namespace {

using algorithms::Collective;

constexpr int kRanks = 3;
constexpr std::uint64_t kFew = 3;

// Ranks as threads that make one call after the other. In between, all of them may skip tickets.
class Ranks {
 public:
  Ranks() {
    geometry_.line_depth = 8;
    memory_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, Segment::bytes(geometry_, kRanks))));
    std::memset(memory_.get(), 0, Segment::bytes(geometry_, kRanks));
    std::vector<Peer> peers(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) {
      peers[static_cast<std::size_t>(rank)].local = rank;
      peers[static_cast<std::size_t>(rank)].same_process = true;
    }
    for (int rank = 0; rank < kRanks; ++rank)
      executors_.push_back(std::make_unique<Executor>(
          segment(), peers, rank, WaitPolicy::oversubscribed(), nullptr, [](int) { return false; }, scratches_));
  }

  void go_to(std::uint64_t ticket) {
    for (const auto& executor : executors_) executor->begin_at(ticket);
  }

  // Makes a few broadcasts from `root` with so many fragments. Returns whether every rank got them.
  [[nodiscard]] bool broadcast(int root, std::size_t fragments) {
    const std::uint64_t value = last_value_ += kFew;
    bool right[kRanks];
    std::vector<std::thread> threads;
    for (int rank = 0; rank < kRanks; ++rank)
      threads.emplace_back([&, rank] { right[rank] = broadcast_on(rank, root, fragments, value); });
    for (std::thread& thread : threads) thread.join();
    return right[0] && right[1] && right[2];
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  [[nodiscard]] Segment segment() const { return {memory_.get(), geometry_}; }

  [[nodiscard]] bool broadcast_on(int rank, int root, std::size_t fragments, std::uint64_t first_value) {
    algorithms::Request request;
    request.rank = rank;
    request.ranks = kRanks;
    request.root = root;
    request.carrier = plan::Carrier::line;
    Executor& executor = *executors_[static_cast<std::size_t>(rank)];
    const Program program = executor.prepare(algorithms::find(Collective::broadcast, "flat")->plan(request));
    bool right = true;
    for (std::uint64_t i = 0; i < kFew; ++i) {
      const std::vector<std::uint64_t> expected(fragments, first_value + i);
      std::vector<std::uint64_t> values = rank == root ? expected : std::vector<std::uint64_t>(fragments);
      Call call;
      call.input = call.output = values.data();
      call.element_bytes = sizeof values[0];
      call.count = fragments;
      call.fragment_count = 1;
      right = executor.run(program, call) == Outcome::done && values == expected && right;
    }
    return right;
  }

  Geometry geometry_;
  std::unique_ptr<std::byte, Free> memory_;
  ScratchPool scratches_;
  std::vector<std::unique_ptr<Executor>> executors_;
  std::uint64_t last_value_ = 0;
};

// Rank 2 broadcasts. Then rank 0 broadcasts for 2^48 tickets, of which all but a few are skipped. Then rank 2
// broadcasts again, with the same words in the same lines.
TEST(Tickets, OldLinesAreNotTakenForNewOnes) {
  constexpr std::uint64_t kRound = std::uint64_t{1} << 48, kQuarter = kRound / 4;
  for (const std::size_t fragments : {1U, 2U})
    for (const std::uint64_t first : {std::uint64_t{0}, 3 * kQuarter, std::uint64_t{1} << 62, ~std::uint64_t{0} - 5}) {
      Ranks ranks;
      ranks.go_to(first);
      EXPECT_TRUE(ranks.broadcast(2, fragments));
      for (std::uint64_t ticket = first / kQuarter * kQuarter + kQuarter - 1; ticket - first < kRound - 1; ticket += kQuarter) {
        ranks.go_to(ticket);
        ASSERT_TRUE(ranks.broadcast(0, fragments)) << "ticket " << ticket;
      }
      ranks.go_to(first + kRound);
      EXPECT_TRUE(ranks.broadcast(2, fragments)) << fragments << " fragments from ticket " << first;
    }
}

}  // namespace
}  // namespace copse::engine
