// The trial of stores: it ends, whoever comes, and leaves lines and progress words as they were.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/trial.hpp"

namespace copse::engine {
namespace {

class Trial : public testing::Test {
 protected:
  Trial() : memory_(Segment::bytes(geometry_, 2)), segment_(memory_.data(), geometry_) {}
  ~Trial() override {
    const std::size_t signals = static_cast<std::size_t>(segment_.slot(0, 0, 0, 0) - memory_.data());
    for (int local = 0; local < 2; ++local) {
      const auto *const begin = reinterpret_cast<const std::byte *>(&segment_.progress(local));
      EXPECT_TRUE(std::all_of(begin, begin + signals, [](std::byte b) { return b == std::byte{}; })) << "rank " << local;
    }
  }

  const Geometry geometry_{};
  std::vector<std::byte> memory_;
  const Segment segment_;
};

TEST_F(Trial, EndsForBoth) {
  bool other = false;
  std::thread thread([&] { other = streaming_is_sooner(segment_, 1, 0); });
  static_cast<void>(streaming_is_sooner(segment_, 0, 1));  // which is sooner is the machine's affair
  thread.join();
}

TEST_F(Trial, EndsWhenTheOtherDoesNotCome) {
  for (const int me : {0, 1}) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_FALSE(streaming_is_sooner(segment_, me, 1 - me));
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5)) << "rank " << me;
  }
}

}  // namespace
}  // namespace copse::engine
