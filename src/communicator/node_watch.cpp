// Calls to nodes, and what their ends say.
#include "communicator/node_watch.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <utility>

#include "engine/signal/cancel.hpp"

namespace copse::communicator {
namespace {

using engine::Descriptor;
using engine::KeptDescriptor;

constexpr int kSilentCalls = 3;  // at least, before a node is lost
constexpr int kOfAKind = 3;  // quiet or suspect nodes that are called at a time

sockaddr_in at(std::uint32_t address, std::uint16_t port) {
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_addr.s_addr = address;
  where.sin_port = port;
  return where;
}

Descriptor make_socket() { return Descriptor(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)); }

bool is_silence(int state) {
  return state == EINPROGRESS || state == ETIMEDOUT || state == EHOSTUNREACH || state == ENETUNREACH || state == ENETDOWN ||
         state == EHOSTDOWN;
}

// A node that refuses a call has answered.
bool is_answer(int state) { return state == 0 || state == ECONNREFUSED || state == ECONNRESET; }

int begin_call(const KeptDescriptor& call, const sockaddr_in& where) {
  return connect(call.get(), reinterpret_cast<const sockaddr*>(&where), sizeof where) == 0 ? 0 : errno;
}

int state_of(const KeptDescriptor& call) {
  pollfd state{call.get(), POLLOUT, 0};
  if (poll(&state, 1, 0) <= 0) return EINPROGRESS;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(call.get(), SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : EBADF;
}

// Returns the addresses of IPv4 by which other nodes may know this one.
std::vector<std::uint32_t> addresses_of_this_node() {
  std::vector<std::uint32_t> result;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return result;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(all, &freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    constexpr unsigned kUp = IFF_UP | IFF_RUNNING;
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & kUp) != kUp || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    sockaddr_in address{};
    std::memcpy(&address, each->ifa_addr, sizeof address);
    result.push_back(address.sin_addr.s_addr);
  }
  return result;
}

}  // namespace

NodeWatch::NodeWatch(std::chrono::seconds limit, std::uint64_t host, std::vector<std::uint32_t> mine)
    : limit_(limit), mine_(std::move(mine)) {
  card_.host = host;
  std::copy_n(mine_.begin(), std::min(mine_.size(), NodeCard::kAddresses), card_.addresses.begin());
  if (limit.count() == 0 || mine_.empty()) return;
  Descriptor any = make_socket();
  sockaddr_in where = at(htonl(INADDR_ANY), 0);
  socklen_t size = sizeof where;
  auto* const address = reinterpret_cast<sockaddr*>(&where);
  if (!any || bind(any.get(), address, size) != 0 || getsockname(any.get(), address, &size) != 0) return;
  port_ = KeptDescriptor(std::move(any));
  if (port_) card_.port = where.sin_port;
}

NodeWatch::~NodeWatch() {
  const engine::CancelDeferred deferred;  // descriptors are closed
  port_ = {};
  calls_ = {};
}

// An address that another node has as well, this one or a third, does not say who answers: networks of containers have the same
// addresses on all nodes.
void NodeWatch::begin(std::span<const NodeCard> all, int me) {
  std::map<std::uint64_t, int> numbers;
  std::map<std::uint32_t, int> owners;
  for (const NodeCard& card : all) {
    const auto [entry, fresh] = numbers.try_emplace(card.host, static_cast<int>(nodes_.size()));
    node_of_.push_back(entry->second);
    if (!fresh) continue;
    nodes_.push_back({.addresses = card.addresses, .port = card.port});
    for (const std::uint32_t address : card.addresses) ++owners[address];
  }
  my_node_ = node_of(me);
  for (const std::uint32_t address : mine_) owners[address] = 2;
  owners[0] = 2;
  for (Node& node : nodes_) {
    auto& to = node.addresses;
    std::fill(std::remove_if(to.begin(), to.end(), [&](std::uint32_t address) { return owners[address] > 1; }), to.end(), 0);
    if (to.front() == 0) node.port = 0;
  }
  const auto first = std::find(node_of_.begin(), node_of_.end(), my_node_);
  if (nodes_.size() == 1 || first - node_of_.begin() != me) port_ = {};
}

// Returns how long a call lasts that gets no answer, and how long after the last call to a node the next one begins.
std::chrono::seconds NodeWatch::pause() const { return std::clamp(limit_ / 12, std::chrono::seconds(1), std::chrono::seconds(15)); }

int NodeWatch::rank_on(int node, std::span<const int> processes) const {
  const std::size_t ranks = processes.empty() ? node_of_.size() : processes.size();
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (node_of(processes.empty() ? static_cast<int>(rank) : processes[rank]) == node) return static_cast<int>(rank);
  return -1;
}

bool NodeWatch::is_lost(const Node& node, Clock::time_point now) const {
  return node.silent >= kSilentCalls && now - node.silent_since >= limit_;
}

NodeWatch::Kind NodeWatch::kind(const Node& node, Clock::time_point now) const {
  if (node.answered == 0 || is_lost(node, now)) return Kind::quiet;
  return node.silent > 0 ? Kind::suspect : Kind::sound;
}

// Hears what came of the calls, and ends them if there is an answer, or if they have lasted long enough. Only addresses count at
// which the node has answered before. What the system or the program has done to a call says nothing about the node.
void NodeWatch::hear(Calls& calls, Clock::time_point now) {
  Node& node = node_at(calls.node);
  bool answers = false, silent = node.answered != 0;
  for (std::size_t i = 0; i < calls.to.size(); ++i) {
    if (node.addresses[i] == 0) continue;
    Call& call = calls.to[i];
    if (call.end && !call.end.is_sound()) call.state = EBADF;
    else if (call.state == EINPROGRESS) call.state = state_of(call.end);
    const unsigned bit = 1U << i;
    if (call.state == 0) node.port = 0;  // somebody listens there now, and may not take every call
    if (is_answer(call.state)) node.answered = static_cast<std::uint16_t>(node.answered | bit);
    answers = answers || is_answer(call.state);
    silent = silent && ((node.answered & bit) == 0 || is_silence(call.state));
  }
  if (!answers && now - node.called < pause()) return;
  if (answers || !silent) node.silent = 0;
  else if (node.silent++ == 0) node.silent_since = node.called;
  calls = Calls{};
}

// Returns the node that is to be called, or -1. Suspects come first. A call without an answer lasts long, so few are under way to
// nodes that may not give any, and the sound ones are called meanwhile.
int NodeWatch::next_to_call(Clock::time_point now) {
  std::array<int, 3> underway{};
  const auto of_kind = [&](const Node& node) -> int& { return underway[static_cast<std::size_t>(kind(node, now))]; };
  for (const Calls& each : calls_)
    if (each.node >= 0) ++of_kind(node_at(each.node));
  const auto may_call = [&](int number) {
    const Node& node = node_at(number);
    if (number == my_node_ || node.port == 0 || now - node.called < pause()) return false;
    return kind(node, now) == Kind::sound || of_kind(node) < kOfAKind;
  };
  const int nodes = static_cast<int>(nodes_.size());
  for (int number = 0; number < nodes; ++number)
    if (kind(node_at(number), now) == Kind::suspect && may_call(number)) return number;
  for (int i = 0; i < nodes; ++i)
    if (const int number = std::exchange(next_, (next_ + 1) % nodes); may_call(number)) return number;
  return -1;
}

// One call for each look is enough for thousands of nodes, and does not flood a network in which thousands of ranks wait.
void NodeWatch::call_one_more(Clock::time_point now) {
  const auto place = std::find_if(calls_.begin(), calls_.end(), [](const Calls& each) { return each.node < 0; });
  const int number = place == calls_.end() ? -1 : next_to_call(now);
  if (number < 0) return;
  Node& node = node_at(number);
  node.called = now;
  place->node = number;
  for (std::size_t i = 0; i < place->to.size() && node.addresses[i] != 0; ++i) {
    Call& call = place->to[i];
    call.end = KeptDescriptor(make_socket());
    call.state = call.end ? begin_call(call.end, at(node.addresses[i], node.port)) : EMFILE;
  }
  hear(*place, now);
}

// What was silent before a long time without looks may not be so any more.
void NodeWatch::look(Clock::time_point now) {
  const bool is_late = now - std::exchange(looked_, now) >= 4 * pause();
  for (Calls& each : calls_)
    if (each.node >= 0) hear(each, now);
  if (is_late)
    for (Node& node : nodes_) node.silent = 0;
  call_one_more(now);
}

int NodeWatch::lost(std::span<const int> processes, Clock::time_point since) {
  const engine::CancelDeferred deferred;
  const std::lock_guard lock(mutex_);
  if (limit_.count() == 0 || nodes_.size() < 2) return -1;
  const auto now = Clock::now();
  look(now);
  if (now - since < limit_) return -1;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const int rank = is_lost(nodes_[i], now) ? rank_on(static_cast<int>(i), processes) : -1;
    if (rank >= 0) return rank;
  }
  return -1;
}

std::unique_ptr<NodeWatch> watch_nodes(std::chrono::seconds limit, std::uint64_t host, int me, int processes,
                                       const std::function<bool(const void*, void*, std::size_t)>& allgather) {
  const engine::CancelDeferred deferred;
  auto watch = std::make_unique<NodeWatch>(limit, host, addresses_of_this_node());
  std::vector<NodeCard> all(static_cast<std::size_t>(processes));
  if (!allgather(&watch->card(), all.data(), sizeof all.front())) return nullptr;
  watch->begin(all, me);
  return watch;
}

}  // namespace copse::communicator
