// Making a communicator.
#include "communicator/communicator.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

#include "communicator/card.hpp"
#include "communicator/state.hpp"
#include "engine/reach/process.hpp"
#include "engine/reach/shared_memory.hpp"
#include "engine/trial.hpp"

namespace copse::communicator {
namespace {

using algorithms::Collective;
using engine::Mapping;

// Memory that others made is mapped once in this process, for all its threads and communicators; `number` tells apart
// what one process made. Null, with errno set, when that is refused.
constexpr std::uint64_t kHeapNumber = 0;
std::shared_ptr<Mapping> map_once(const Card &owner, int owner_fd, std::uint64_t number, std::size_t bytes) {
  static std::mutex mutex;
  static auto &known = *new std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<Mapping>>;  // as in this_machine()
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

engine::Geometry geometry_for(bool oversubscribed, int ranks) {
  engine::Geometry geometry;
  // Few lines stay in the first cache; many let a root run far ahead of ranks that have to wait for a processor.
  geometry.line_depth = oversubscribed ? 512 : 64;
  if (oversubscribed) {
    geometry.slots = {{{256, 1024}, {64, 8192}, {16, 65536}}};
  } else {
    // A slot is soonest filled when the reader's second cache has let go of it: few ranks' rings go round in 2 MiB.
    const auto large = std::max(8U, std::bit_floor(64U / static_cast<std::uint32_t>(ranks)));
    geometry.slots = {{{32, 1024}, {16, 8192}, {large, 65536}}};
  }
  return geometry;
}

// What a trial says, with the rank half the node away, and once among the same ranks; all 0 without one.
engine::Costs costs_between(const engine::Segment &segment, const std::vector<Card> &cards, const std::vector<int> &here,
                            const std::vector<engine::Peer> &peers, std::size_t me, bool kernel) {
  const auto half = here.size() / 2, mine = static_cast<std::size_t>(peers[me].local);
  if (mine >= 2 * half) return {};
  const std::size_t partner = mine < half ? mine + half : mine - half;
  const engine::Peer &peer = peers[static_cast<std::size_t>(here[partner])];
  if (peer.same_process) return {};
  static std::mutex mutex;
  static auto &known = *new std::map<std::vector<std::uint64_t>, engine::Costs>;
  std::vector<std::uint64_t> key{mine, kernel};
  for (const int rank : here) key.push_back(cards[static_cast<std::size_t>(rank)].process);
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const auto costs = engine::measure_costs(segment, static_cast<int>(mine), static_cast<int>(partner), kernel ? &peer : nullptr);
  const std::lock_guard lock(mutex);
  return known[key] = costs.value_or(engine::Costs{});
}

// What all ranks go by: the majority's stores, and the middle of what they found each thing to cost.
engine::Costs common(const std::vector<engine::Costs> &found) {
  engine::Costs result;
  std::ptrdiff_t sooner = 0;
  std::array<std::vector<float>, 4> costs;
  for (const engine::Costs &one : found) {
    if (one.write == 0) continue;
    sooner += one.streamed ? 1 : -1;
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i].push_back(std::array{one.write, one.read, one.kernel, one.past}[i]);
  }
  if (costs[0].empty()) return result;
  for (auto &each : costs) std::nth_element(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2), each.end());
  const std::size_t middle = costs[0].size() / 2;
  return {sooner > 0, costs[0][middle], costs[1][middle], costs[2][middle], costs[3][middle]};
}

// The other ranks begin to call when they have agreed: where this one fails after that, they must not wait for it.
class Pledge {
 public:
  Pledge(const engine::Segment &segment, int local, int rank) : given_up_(segment.given_up(local)), rank_(rank) {}
  Pledge(const Pledge &) = delete;
  Pledge &operator=(const Pledge &) = delete;
  ~Pledge() {
    if (!kept_) given_up_.store(rank_ + 1, std::memory_order_relaxed);
  }
  void keep() { kept_ = true; }

 private:
  std::atomic<std::int32_t> &given_up_;
  int rank_;
  bool kept_ = false;
};

}  // namespace

Communicator::Communicator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Communicator::~Communicator() = default;

int Communicator::rank() const { return state_->rank; }
int Communicator::ranks() const { return state_->ranks; }
const Capabilities &Communicator::capabilities() const { return state_->capabilities; }
const Trace &Communicator::trace() const { return state_->trace; }
void Communicator::give_up() { state_->executor->give_up(); }
std::size_t Communicator::element_bytes_max() { return geometry_for(false, 1).slots.back().bytes; }

std::unique_ptr<Communicator> Communicator::create(std::unique_ptr<Bootstrap> bootstrap,
                                                   std::unique_ptr<engine::Wire> wire,
                                                   const choose::Settings &settings, std::string &why_not,
                                                   std::shared_ptr<Progress> progress) {
  auto state = std::make_unique<State>();
  state->progress = std::move(progress);
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
  const engine::Geometry geometry = geometry_for(crowded, ranks);

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
    engine::Costs costs;
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
  if (tried.memory && !crowded && settings.slots == choose::SlotStores::measured)
    tried.costs = costs_between(engine::Segment(state->memory->base(), geometry), cards, here, peers, me, kernel_allowed);

  std::vector<Tried> all(cards.size());
  std::optional<Pledge> pledge;  // before the last word of the others: whatever follows may lack memory
  if (state->memory) pledge.emplace(engine::Segment(state->memory->base(), geometry), peers[me].local, rank);
  if (!bootstrap->allgather(&tried, all.data(), sizeof tried)) return refuse("the ranks could not be gathered");
  Tried agreed;
  agreed.memory = 1;
  std::vector<engine::Costs> found;
  for (std::size_t other = 0; other < all.size(); ++other) {
    agreed.memory &= all[other].memory;
    agreed.threads &= all[other].threads;
    if (agreed.heap && !all[other].heap && heap_why_not.empty())
      heap_why_not = "it does not work on rank " + std::to_string(other);
    if (agreed.kernel && !all[other].kernel && kernel_why_not.empty())
      kernel_why_not = "process_vm_readv does not work on rank " + std::to_string(other);
    found.push_back(all[other].costs);
    agreed.heap &= all[other].heap;
    agreed.kernel &= all[other].kernel;
  }
  for (std::size_t other = 0; other < offers.size(); ++other)
    if (offers[other].fd < 0 && offers[other].error != 0)
      return refuse("rank " + std::to_string(other) + " could not make common memory (memfd_create: " +
                    std::strerror(offers[other].error) +
                    "); let the sandbox allow it, or raise the limits on memory and file sizes (ulimit -f)");
  if (!agreed.memory)
    for (std::size_t other = 0; other < all.size(); ++other)
      if (!all[other].memory)
        return refuse("rank " + std::to_string(other) + " could not open or map the common memory of its node (" +
                      (other == me ? std::strerror(memory_error) : "it knows why") +
                      "); its processes need one user, one /proc and one PID namespace");
  const engine::Segment segment(state->memory->base(), geometry);
  if (!agreed.heap)
    for (engine::Peer &peer : peers) peer.heap_bytes = 0;

  const engine::Costs costs = common(found);
  using Stores = choose::SlotStores;
  const bool streamed = settings.slots == Stores::streamed || (settings.slots == Stores::measured && costs.streamed);
  state->capabilities = {nodes,
                         static_cast<int>(here.size()),
                         agreed.threads != 0,
                         agreed.heap != 0 && agreed.threads == 0,
                         agreed.kernel != 0,
                         crowded,
                         streamed,
                         heap_why_not,
                         kernel_why_not};
  state->situation.ranks = ranks;
  state->situation.nodes = nodes;
  state->situation.addressable =
      settings.reach != Limit::staged && (agreed.threads != 0 || agreed.kernel != 0 || agreed.heap != 0);
  state->situation.anywhere = state->situation.addressable && (agreed.threads != 0 || agreed.kernel != 0);
  state->situation.direct = agreed.threads != 0 || agreed.heap != 0;
  state->situation.oversubscribed = crowded;
  if (costs.kernel > 0) state->situation.costs = {costs.write, costs.read, costs.kernel};
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
  state->executor = std::make_unique<engine::Executor>(segment, std::move(peers), rank, policy, wire.get(), lost);
  state->executor->while_waiting([everything = state->progress.get()] { everything->idle(); });
  if (crowded) state->progress->set_crowded();
  if (!agreed.kernel && agreed.heap && !tried.threads) state->executor->publish_from_heap_only();
  if (const auto cache = last_cache_bytes(settings)) state->executor->stream_from(*cache);
  const float slow = costs.past > 0 ? costs.past : engine::SlotStores::kSlow;
  state->executor->store_slots({streamed, settings.slots == Stores::measured ? slow : 0});
  state->wire = std::move(wire);
  state->bootstrap = std::move(bootstrap);
  std::unique_ptr<Communicator> communicator(new Communicator(std::move(state)));
  pledge->keep();
  return communicator;
}

}  // namespace copse::communicator
