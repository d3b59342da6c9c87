// Making a communicator, and running calls on it.
#include "communicator/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "choose/chooser.hpp"
#include "communicator/card.hpp"
#include "engine/reach/process.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {
namespace {

using algorithms::Collective;
using engine::Mapping;

// Memory that others made is mapped once in this process, for all its threads and communicators; `number` tells apart
// what one process made. Null, with errno set, when that is refused.
constexpr std::uint64_t kHeapNumber = 0;
std::shared_ptr<Mapping> map_once(const Card &owner, int owner_fd, std::uint64_t number, std::size_t bytes) {
  static std::mutex mutex;
  static std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Mapping>> known;
  const std::lock_guard lock(mutex);
  std::erase_if(known, [](const auto &entry) { return entry.second.expired(); });
  std::weak_ptr<Mapping> &entry = known[{owner.process, number}];
  std::shared_ptr<Mapping> mapping = entry.lock();
  if (mapping) return mapping;
  const bool own = owner.pid == getpid();  // then /proc is not needed
  const engine::Descriptor opened = own ? engine::Descriptor{} : engine::open_shared_memory(owner.pid, owner_fd);
  if (!own && !opened) return nullptr;
  mapping = std::make_shared<Mapping>(own ? owner_fd : opened.get(), bytes);
  if (!*mapping) return nullptr;
  entry = mapping;
  return mapping;
}

engine::Geometry geometry_for(bool oversubscribed) {
  engine::Geometry geometry;
  // Few lines stay in the first cache; many let a root run far ahead of ranks that have to wait for a processor.
  geometry.line_depth = oversubscribed ? 512 : 16;
  if (oversubscribed) {
    geometry.slots = {{{256, 1024}, {64, 8192}, {16, 65536}}};
  } else {
    geometry.slots = {{{32, 1024}, {16, 8192}, {8, 65536}}};
  }
  return geometry;
}

// Calls of one collective with sizes that are treated alike share a decision.
constexpr std::size_t kBuckets = 72;
std::size_t bucket_of(std::size_t bytes) {
  if (bytes <= 64) return static_cast<std::size_t>(std::bit_width(bytes));
  if (bytes <= plan::kLinePayloadBytes) return 8;
  return 9 + static_cast<std::size_t>(std::bit_width(bytes - 1)) - 7;
}
std::size_t largest_of(std::size_t bucket) {
  if (bucket < 8) return std::min<std::size_t>(64, (std::size_t{1} << bucket) - 1);
  if (bucket == 8) return plan::kLinePayloadBytes;
  return std::size_t{1} << (bucket - 9 + 7);
}

}  // namespace

struct Communicator::State {
  struct Route {
    choose::Decision decision;
    std::vector<const engine::Program *> by_root;
    Tally *tally = nullptr;
  };

  std::unique_ptr<Bootstrap> bootstrap;
  std::unique_ptr<engine::Wire> wire;
  choose::Settings settings;
  Capabilities capabilities;
  choose::Situation situation;
  topology::Placement places;
  std::shared_ptr<Mapping> memory;
  std::vector<std::shared_ptr<Mapping>> heaps;
  std::vector<pid_t> pids;
  std::unique_ptr<engine::Executor> executor;
  // [collective][ordered][bucket]
  std::array<std::array<std::array<std::unique_ptr<Route>, kBuckets>, 2>, algorithms::kCollectives> routes;
  std::map<std::tuple<const algorithms::Algorithm *, plan::Carrier, int, int>, engine::Program> programs;
  Trace trace;
  int rank = 0, ranks = 1;
  Collective running{};

  const engine::Program &program_for(const choose::Decision &decision, int root);
  Route &make_route(Collective collective, bool ordered, std::size_t bucket);
  Outcome run(Collective collective, engine::Call &call, int root, bool ordered);
  Outcome run_program(const Route &route, const engine::Program &program, engine::Call &call);
};

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->rank; }
int Communicator::ranks() const { return state_->ranks; }
const Capabilities &Communicator::capabilities() const { return state_->capabilities; }
const Trace &Communicator::trace() const { return state_->trace; }
std::size_t Communicator::element_bytes_max() { return geometry_for(false).slots.back().bytes; }

std::unique_ptr<Communicator> Communicator::create(std::unique_ptr<Bootstrap> bootstrap,
                                                   std::unique_ptr<engine::Wire> wire,
                                                   const choose::Settings &settings, std::string &why_not) {
  auto state = std::make_unique<State>();
  const int rank = bootstrap->rank(), ranks = bootstrap->ranks();
  const auto me = static_cast<std::size_t>(rank);
  const auto refuse = [&](std::string why) {
    why_not = std::move(why);
    return nullptr;
  };

  // 1. Everybody's card.
  std::vector<Card> cards(static_cast<std::size_t>(ranks));
  const Card mine = my_card(settings, rank, ranks);
  if (!bootstrap->allgather(&mine, cards.data(), sizeof mine)) return refuse("the ranks could not be gathered");
  for (const Card &card : cards)
    if (card.settings != cards.front().settings)
      return refuse("rank " + std::to_string(&card - cards.data()) +
                    " has other COPSE_ variables than rank 0; give all ranks the same environment");
  state->places = placement_of(cards, settings);
  const bool crowded = oversubscribed(cards);
  const engine::Geometry geometry = geometry_for(crowded);

  std::vector<int> here;  // the ranks of my node
  int nodes = 0;
  for (int other = 0; other < ranks; ++other) {
    const Card &card = cards[static_cast<std::size_t>(other)];
    if (card.place.host == mine.place.host) here.push_back(other);
    nodes += std::none_of(cards.begin(), cards.begin() + other,
                          [&](const Card &earlier) { return earlier.place.host == card.place.host; });
  }
  if (nodes > 1 && wire == nullptr) return refuse("the ranks sit on several nodes, and there is no wire between them");

  // 2. The first rank of each node makes the memory; the others open it.
  struct Offer {
    std::int32_t fd = -1, error = 0;
    std::uint64_t number = 0;
  };
  const auto leader = static_cast<std::size_t>(here.front());
  const std::size_t bytes = engine::Segment::bytes(geometry, static_cast<int>(here.size()));
  engine::Descriptor made;
  Offer offer;
  if (leader == me) {
    made = engine::make_shared_memory("copse", bytes);
    static std::atomic<std::uint64_t> last{kHeapNumber};
    offer = {made.get(), errno, ++last};
  }
  std::vector<Offer> offers(cards.size());
  if (!bootstrap->allgather(&offer, offers.data(), sizeof offer)) return refuse("the ranks could not be gathered");

  // 3. Try everything that will be relied on, and agree on what works for all.
  struct Tried {
    std::uint8_t memory = 0, heap = 1, kernel = 1, threads = 1;
  };
  Tried tried;
  if (offers[leader].fd >= 0)
    state->memory = map_once(cards[leader], offers[leader].fd, offers[leader].number, bytes);
  tried.memory = state->memory ? 1 : 0;
  const int memory_error = errno;

  using Limit = choose::ReachLimit;
  const bool heap_allowed = settings.reach == Limit::any || settings.reach == Limit::direct;
  const bool kernel_allowed = settings.reach == Limit::any || settings.reach == Limit::kernel;
  std::vector<engine::Peer> peers(cards.size());
  std::string heap_why_not = heap_allowed ? "" : "COPSE_REACH forbids it";
  std::string kernel_why_not = kernel_allowed ? "" : "COPSE_REACH forbids it";
  for (std::size_t local = 0; local < here.size(); ++local) {
    const auto other = static_cast<std::size_t>(here[local]);
    const Card &card = cards[other];
    engine::Peer &peer = peers[other];
    peer.local = static_cast<int>(local);
    peer.pid = card.pid;
    peer.same_process = card.process == mine.process;
    if (other == me) {  // where my own buffers must lie to be reached
      peer.heap_base = card.heap_base;
      peer.heap_bytes = card.heap_bytes;
    }
    if (peer.same_process) continue;
    tried.threads = 0;
    if (!heap_allowed) continue;
    if (mine.heap_bytes == 0) {
      heap_why_not = "no shared heap: " + communicator::heap_why_not();
      continue;
    }
    if (card.heap_bytes == 0) {
      heap_why_not = "rank " + std::to_string(other) + " runs without the shared heap";
      continue;
    }
    if (const auto heap = map_once(card, card.heap_fd, kHeapNumber, card.heap_bytes)) {
      state->heaps.push_back(heap);
      peer.heap_base = card.heap_base;
      peer.heap_bytes = card.heap_bytes;
      peer.heap_here = heap->base();
    } else {
      heap_why_not = "rank " + std::to_string(rank) + " could not map the shared heap of rank " +
                     std::to_string(other) + ": " + std::strerror(errno);
    }
  }
  tried.heap = heap_why_not.empty() ? 1 : 0;
  if (kernel_allowed) {
    const auto next = static_cast<std::size_t>(here[(static_cast<std::size_t>(peers[me].local) + 1) % here.size()]);
    if (!peers[next].same_process && !probe_kernel_reach(cards[next]))
      kernel_why_not = "process_vm_readv of rank " + std::to_string(next) + " failed on rank " + std::to_string(rank) +
                       ": " + std::strerror(errno);
  }
  tried.kernel = kernel_why_not.empty() ? 1 : 0;

  std::vector<Tried> all(cards.size());
  if (!bootstrap->allgather(&tried, all.data(), sizeof tried)) return refuse("the ranks could not be gathered");
  Tried agreed;
  agreed.memory = 1;
  for (std::size_t other = 0; other < all.size(); ++other) {
    agreed.memory &= all[other].memory;
    agreed.threads &= all[other].threads;
    if (agreed.heap && !all[other].heap && heap_why_not.empty())
      heap_why_not = "it does not work on rank " + std::to_string(other);
    if (agreed.kernel && !all[other].kernel && kernel_why_not.empty())
      kernel_why_not = "process_vm_readv does not work on rank " + std::to_string(other);
    agreed.heap &= all[other].heap;
    agreed.kernel &= all[other].kernel;
  }
  for (std::size_t other = 0; other < offers.size(); ++other)
    if (offers[other].fd < 0 && offers[other].error != 0)
      return refuse("rank " + std::to_string(other) + " could not make common memory (memfd_create: " +
                    std::strerror(offers[other].error) + "); let the sandbox allow it, or raise the memory limit");
  if (!agreed.memory)
    for (std::size_t other = 0; other < all.size(); ++other)
      if (!all[other].memory)
        return refuse("rank " + std::to_string(other) + " could not open or map the common memory of its node (" +
                      (other == me ? std::strerror(memory_error) : "it knows why") +
                      "); its processes need one user, one /proc and one PID namespace");
  if (!agreed.heap)
    for (engine::Peer &peer : peers) peer.heap_bytes = 0;

  state->capabilities = {nodes,
                         static_cast<int>(here.size()),
                         agreed.threads != 0,
                         agreed.heap != 0 && agreed.threads == 0,
                         agreed.kernel != 0,
                         crowded,
                         heap_why_not,
                         kernel_why_not};
  state->situation.ranks = ranks;
  state->situation.nodes = nodes;
  state->situation.addressable =
      settings.reach != Limit::staged && (agreed.threads != 0 || agreed.kernel != 0 || agreed.heap != 0);
  state->situation.direct = agreed.threads != 0 || agreed.heap != 0;
  state->situation.oversubscribed = crowded;
  state->situation.numa = shape::groups(state->places, topology::Level::numa) > nodes;

  for (const Card &card : cards) state->pids.push_back(card.pid);
  State *const raw = state.get();
  const auto lost = [raw](int other) {
    const pid_t pid = raw->pids[static_cast<std::size_t>(other)];
    return pid != getpid() && engine::process_ended(pid);
  };
  const engine::WaitPolicy policy =
      crowded ? engine::WaitPolicy::oversubscribed() : engine::WaitPolicy::dedicated();
  state->rank = rank;
  state->ranks = ranks;
  state->settings = settings;
  state->executor = std::make_unique<engine::Executor>(engine::Segment(state->memory->base(), geometry),
                                                       std::move(peers), rank, policy, wire.get(), lost);
  if (!agreed.kernel && agreed.heap && !tried.threads) state->executor->publish_from_heap_only();
  state->wire = std::move(wire);
  state->bootstrap = std::move(bootstrap);
  return std::unique_ptr<Communicator>(new Communicator(std::move(state)));
}

// Calls -----------------------------------------------------------------------------------------------------

const engine::Program &Communicator::State::program_for(const choose::Decision &decision, int root) {
  const auto key = std::make_tuple(decision.algorithm, decision.carrier, decision.radix, root);
  auto at = programs.find(key);
  if (at == programs.end()) {
    algorithms::Request request;
    request.rank = rank;
    request.ranks = ranks;
    request.root = root;
    request.carrier = decision.carrier;
    request.radix = decision.radix;
    request.places = &places;
    at = programs.emplace(key, executor->prepare(decision.algorithm->build(request))).first;
  }
  return at->second;
}

Communicator::State::Route &Communicator::State::make_route(Collective collective, bool ordered, std::size_t bucket) {
  auto &entry = routes[static_cast<std::size_t>(collective)][ordered][bucket];
  entry = std::make_unique<Route>();
  entry->decision = choose::choose(settings, situation, collective, largest_of(bucket), ordered);
  entry->by_root.resize(static_cast<std::size_t>(ranks));
  entry->tally = &trace.ran[{std::string(algorithms::name_of(collective)),
                             std::string(entry->decision.algorithm->name) + " " +
                                 plan::name_of(entry->decision.carrier)}];
  return *entry;
}

Outcome Communicator::State::run_program(const Route &route, const engine::Program &program, engine::Call &call) {
  std::size_t fragment_bytes = route.decision.fragment_bytes;
  const std::size_t bytes = call.count * call.element_bytes;
  if (route.decision.halves && bytes >= choose::kHalvesFrom) fragment_bytes = (bytes + 1) / 2;
  if (program.one_fragment) {
    call.fragment_count = 0;
  } else {
    const std::size_t slot_bytes_max = executor->geometry().slots.back().bytes;
    if (program.slots && (fragment_bytes == 0 || fragment_bytes > slot_bytes_max)) fragment_bytes = slot_bytes_max;
    if (fragment_bytes > 0) call.fragment_count = std::max<std::size_t>(1, fragment_bytes / call.element_bytes);
  }
  if (program.slots) {
    const std::size_t count = call.fragments() == 1 ? call.count : call.fragment_count;
    call.slot_class = executor->geometry().class_for(count * call.element_bytes);
  }
  return executor->run(program, call);
}

Outcome Communicator::State::run(Collective collective, engine::Call &call, int root, bool ordered) {
  const std::size_t bytes = call.count * call.element_bytes;
  const std::size_t bucket = bucket_of(bytes);
  const auto &entry = routes[static_cast<std::size_t>(collective)][ordered][bucket];
  Route &route = entry ? *entry : make_route(collective, ordered, bucket);
  const engine::Program *&program = route.by_root[static_cast<std::size_t>(root)];
  if (program == nullptr) program = &program_for(route.decision, root);
  running = collective;
  if (!settings.trace) return run_program(route, *program, call);
  const auto start = std::chrono::steady_clock::now();
  const Outcome outcome = run_program(route, *program, call);
  route.tally->add(bytes, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return outcome;
}

Outcome Communicator::barrier() {
  if (state_->ranks == 1) return Outcome::done;
  engine::Call call;
  call.element_bytes = 0;
  return state_->run(Collective::barrier, call, 0, false);
}

Outcome Communicator::broadcast(void *buffer, std::size_t bytes, int root) {
  if (bytes == 0 || state_->ranks == 1) return Outcome::done;
  engine::Call call;
  call.input = call.output = buffer;
  call.count = bytes;
  return state_->run(Collective::broadcast, call, root, false);
}

namespace {

engine::Call reduction(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                       const engine::Combine &combine) {
  engine::Call call;
  call.input = input;
  call.output = output;
  call.count = count;
  call.element_bytes = element_bytes;
  call.combine = &combine;
  return call;
}

}  // namespace

Outcome Communicator::reduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                             const engine::Combine &combine, int root) {
  if (count == 0) return Outcome::done;
  if (state_->ranks == 1) {
    if (input != output) std::memcpy(output, input, count * element_bytes);
    return Outcome::done;
  }
  // Other ranks' output means nothing, and may be anything.
  engine::Call call = reduction(input, rank() == root ? output : nullptr, count, element_bytes, combine);
  return state_->run(Collective::reduce, call, root, !combine.commutative);
}

Outcome Communicator::allreduce(const void *input, void *output, std::size_t count, std::size_t element_bytes,
                                const engine::Combine &combine) {
  if (count == 0) return Outcome::done;
  if (state_->ranks == 1) {
    if (input != output) std::memcpy(output, input, count * element_bytes);
    return Outcome::done;
  }
  engine::Call call = reduction(input, output, count, element_bytes, combine);
  return state_->run(Collective::allreduce, call, 0, !combine.commutative);
}

// Checking and explaining -----------------------------------------------------------------------------------

namespace {

struct Announcement {
  std::int32_t collective = 0;
  std::int32_t root = 0;
  std::uint64_t count = 0, element_bytes = 0;
  std::array<char, 64> operation{};

  friend bool operator==(const Announcement &, const Announcement &) = default;
  [[nodiscard]] std::string text() const {
    const auto kind = static_cast<Collective>(collective);
    std::string result(algorithms::name_of(kind));
    if (kind == Collective::barrier) return result;
    if (kind == Collective::broadcast) {
      result += " of " + std::to_string(count * element_bytes) + " bytes";
    } else {
      result += " of " + std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes";
      if (operation[0] != 0) result += ", " + std::string(operation.data());
    }
    if (kind != Collective::allreduce) result += ", root " + std::to_string(root);
    return result;
  }
};

}  // namespace

std::string Communicator::compare(Collective collective, int root, std::size_t count, std::size_t element_bytes,
                                  const char *operation) {
  Announcement mine;
  mine.collective = static_cast<std::int32_t>(collective);
  mine.root = root;
  mine.count = collective == Collective::broadcast ? count * element_bytes : count;
  mine.element_bytes = collective == Collective::broadcast ? 1 : element_bytes;
  if (operation != nullptr) std::snprintf(mine.operation.data(), mine.operation.size(), "%s", operation);
  std::vector<Announcement> all(static_cast<std::size_t>(state_->ranks));
  if (!state_->bootstrap->allgather(&mine, all.data(), sizeof mine)) return "the ranks could not be compared: one has ended, or calls nothing at all";
  for (std::size_t other = 1; other < all.size(); ++other)
    if (!(all[other] == all[0]))
      return "the ranks do not call the same: rank 0 calls " + all[0].text() + ", but rank " +
             std::to_string(other) + " calls " + all[other].text();
  return {};
}

std::string Communicator::explain(Outcome outcome) const {
  const std::string call = std::string(algorithms::name_of(state_->running)) + " among " +
                           std::to_string(state_->ranks) + " ranks";
  const int lost = state_->executor->lost_rank();
  switch (outcome) {
    case Outcome::done: return call + " is done";
    case Outcome::peer_lost:
      return call + ": rank " + std::to_string(lost) + " (process " +
             std::to_string(state_->pids[static_cast<std::size_t>(lost)]) + ") has ended before it took its part";
    case Outcome::peer_failed:
      return call + ": rank " + std::to_string(lost) + " has given up, for a reason that its own message tells";
    case Outcome::wire_failed: return call + ": a message between nodes failed";
    case Outcome::reach_failed:
      return call + ": reading or writing another rank's buffer failed (" + std::strerror(errno) +
             "); is every buffer as long as its count says? COPSE_REACH=staged avoids such accesses";
  }
  return call;
}

}  // namespace copse::communicator
