// The wires of helpers.
#include "helpers_network.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <utility>

#include "choose/settings.hpp"
#include "hidden.hpp"
#include "wire.hpp"

namespace copse::mpi {
namespace {

constexpr int kTagsOfStream = choose::kServedStreams * kTagsOfLane;

class HelpersWire final : public MessageWire {
 public:
  HelpersWire(RanksNetwork& network, MPI_Comm comm, std::vector<std::int32_t> numbers, int stream)
      : MessageWire(comm), network_(network), numbers_(std::move(numbers)), stream_(stream), first_tag_(stream * kTagsOfStream) {}
  HelpersWire(const HelpersWire&) = delete;
  HelpersWire& operator=(const HelpersWire&) = delete;
  // A message may still come to a stream that is spoiled.
  ~HelpersWire() override {
    if (first_ == nullptr && !spoiled_) network_.give_back(stream_);
  }
  [[nodiscard]] std::unique_ptr<engine::Wire> lane(int number) override {
    return std::unique_ptr<HelpersWire>(new HelpersWire(*this, first_tag_ + (number + 1) * kTagsOfLane));
  }
  [[nodiscard]] std::size_t lanes_most() const override { return choose::kServedStreams - 1; }

 private:
  HelpersWire(HelpersWire& first, int first_tag)
      : MessageWire(first.comm()), network_(first.network_), numbers_(first.numbers_), stream_(first.stream_),
        first_tag_(first_tag), first_(&first) {}
  [[nodiscard]] int there(int peer) const override { return numbers_[static_cast<std::size_t>(peer)]; }
  [[nodiscard]] int tag_to(int, int tag) const override { return first_tag_ + tag; }
  [[nodiscard]] int tag_from(int, int tag) const override { return first_tag_ + tag; }
  void spoil() override { (first_ == nullptr ? *this : *first_).spoiled_ = true; }

  RanksNetwork& network_;
  std::vector<std::int32_t> numbers_;
  int stream_, first_tag_;
  HelpersWire* first_ = nullptr;  // in a lane, the wire beside which it lies; otherwise null
  std::atomic<bool> spoiled_{false};  // any thread may say so
};

}  // namespace

RanksNetwork::RanksNetwork(MPI_Comm helpers) : comm_(helpers) {
  constexpr int kMost = 256;  // streams of a helper
  int ranks = 1;
  real().Comm_rank_(comm_, &rank_);
  real().Comm_size_(comm_, &ranks);
  real().Comm_set_errhandler_(comm_, MPI_ERRORS_RETURN);
  streams_ = std::min(kMost, highest_tag() / kTagsOfStream / ranks);
  first_stream_ = rank_ * streams_;
}

std::vector<std::int32_t> RanksNetwork::offer(std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::vector<std::int32_t> result;
  for (std::int32_t stream = first_stream_; stream < first_stream_ + streams_ && result.size() < most; ++stream)
    if (!used_.contains(stream) && offered_.insert(stream).second) result.push_back(stream);
  return result;
}

void RanksNetwork::withdraw(const std::vector<std::int32_t>& streams) {
  const std::lock_guard lock(mutex_);
  for (const std::int32_t stream : streams) offered_.erase(stream);
}

bool RanksNetwork::is_free(std::int32_t stream) {
  const std::lock_guard lock(mutex_);
  return stream >= 0 && !used_.contains(stream);
}

void RanksNetwork::take(std::int32_t stream) {
  const std::lock_guard lock(mutex_);
  used_.insert(stream);
}

std::unique_ptr<engine::Wire> RanksNetwork::wire(std::vector<std::int32_t> numbers, int stream) {
  return std::make_unique<HelpersWire>(*this, comm_, std::move(numbers), stream);
}

void RanksNetwork::give_back(int stream) {
  const std::lock_guard lock(mutex_);
  used_.erase(stream);
}

}  // namespace copse::mpi
