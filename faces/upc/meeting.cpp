// The bootstraps of UPC threads: in the memory of their node, and between nodes by the wire of the communicator that they found.
#include "meeting.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "communicator/over_nodes.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "engine/signal/wait.hpp"

namespace copse::upc {
namespace {

using communicator::Bootstrap;
using communicator::Deadline;

constexpr double kMeetSeconds = 600;
constexpr int kTag = 0;  // the calls on the communicator use it only afterwards

class SegmentBootstrap : public Bootstrap {
 public:
  SegmentBootstrap(std::unique_ptr<Bootstrap> meeting, const Segment& segment) : meeting_(std::move(meeting)), segment_(segment) {}
  [[nodiscard]] int rank() const override { return meeting_->rank(); }
  [[nodiscard]] int ranks() const override { return meeting_->ranks(); }
  bool allgather(const void* mine, void* all, std::size_t bytes) override { return meeting_->allgather(mine, all, bytes); }
  [[nodiscard]] const communicator::Region* region() const override { return &segment_.region(); }
  [[nodiscard]] std::optional<std::uint64_t> host() const override { return segment_.places().host(); }
  void settle(std::function<void()> idle, std::function<bool()> all_live) override {
    meeting_->settle(std::move(idle), std::move(all_live));
  }

 protected:
  [[nodiscard]] Bootstrap& on_this_node() { return *meeting_; }

 private:
  std::unique_ptr<Bootstrap> meeting_;
  const Segment& segment_;
};

// The first member on each node gathers what its node has, exchanges that with the first members on the others, and tells its node.
class NodesBootstrap final : public SegmentBootstrap {
 public:
  NodesBootstrap(std::unique_ptr<Bootstrap> on_node, const Thread& thread, engine::Wire& wire)
      : SegmentBootstrap(std::move(on_node), *thread.segment), wire_(wire), me_(thread.me), ranks_(thread.threads) {
    const Places& places = thread.segment->places();
    std::vector<int> nodes;
    for (int member = 0; member < ranks_; ++member) {
      const int node = places.node_of(thread.number_of(member));
      const auto found = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), node) - nodes.begin());
      if (found == nodes.size()) {
        nodes.push_back(node);
        members_.emplace_back();
      }
      members_[found].push_back(member);
      if (member == me_) here_ = found;
    }
  }

  [[nodiscard]] int rank() const override { return me_; }
  [[nodiscard]] int ranks() const override { return ranks_; }

  bool allgather(const void* mine, void* all, std::size_t bytes) override {
    communicator::BetweenNodes between;
    if (members_[here_].front() == me_)
      between = [this](std::span<const std::byte> of_node, std::byte* to, std::size_t size) { return exchange(of_node, to, size); };
    const auto gathered = communicator::allgather_over_nodes(on_this_node(), between, ranks_, mine, all, bytes);
    return gathered.all && gathered.node_is_told;
  }

 private:
  bool exchange(std::span<const std::byte> of_node, std::byte* all, std::size_t bytes) {
    if (of_node.empty()) return false;  // a thread has ended, and the MPI ends the others
    spread(members_[here_], of_node, all, bytes);
    std::vector<std::vector<std::byte>> came(members_.size());
    ++round_;
    for (std::size_t node = 0; node < members_.size(); ++node) {
      if (node == here_) continue;
      came[node].resize(members_[node].size() * bytes);
      if (!wire_.expect(came[node].data(), came[node].size(), members_[node].front(), kTag) ||
          !wire_.send(of_node.data(), of_node.size(), members_[node].front(), kTag, round_))
        return false;
    }
    for (std::size_t node = 0; node < members_.size(); ++node) {
      if (node == here_) continue;
      if (!wait([&] { return wire_.receive(members_[node].front(), kTag); })) return false;
      spread(members_[node], came[node], all, bytes);
    }
    return wait([&] { return wire_.drain(kTag, round_); });
  }
  static void spread(const std::vector<int>& members, std::span<const std::byte> values, std::byte* all, std::size_t bytes) {
    for (std::size_t i = 0; i < members.size(); ++i)
      std::memcpy(all + static_cast<std::size_t>(members[i]) * bytes, values.data() + i * bytes, bytes);
  }
  // A member whose process has ended is noticed by the MPI, which ends the others. This notices a node that has failed.
  template <class Ask>
  bool wait(const Ask& ask) {
    const auto since = engine::Wire::Clock::now();
    engine::Wired answer = engine::Wired::pending;
    engine::wait_until(
        engine::WaitPolicy::oversubscribed(), [&] { return (answer = ask()) != engine::Wired::pending; },
        [&] { return wire_.lost(since) < 0; });
    return answer == engine::Wired::done;
  }

  engine::Wire& wire_;
  int me_, ranks_;
  std::vector<std::vector<int>> members_;  // of each node, the node of the first member first
  std::size_t here_ = 0;
  std::uint64_t round_ = 0;
};

// Returns the wire between the members, or null if the network has too few streams.
std::unique_ptr<engine::Wire> wire_between(const Thread& thread, int stream) {
  const Places& places = thread.segment->places();
  std::vector<communicator::Correspondent> all;
  for (int member = 0; member < thread.threads; ++member) all.push_back(places.at(thread.number_of(member)));
  return thread.segment->network()->wire(std::move(all), thread.me, places.most_in_a_process(), stream);
}

}  // namespace

std::vector<int> members_here(const Thread& thread) {
  std::vector<int> result;
  for (int member = 0; member < thread.threads; ++member)
    if (thread.segment->is_here(thread.number_of(member))) result.push_back(member);
  return result;
}

std::unique_ptr<Communicator> meet(const Thread& thread, const Ground& ground, const choose::Settings& settings,
                                   std::string& why_not) {
  const std::vector<int> here = members_here(thread);
  const auto number = std::find(here.begin(), here.end(), thread.me) - here.begin();
  auto meeting = communicator::meet_in_memory(ground.boards, static_cast<int>(number), static_cast<int>(here.size()),
                                              Deadline::after(kMeetSeconds));
  if (here.size() == static_cast<std::size_t>(thread.threads))
    return Communicator::create(std::make_unique<SegmentBootstrap>(std::move(meeting), *thread.segment), nullptr, settings, why_not,
                                thread.progress);
  std::unique_ptr<engine::Wire> wire = wire_between(thread, ground.stream);
  if (wire == nullptr) {
    why_not =
        "the MPI has no tags left for another team over several nodes; required: fewer threads in each process, or fewer teams";
    return nullptr;
  }
  auto bootstrap = std::make_unique<NodesBootstrap>(std::move(meeting), thread, *wire);
  return Communicator::create(std::move(bootstrap), std::move(wire), settings, why_not, thread.progress);
}

}  // namespace copse::upc
