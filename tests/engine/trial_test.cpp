// The trial of what copies cost ends whichever ranks come, and leaves lines and progress words as they were.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "engine/slot_stores.hpp"
#include "engine/trial.hpp"

namespace copse::engine {
namespace {

struct alignas(4096) Page {
  std::byte bytes[4096];
};

class Trial : public testing::Test {
 protected:
  Trial() : memory_(Segment::bytes(geometry_, 2) / sizeof(Page)), segment_(memory_.front().bytes, geometry_) {}
  ~Trial() override {
    const std::size_t signals = static_cast<std::size_t>(segment_.slot(0, 0, 0, 0) - memory_.front().bytes);
    for (int local = 0; local < 2; ++local) {
      const auto* const begin = reinterpret_cast<const std::byte*>(&segment_.progress(local));
      EXPECT_TRUE(std::all_of(begin, begin + signals, [](std::byte b) { return b == std::byte{}; })) << "rank " << local;
    }
  }

  // Measures until both ranks have a result: on a busy machine they may miss each other for seconds. Returns whether they have.
  bool both_measure(const Peer* kernel) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    mine_ = other_ = {};
    while (!(mine_ && other_) && std::chrono::steady_clock::now() < end) {
      std::fill(memory_.begin(), memory_.end(), Page{});
      std::thread thread([&] { other_ = measure_costs(segment_, 1, 0, kernel); });
      mine_ = measure_costs(segment_, 0, 1, kernel);
      thread.join();
    }
    return mine_ && other_;
  }

  std::optional<Costs> mine_, other_;
  const Geometry geometry_{};
  std::vector<Page> memory_;
  const Segment segment_;
};

TEST_F(Trial, TellsWhatItCosts) {
  Peer same;
  same.process = Process::find(this_process());
  for (const Peer* const kernel : {static_cast<const Peer*>(nullptr), static_cast<const Peer*>(&same)}) {
    ASSERT_TRUE(both_measure(kernel));
    for (const Costs& costs : {*mine_, *other_}) {
      EXPECT_GT(costs.write, 0);
      EXPECT_GT(costs.read, 0);
      EXPECT_EQ(costs.kernel > 0, kernel != nullptr);
      EXPECT_LT(std::max({costs.write, costs.read, costs.kernel}), 1e6);
    }
  }
}

TEST_F(Trial, SlotsAreMeasuredWhereTheKernelRefuses) {
  Peer nobody;  // process_vm_readv of process 0 fails
  ASSERT_TRUE(both_measure(&nobody));
  EXPECT_EQ(mine_->kernel, 0);
  EXPECT_GT(mine_->write, 0);
}

TEST_F(Trial, EndsWhenTheOtherDoesNotCome) {
  for (const int me : {0, 1}) {
    EXPECT_FALSE(measure_costs(segment_, me, 1 - me, nullptr)) << "rank " << me;
  }
}

// Makes so many large stores, each into the caches and taking `each` ns per byte. Returns how many were timed.
int store_large(SlotStores& stores, int times, float each) {
  constexpr std::size_t kBytes = 65536;
  int timed = 0;
  for (int i = 0; i < times; ++i)
    if (stores.asks(kBytes)) ++timed, stores.took(kBytes, std::chrono::duration<float, std::nano>(each * kBytes));
  return timed;
}

TEST(SlotStores, FollowTheReadersCache) {
  SlotStores stores(false, 0.1F);
  EXPECT_LT(store_large(stores, 800, 0.05F), 150);
  EXPECT_EQ(stores.past_from(), SIZE_MAX);
  store_large(stores, 8, 0.5F);  // as if an interrupt came in between
  store_large(stores, 800, 0.05F);
  EXPECT_EQ(stores.past_from(), SIZE_MAX);
  store_large(stores, 20, 0.3F);  // now it is far
  EXPECT_LT(stores.past_from(), 8192U);
  EXPECT_LT(store_large(stores, 1000, 0.3F), 20);
  EXPECT_LT(stores.past_from(), 8192U);
  store_large(stores, 200, 0.05F);
  EXPECT_EQ(stores.past_from(), SIZE_MAX);
}

TEST(SlotStores, StayWhereTheUserSays) {
  for (const bool past : {false, true}) {
    SlotStores stores(past, 0);
    EXPECT_EQ(store_large(stores, 1000, past ? 0.01F : 9.0F), 0);
    EXPECT_EQ(stores.past_from() < SIZE_MAX, past);
  }
}

}  // namespace
}  // namespace copse::engine
