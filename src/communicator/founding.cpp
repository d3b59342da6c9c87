// Founds a group. The ranks show one another their cards, share memory, try what will be relied on, and agree.
#include "communicator/founding.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "choose/chooser.hpp"
#include "choose/recorded.hpp"
#include "communicator/card.hpp"
#include "communicator/foundation.hpp"
#include "communicator/reach.hpp"
#include "engine/trial.hpp"

namespace copse::communicator {
namespace {

// Says why the ranks have no memory for another communicator. The text is empty if they have. All ranks say the same.
std::string why_no_room(const std::vector<Card>& cards) {
  std::map<std::uint64_t, std::uint64_t> needed;  // by host
  for (const Card& card : cards) needed[card.place.host] += kRoomOfRank;
  for (const Card& card : cards) {
    const std::string who = std::to_string(&card - cards.data());
    if (card.has_room == 0) return "COPSE_MEMORY allows rank " + who + " less than 4 MiB more";
    if (card.left_by_cgroups < needed[card.place.host])
      return "a cgroup of rank " + who + " allows less than 4 MiB more for each rank of the node";
  }
  return {};
}

}  // namespace

void decline(Bootstrap& bootstrap) {
  Card mine;
  mine.build = build_id();
  mine.settings = Card::kDeclined;
  std::vector<Card> cards(static_cast<std::size_t>(bootstrap.ranks()));
  static_cast<void>(bootstrap.allgather(&mine, cards.data(), sizeof mine));
}

namespace {

// Step 1: every rank gathers all cards.
std::optional<Census> take_census(Bootstrap& bootstrap, const choose::Settings& settings, std::string& why_not) {
  Census census;
  census.rank = bootstrap.rank();
  census.cards.resize(static_cast<std::size_t>(bootstrap.ranks()));
  Card mine = my_card(settings, bootstrap.rank(), bootstrap.ranks());
  mine.place.host = bootstrap.host().value_or(mine.place.host);
  if (const Region* const region = bootstrap.region()) {
    mine.heap_base = reinterpret_cast<std::uint64_t>(region->base);
    mine.heap_bytes = region->bytes;
    mine.heap_fd = region->fd;
    mine.heap_file = region->file;
  }
  if (!bootstrap.allgather(&mine, census.cards.data(), sizeof mine)) {
    why_not = kNotGathered;
    return std::nullopt;
  }
  const std::vector<Card>& cards = census.cards;
  for (const Card& card : cards) {
    const bool declined = card.settings == Card::kDeclined, same_build = card.build == cards.front().build;
    if (!declined && same_build && card.settings == cards.front().settings) continue;
    why_not = "rank " + std::to_string(&card - cards.data()) +
              (!same_build ? " runs another build of Copse than rank 0; give all ranks the same library"
               : declined  ? " has a mistake in its COPSE_ variables, which it names"
                           : " has other COPSE_ variables than rank 0; give all ranks the same environment");
    return std::nullopt;
  }
  why_not = why_no_room(cards);
  if (!why_not.empty()) return std::nullopt;
  std::set<std::uint64_t> hosts;
  for (int other = 0; other < bootstrap.ranks(); ++other) {
    const Card& card = census.card(other);
    if (card.place.host == mine.place.host) census.here.push_back(other);
    hosts.insert(card.place.host);
  }
  census.nodes = static_cast<int>(hosts.size());
  return census;
}

// What a rank finds in step 3, in which it tries what will be relied on.
struct Tried {
  topology::Place place;
  std::uint8_t memory = 0, heap = 1, kernel = 1, threads = 1;
  engine::Costs costs;
};

// Returns how many ranks of the same process on this node come before this rank.
std::uint64_t number_in_process(const Census& census, std::size_t local) {
  const auto process = [&](std::size_t at) { return census.card(census.here[at]).process; };
  std::uint64_t before = 0;
  for (std::size_t at = 0; at < local; ++at) before += process(at) == process(local) ? 1 : 0;
  return before;
}

// Returns what a trial says about this rank and the rank half the node away. Two ranks of two processes run the trial only once.
// Without a trial, all costs are 0.
engine::Costs costs_between(const engine::Segment& segment, const Census& census, const std::vector<engine::Peer>& peers,
                            bool kernel) {
  const std::vector<int>& here = census.here;
  const auto me = static_cast<std::size_t>(census.rank);
  const auto half = here.size() / 2, mine = static_cast<std::size_t>(peers[me].local);
  if (mine >= 2 * half) return {};
  const std::size_t partner = mine < half ? mine + half : mine - half;
  const engine::Peer& peer = peers[static_cast<std::size_t>(here[partner])];
  if (peer.same_process) return {};
  static std::mutex mutex;
  static auto& known = *new std::map<std::array<std::uint64_t, 5>, engine::Costs>;
  const std::array<std::uint64_t, 5> key{census.card(census.rank).process, number_in_process(census, mine),
                                         census.card(here[partner]).process, number_in_process(census, partner), kernel ? 1U : 0U};
  {
    const std::lock_guard lock(mutex);
    if (const auto found = known.find(key); found != known.end()) return found->second;
  }
  const auto costs = engine::measure_costs(segment, static_cast<int>(mine), static_cast<int>(partner), kernel ? &peer : nullptr);
  const std::lock_guard lock(mutex);
  engine::Costs& entry = known[key];  // if this trial gave no result, that of another thread of the process
  if (costs) entry = *costs;
  return entry;
}

// Returns the costs that all ranks go by: the stores that the majority found faster, and the median of each cost.
engine::Costs common(const std::vector<engine::Costs>& found) {
  engine::Costs result;
  std::ptrdiff_t sooner = 0;
  std::array<std::vector<float>, 4> costs;
  for (const engine::Costs& one : found) {
    const std::array all{one.write, one.read, one.kernel, one.past};
    if (one.write == 0 || !std::all_of(all.begin(), all.end(), [](float cost) { return cost >= 0 && cost < 1e9F; })) continue;
    sooner += one.streamed ? 1 : -1;
    for (std::size_t i = 0; i < costs.size(); ++i) costs[i].push_back(all[i]);
  }
  if (costs[0].empty()) return result;
  for (auto& each : costs) std::nth_element(each.begin(), each.begin() + static_cast<std::ptrdiff_t>(each.size() / 2), each.end());
  const std::size_t middle = costs[0].size() / 2;
  return {sooner > 0, costs[0][middle], costs[1][middle], costs[2][middle], costs[3][middle]};
}

// The result of step 4, in which the ranks agree on what works for all of them.
struct Agreed {
  bool memory = true, heap = true, kernel = true, threads = true, leaders = false;
  engine::Costs costs;
};
// Makes step 4. Writes into `reach` why something does not work. If the heap does not work for all ranks, it is removed from
// `reach`.
Agreed agree(const std::vector<Tried>& all, Reach& reach) {
  Agreed agreed;
  std::vector<engine::Costs> found;
  for (std::size_t other = 0; other < all.size(); ++other) {
    agreed.memory = agreed.memory && all[other].memory != 0;
    agreed.threads = agreed.threads && all[other].threads != 0;
    if (agreed.heap && !all[other].heap && reach.heap_why_not.empty())
      reach.heap_why_not = "it does not work on rank " + std::to_string(other);
    if (agreed.kernel && !all[other].kernel && reach.kernel_why_not.empty())
      reach.kernel_why_not = "process_vm_readv does not work on rank " + std::to_string(other);
    found.push_back(all[other].costs);
    agreed.heap = agreed.heap && all[other].heap != 0;
    agreed.kernel = agreed.kernel && all[other].kernel != 0;
  }
  agreed.costs = common(found);
  if (!agreed.heap) {
    for (engine::Peer& peer : reach.peers) peer.heap_bytes = 0;
    reach.heaps.clear();  // mapped heaps take addresses that the program may need
  }
  return agreed;
}

std::string why_no_memory(const CommonMemory& memory, const std::vector<Tried>& all, const Agreed& agreed, int rank) {
  if (std::string why = memory.why_not_made(); !why.empty()) return why;
  for (std::size_t other = 0; !agreed.memory && other < all.size(); ++other)
    if (!all[other].memory)
      return "rank " + std::to_string(other) + " could not open or map the common memory of its node (" +
             (other == static_cast<std::size_t>(rank) ? engine::memory_trouble(memory.error()) : "it knows why") +
             "); its processes need one user, one /proc and one PID namespace";
  return {};
}

// Returns what a rank has found before it measures copies.
Tried tried_by(const Foundation& foundation, const Reach& reach, int local) {
  Tried tried;
  tried.place = foundation.place_of(local);
  tried.memory = foundation.memory().mapping() ? 1 : 0;
  tried.heap = reach.heap_why_not.empty() ? 1 : 0;
  tried.kernel = reach.kernel_why_not.empty() ? 1 : 0;
  tried.threads = reach.threads ? 1 : 0;
  return tried;
}

void take_places(Census& census, const std::vector<Tried>& all) {
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    topology::Place& place = census.cards[rank].place.local = all[rank].place;
    place.at(topology::Level::node) = 0;  // the host says which node it is
  }
}

// Gathers the leaders of the nodes, and returns whether that worked for all ranks. Returns nothing if the ranks could not be asked.
std::optional<bool> gather_leaders(Bootstrap& bootstrap, engine::Wire& wire, const Census& census,
                                   const choose::Settings& settings) {
  const topology::Placement places = placement_of(census.cards, settings);
  const algorithms::Groups nodes(bootstrap.ranks(), &places, topology::Level::node);
  const std::uint8_t mine = wire.gather_leaders(nodes.leaders_ascending()) ? 1 : 0;
  std::vector<std::uint8_t> all(census.cards.size());
  if (!bootstrap.allgather(&mine, all.data(), sizeof mine)) return std::nullopt;
  return std::find(all.begin(), all.end(), 0) == all.end();
}

// A rank's pledge to make calls with the others. Once the ranks have agreed, the others begin to make calls. If this rank fails
// after that, its pledge is not kept, and that tells the others not to wait for this rank.
class Pledge {
 public:
  Pledge(const engine::Segment& segment, int local, int rank) : given_up_(segment.given_up(local)), rank_(rank) {}
  Pledge(const Pledge&) = delete;
  Pledge& operator=(const Pledge&) = delete;
  ~Pledge() {
    if (!kept_) given_up_.store(rank_ + 1, std::memory_order_relaxed);
  }
  void keep() { kept_ = true; }

 private:
  std::atomic<std::int32_t>& given_up_;
  int rank_;
  bool kept_ = false;
};

std::shared_ptr<Group> group_of(std::shared_ptr<Kin> kin, const choose::Settings& settings, std::shared_ptr<Progress> progress,
                                int rank) {
  auto group = std::make_shared<Group>();
  group->rank = rank;
  group->ranks = static_cast<int>(kin->reached.pids.size());
  group->settings = settings;
  group->progress = std::move(progress);
  group->kin = std::move(kin);
  return group;
}

// Lets the group's ranks wait for one another from now on.
void settle(Group& group) {
  group.bootstrap->settle([everything = group.progress.get()] { everything->idle(); },
                          [them = &group] { return them->first_ended() < 0; });
}

// Returns kin that go by what was found and agreed on.
std::shared_ptr<Kin> kin_of(const Census& census, const choose::Settings& settings, Progress& progress, Reach reach,
                            const Agreed& agreed, bool has_region) {
  auto result = std::make_shared<Kin>();
  Kin& kin = *result;
  kin.id = {census.cards.front().process, census.cards.front().founded};
  kin.ground = {census.card(census.leader()), census.leader()};
  kin.conditions.places = placement_of(census.cards, settings);
  const algorithms::Groups nodes(static_cast<int>(census.cards.size()), &kin.conditions.places, topology::Level::node);
  kin.conditions.most_on_a_node = static_cast<int>(nodes.largest());
  for (const Card& card : census.cards) kin.reached.pids.push_back(card.pid);
  using Stores = choose::Stores;
  const bool measured = settings.slots == Stores::measured;
  const bool streamed = settings.slots == Stores::streamed || (measured && agreed.costs.streamed);
  kin.conditions.capabilities = {census.nodes,
                                 static_cast<int>(census.here.size()),
                                 agreed.threads,
                                 agreed.heap && !agreed.threads,
                                 agreed.kernel,
                                 census.crowded,
                                 streamed,
                                 reach.heap_why_not,
                                 reach.kernel_why_not};
  choose::Situation& situation = kin.conditions.situation;
  situation.ranks = static_cast<int>(census.cards.size());
  situation.places = &kin.conditions.places;
  situation.mpi = !settings.mpi.empty();
  situation.delegates = agreed.leaders;
  situation.nodes = census.nodes;
  situation.helpers = settings.helpers;
  situation.addressable = settings.reach != choose::ReachLimit::staged && (agreed.threads || agreed.kernel || agreed.heap);
  situation.anywhere = situation.addressable && (agreed.threads || agreed.kernel);
  situation.direct = agreed.threads || agreed.heap;
  situation.oversubscribed = census.crowded;
  const engine::Costs& costs = agreed.costs;
  if (costs.kernel > 0) situation.costs = {costs.write, costs.read, costs.kernel};
  situation.like = census.crowded ? choose::kLikeNone : choose::most_like(kin.conditions.places);
  situation.numa = shape::groups(kin.conditions.places, topology::Level::numa) > census.nodes;

  Tuning& tuning = kin.conditions.tuning;
  tuning.wait = census.crowded ? engine::WaitPolicy::oversubscribed() : engine::WaitPolicy::dedicated();
  tuning.wait.cancellable = progress.cancellable();
  // A shared heap has the program's buffers, or copies that a rank allocates there. A region has only the windows. Copse chooses
  // by whether there is a region, so all ranks must say the same about it.
  const bool maps_alone = !agreed.kernel && agreed.heap;
  tuning.heap_only = maps_alone && !reach.threads && !has_region;
  kin.conditions.windows_alone = maps_alone && !agreed.threads && has_region;
  const auto last_cache = settings.topology.empty() ? census.last_cache_bytes
                                                    : last_cache_bytes(topology::Machine::from(settings.topology)).value_or(0);
  if (last_cache > 0) tuning.stream_from = last_cache;
  const float slow = costs.past > 0 ? costs.past : engine::SlotStores::kSlow;
  tuning.slots = {streamed, measured ? slow : 0};
  if (census.crowded) progress.set_crowded();
  kin.reached.peers = std::move(reach.peers);
  kin.reached.heaps = std::move(reach.heaps);
  return result;
}

}  // namespace

Founded found(std::unique_ptr<Bootstrap> bootstrap, std::unique_ptr<engine::Wire> wire, const choose::Settings& settings,
              std::string& why_not, std::shared_ptr<Progress> progress) {
  const auto refuse = [&](std::string why) {
    why_not = std::move(why);
    return Founded{};
  };
  std::map<std::string, Tally> start;
  StartClock clock(start);
  std::optional<Census> census = take_census(*bootstrap, settings, why_not);
  if (!census) return {};
  clock.end("communicators: the ranks' cards");
  if (census->nodes > 1 && wire == nullptr) return refuse("the ranks sit on several nodes, and there is no wire between them");
  Foundation foundation(*census, settings);
  if (std::string why = foundation.meet(*bootstrap); !why.empty()) return refuse(std::move(why));
  const CommonMemory& memory = foundation.memory();
  const engine::Geometry geometry = foundation.geometry();
  clock.end("communicators: common memory, and a look at the machine");

  Reach reach = find_reach(*census, settings);
  clock.end("communicators: ways to the ranks");
  const int local = reach.peers[static_cast<std::size_t>(census->rank)].local;
  Tried tried = tried_by(foundation, reach, local);
  engine::Segment segment;
  std::optional<Pledge> pledge;  // made before the ranks gather for the last time, because what follows may run out of memory
  if (memory.mapping()) {
    segment = engine::Segment(memory.mapping()->base(), geometry);
    const bool kernel_allowed = settings.reach == choose::ReachLimit::any || settings.reach == choose::ReachLimit::kernel;
    if (!census->crowded && settings.slots == choose::Stores::measured)
      tried.costs = costs_between(segment, *census, reach.peers, kernel_allowed);
    pledge.emplace(segment, local, census->rank);
  }
  clock.end("communicators: trial of copies");
  std::vector<Tried> all(census->cards.size());
  if (!bootstrap->allgather(&tried, all.data(), sizeof tried)) return refuse(kNotGathered);
  Agreed agreed = agree(all, reach);
  if (std::string why = why_no_memory(memory, all, agreed, census->rank); !why.empty()) return refuse(std::move(why));
  take_places(*census, all);
  if (census->nodes > 1 && choose::may_delegate(settings)) {
    const std::optional<bool> gathered = gather_leaders(*bootstrap, *wire, *census, settings);
    if (!gathered) return refuse(kNotGathered);
    agreed.leaders = *gathered;
    clock.end("communicators: leaders of the nodes");
  }

  auto kin = kin_of(*census, settings, *progress, std::move(reach), agreed, bootstrap->region() != nullptr);
  kin->plots.begin(memory.mapping(), geometry, settings.first_ticket);
  auto group = group_of(std::move(kin), settings, std::move(progress), census->rank);
  group->plot = {0, memory.mapping(), segment};
  if (tried.costs.write > 0)  // the trial has filled slots, and all ranks have ended it
    engine::forget_pages(segment.rings(group->kin->reached.peers[static_cast<std::size_t>(group->rank)].local));
  group->wire = std::move(wire);
  group->bootstrap = std::move(bootstrap);
  if (settings.helpers > 0 && !group->lanes.prepare(group->lane_ground(), why_not)) return {};
  settle(*group);
  auto executor = group->executor_on(segment, group->wire.get(), settings.first_ticket);
  pledge->keep();
  clock.end("communicators: agreement");
  return {std::move(group), std::move(executor), std::move(start)};
}

Founded found_among(const KinOffer& offer, std::span<const KinWord> words, std::unique_ptr<Bootstrap>& bootstrap,
                    const choose::Settings& settings, std::shared_ptr<Progress> progress) {
  std::map<std::string, Tally> start;
  StartClock clock(start);
  const std::shared_ptr<Kin>& kin = offer.kin();
  const int rank = bootstrap->rank();
  std::uint64_t ticket = words.front().ticket;
  for (const KinWord& word : words)
    if (static_cast<std::int64_t>(word.ticket - ticket) > 0) ticket = word.ticket;
  int number = first_in_common(words, [](const KinWord& word) { return word.free; });
  if (number < 0) number = kin->plots.grow(*bootstrap, kin->ground, kin->conditions.capabilities.ranks_here);
  if (number < 0) return {};
  Plot plot = kin->plots.take(number);
  Pledge pledge(plot.segment, kin->reached.peers[static_cast<std::size_t>(rank)].local, rank);
  auto group = group_of(kin, settings, std::move(progress), rank);
  group->plot = std::move(plot);
  group->bootstrap = std::move(bootstrap);
  settle(*group);
  auto executor = group->executor_on(group->plot.segment, nullptr, ticket);
  pledge.keep();
  clock.end("communicators: a plot of common memory");
  return {std::move(group), std::move(executor), std::move(start)};
}

}  // namespace copse::communicator
