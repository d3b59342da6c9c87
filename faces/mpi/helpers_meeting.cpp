// Callers find out whose helpers they have, and meet these: first on each node, and then over the nodes.
#include "helpers_meeting.hpp"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "communicator/desk.hpp"
#include "communicator/helpers_network.hpp"
#include "communicator/name_meeting.hpp"
#include "communicator/over_nodes.hpp"
#include "helpers.hpp"
#include "progress.hpp"
#include "report.hpp"
#include "settings.hpp"

namespace copse::mpi {
namespace {

using communicator::DeskName;

constexpr double kMeetingSeconds = 10, kOverNodesSeconds = 30;

std::atomic<bool> are_gone{false};  // this rank knows that a helper will not come any more

bool all_desks_are_open() {
  const auto end = helpers_here().desks.begin() + helpers_here().count;
  return std::all_of(helpers_here().desks.begin(), end, [](const DeskName& desk) { return communicator::is_open(desk); });
}

// A helper that does not come would hold up every communicator, so no communicator uses helpers from now on.
void do_without_helpers(int rank, const std::string& why) {
  if (are_gone.exchange(true) || rank != 0) return;
  note(kHelpers, "they serve no communicator from now on: " + why);
}

// What callers tell one another about their helpers.
enum Met : std::int32_t { kCame = 1, kServed = 2 };
struct Word {
  std::int32_t count = 0, met = 0;  // met: Met, or 0 if helpers did not come
  DeskName first{}, meeting{};      // the first rank of each node names the meeting
};

// The callers of a node, and its helpers.
struct Node {
  std::vector<int> callers;
  int helpers = 0, first_helper = 0;  // by their numbers among the helpers of all nodes
  DeskName desk{}, meeting{};
};

// Returns the nodes of the callers, by the first caller of each. The result is empty if the callers of some node have no helpers,
// or not the same.
std::vector<Node> nodes_of(const std::vector<Word>& words, std::span<const std::uint64_t> hosts) {
  std::vector<Node> nodes;
  std::vector<std::uint64_t> known;
  for (std::size_t rank = 0; rank < words.size(); ++rank) {
    const Word& word = words[rank];
    const auto at = static_cast<std::size_t>(std::find(known.begin(), known.end(), hosts[rank]) - known.begin());
    if (at == known.size()) {
      known.push_back(hosts[rank]);
      const int before = nodes.empty() ? 0 : nodes.back().first_helper + nodes.back().helpers;
      nodes.push_back({{}, word.count, before, word.first, word.meeting});
    }
    if (word.count == 0 || word.count != nodes[at].helpers || word.first != nodes[at].desk) return {};
    nodes[at].callers.push_back(static_cast<int>(rank));
  }
  for (const Node& node : nodes)  // with COPSE_NODES, several pretended nodes may be one real node
    if (std::count_if(nodes.begin(), nodes.end(), [&](const Node& other) { return other.desk == node.desk; }) > 1) return {};
  return nodes;
}

// The meeting of callers and their helpers: on each node, and then over the nodes.
class Meeting {
 public:
  Meeting(const std::vector<Node>& nodes, std::size_t callers, int me) : nodes_(nodes), callers_(static_cast<int>(callers)) {
    const auto in = [&](const Node& node) { return std::find(node.callers.begin(), node.callers.end(), me); };
    while (in(nodes_[here_]) == nodes_[here_].callers.end()) ++here_;
    place_ = static_cast<std::size_t>(in(nodes_[here_]) - nodes_[here_].callers.begin());
  }
  [[nodiscard]] int helpers() const { return nodes_.back().first_helper + nodes_.back().helpers; }

  // Returns the meeting on this node, or null and the reason.
  [[nodiscard]] std::unique_ptr<communicator::Bootstrap> hold(int streams, std::string& why) const;
  // Makes the communicator. Returns null, with the reason, if that fails.
  [[nodiscard]] std::unique_ptr<communicator::Communicator> found(std::unique_ptr<communicator::Bootstrap> on_node,
                                                                  communicator::Bootstrap& callers,
                                                                  const choose::Settings& settings, std::string& why) const;

 private:
  // Returns the ranks of a node: its callers, and its helpers, which come behind all callers.
  [[nodiscard]] std::vector<std::int32_t> ranks_of(const Node& node) const {
    std::vector<std::int32_t> ranks(node.callers.begin(), node.callers.end());
    for (int i = 0; i < node.helpers; ++i) ranks.push_back(callers_ + node.first_helper + i);
    return ranks;
  }
  // Returns the places in ranks_of() of those for which a caller speaks: itself, and its share of the helpers.
  [[nodiscard]] static std::vector<std::size_t> spoken_for(const Node& node, std::size_t caller) {
    std::vector<std::size_t> places{caller};
    for (std::size_t at = caller; at < static_cast<std::size_t>(node.helpers); at += node.callers.size())
      places.push_back(node.callers.size() + at);
    return places;
  }
  [[nodiscard]] communicator::BetweenNodes exchange(communicator::Bootstrap& callers) const;

  const std::vector<Node>& nodes_;
  int callers_;
  std::size_t here_ = 0, place_ = 0;  // this caller's node, and its place among the node's callers
};

std::unique_ptr<communicator::Bootstrap> Meeting::hold(int streams, std::string& why) const {
  const Node& node = nodes_[here_];
  communicator::Invitation invitation;
  const auto here = static_cast<int>(node.callers.size());
  invitation.helpers = node.helpers;
  invitation.streams = streams;
  invitation.ranks = here + node.helpers;
  invitation.nodes = static_cast<std::int32_t>(nodes_.size());
  std::copy(node.meeting.begin(), node.meeting.end(), invitation.meeting.begin());
  const auto letters_by = communicator::Deadline::after(kMeetingSeconds / 2);
  for (int i = 0; place_ == 0 && i < node.helpers; ++i) {
    invitation.rank = here + i;
    static_cast<void>(communicator::invite(helpers_here().desks[static_cast<std::size_t>(i)], invitation, letters_by));
  }  // the meeting finds out who has not come
  const double patience = nodes_.size() > 1 ? kOverNodesSeconds : kMeetingSeconds;
  return communicator::meet_by_name(invitation.meeting.data(), static_cast<int>(place_), invitation.ranks,
                                    communicator::Deadline::after(patience), why);
}

// Callers gather what their nodes have said. A caller whose node could not be gathered says so, because all must take part.
communicator::BetweenNodes Meeting::exchange(communicator::Bootstrap& callers) const {
  return [this, &callers](std::span<const std::byte> of_node, std::byte* all, std::size_t bytes) {
    std::size_t most = 0;
    for (const Node& node : nodes_) most = std::max(most, spoken_for(node, 0).size());
    std::vector<std::byte> mine(most * bytes + 1), gathered(static_cast<std::size_t>(callers_) * mine.size());
    std::size_t at = 0;
    for (const std::size_t place : spoken_for(nodes_[here_], place_))
      if (!of_node.empty()) std::copy_n(of_node.begin() + static_cast<std::ptrdiff_t>(place * bytes), bytes, &mine[at++ * bytes]);
    mine.back() = std::byte{!of_node.empty()};
    if (!callers.allgather(mine.data(), gathered.data(), mine.size())) return false;
    bool good = true;
    for (const Node& node : nodes_) {
      const std::vector<std::int32_t> ranks = ranks_of(node);
      for (std::size_t caller = 0; caller < node.callers.size(); ++caller) {
        const std::byte* from = gathered.data() + static_cast<std::size_t>(node.callers[caller]) * mine.size();
        good = good && from[mine.size() - 1] != std::byte{0};
        for (const std::size_t place : spoken_for(node, caller)) {
          std::copy_n(from, bytes, all + static_cast<std::size_t>(ranks[place]) * bytes);
          from += bytes;
        }
      }
    }
    return good;
  };
}

std::unique_ptr<communicator::Communicator> Meeting::found(std::unique_ptr<communicator::Bootstrap> on_node,
                                                           communicator::Bootstrap& callers, const choose::Settings& settings,
                                                           std::string& why) const {
  if (nodes_.size() == 1) return communicator::Communicator::create(std::move(on_node), nullptr, settings, why, progress());
  communicator::Members members{callers_ + helpers(), helpers(), static_cast<std::int32_t>(here_), ranks_of(nodes_[here_])};
  why = "the ranks of a node could not be gathered, or there is no stream of messages left between their helpers";
  const auto told = std::make_shared<bool>(communicator::tell_members(*on_node, members));
  auto bootstrap = std::make_unique<communicator::OverNodes>(std::move(on_node), members, exchange(callers), told);
  if (communicator::agree_on_stream(*bootstrap, nullptr).stream < 0) return nullptr;
  auto no_wire = std::make_unique<communicator::NoWire>();
  auto made = communicator::Communicator::create(std::move(bootstrap), std::move(no_wire), settings, why, progress());
  return *told ? std::move(made) : nullptr;
}

}  // namespace

std::unique_ptr<communicator::ServedStreams> meet_helpers(communicator::Bootstrap& callers, std::span<const std::uint64_t> hosts,
                                                          int streams) {
  const auto me = static_cast<std::size_t>(callers.rank());
  const bool is_first_here = std::find(hosts.begin(), hosts.end(), hosts[me]) - hosts.begin() == callers.rank();
  if (is_first_here && !all_desks_are_open()) do_without_helpers(callers.rank(), "one of them has ended");
  Word mine{are_gone ? 0 : helpers_here().count, 0, helpers_here().desks[0], {}};
  if (is_first_here) {
    const std::string letters = communicator::unguessable();
    std::copy(letters.begin(), letters.end(), mine.meeting.begin());
  }
  std::vector<Word> all(hosts.size());
  if (!callers.allgather(&mine, all.data(), sizeof mine)) return nullptr;
  const std::vector<Node> nodes = nodes_of(all, hosts);
  if (nodes.empty()) return nullptr;
  const Meeting meeting(nodes, hosts.size(), callers.rank());
  std::string why;
  auto bootstrap = meeting.hold(streams, why);
  const auto all_are = [&](Met least) {
    return callers.allgather(&mine, all.data(), sizeof mine) &&
           std::all_of(all.begin(), all.end(), [&](const Word& word) { return word.met >= least; });
  };
  mine.met = bootstrap ? kCame : 0;
  if (!all_are(kCame)) {
    do_without_helpers(callers.rank(), "they did not come to one of " + std::to_string(callers.ranks()) + " ranks: " + why);
    return nullptr;
  }
  choose::Settings with_helpers = settings();
  with_helpers.helpers = meeting.helpers();
  with_helpers.streams = streams;
  std::unique_ptr<communicator::ServedStreams> met;
  if (auto made = meeting.found(std::move(bootstrap), callers, with_helpers, why))
    met = std::make_unique<communicator::ServedStreams>(std::move(made));
  mine.met = met ? kServed : kCame;
  if (all_are(kServed)) return met;
  if (callers.rank() == 0)
    note(kHelpers, "they do not serve a communicator of " + std::to_string(callers.ranks()) + " ranks: " + why);
  return nullptr;
}

}  // namespace copse::mpi
