// The bootstrap of UPC threads.
#include "meeting.hpp"

#include "communicator/shared_bootstrap.hpp"

namespace copse::upc {
namespace {

using communicator::Bootstrap;

constexpr double kMeetSeconds = 600;

class SegmentBootstrap final : public Bootstrap {
 public:
  SegmentBootstrap(std::unique_ptr<Bootstrap> meeting, const Segment& segment) : meeting_(std::move(meeting)), segment_(segment) {}
  [[nodiscard]] int rank() const override { return meeting_->rank(); }
  [[nodiscard]] int ranks() const override { return meeting_->ranks(); }
  bool allgather(const void* mine, void* all, std::size_t bytes) override { return meeting_->allgather(mine, all, bytes); }
  [[nodiscard]] const communicator::Region* region() const override { return &segment_.region(); }
  void settle(std::function<void()> idle, std::function<bool()> all_live) override {
    meeting_->settle(std::move(idle), std::move(all_live));
  }

 private:
  std::unique_ptr<Bootstrap> meeting_;
  const Segment& segment_;
};

}  // namespace

std::unique_ptr<Communicator> meet(const Thread& thread, void* boards, int rank, int ranks, const choose::Settings& settings,
                                   std::string& why_not) {
  auto meeting = communicator::meet_in_memory(boards, rank, ranks, communicator::Deadline::after(kMeetSeconds));
  return Communicator::create(std::make_unique<SegmentBootstrap>(std::move(meeting), *thread.segment), nullptr, settings, why_not,
                              thread.progress);
}

}  // namespace copse::upc
