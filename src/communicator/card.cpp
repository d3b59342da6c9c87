// Fills in this rank's card, and draws conclusions from the cards of all ranks.
#include "communicator/card.hpp"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <utility>

#include "choose/table.hpp"
#include "communicator/shared_bootstrap.hpp"
#include "communicator/sources.hpp"
#include "engine/reach/process.hpp"
#include "heap/heap.hpp"
#include "topology/binding.hpp"

namespace copse::communicator {
namespace {

// Returns the word that proves which process a reader has reached. Half of it is random, and half is the process id. The word is
// no constant, because a forked child must draw a word of its own, once for all its threads.
std::atomic<std::uint64_t>& process_token() {
  static std::atomic<std::uint64_t> token{0};
  const auto pid = static_cast<std::uint32_t>(getpid());
  std::uint64_t seen = token.load(std::memory_order_relaxed);
  if (static_cast<std::uint32_t>(seen) != pid)
    token.compare_exchange_strong(seen, std::uint64_t{std::random_device{}()} << 32 | pid, std::memory_order_relaxed);
  return token;
}

// What stays the same as long as the process lives. It takes three files of the system to find out.
struct Identity {
  engine::ProcessId self;
  std::uint64_t host = 0;
};
Identity identity() {
  static std::mutex mutex;
  static Identity known;
  const std::lock_guard lock(mutex);
  if (known.self.pid != getpid()) known = {engine::this_process(), host_id()};  // a forked child is another process
  return known;
}

}  // namespace

Launched by_launcher() {
  const auto number = [](const char* name) { return std::getenv(name) == nullptr ? 0 : std::atoi(std::getenv(name)); };
  constexpr std::pair<const char*, const char*> kNames[] = {{"MPI_LOCALNRANKS", "PMI_SIZE"},
                                                            {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE"}};
  for (const auto& [here, all] : kNames)
    if (std::getenv(here) != nullptr) return {number(here), number(all)};
  return {};
}

std::uint64_t host_id() {
  std::string text;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  struct stat pids{};
  if (stat("/proc/self/ns/pid", &pids) == 0) text += ':' + std::to_string(pids.st_ino);
  return std::hash<std::string>{}(text + '@' + name.data());
}

std::uint64_t build_id() {
  static const std::uint64_t id = std::hash<std::string>{}(std::string(sources_digest()) + '/' + std::to_string(sizeof(Card)) +
                                                           '/' + std::to_string(board_bytes(1)));
  return id;
}

std::uint64_t host_of(const choose::Settings& settings, int rank, int ranks) {
  return identity().host + static_cast<std::uint64_t>(std::int64_t{rank} * settings.nodes / ranks);
}

Card my_card(const choose::Settings& settings, int rank, int ranks) {
  Card card;
  const engine::ProcessId self = identity().self;
  card.pid = self.pid;
  card.started = self.started;
  static std::atomic<std::uint64_t> made{0};
  card.founded = made.fetch_add(1) + 1;
  card.process = process_token().load(std::memory_order_relaxed);
  card.probe = reinterpret_cast<std::uint64_t>(&process_token());
  card.build = build_id();
  card.settings = settings.fingerprint;
  card.has_room = has_room(settings.memory) ? 1 : 0;
  card.left_by_cgroups = left_by_cgroups();
  card.neighbours = std::max(by_launcher().here, settings.nodes > 1 ? ranks : 0);  // pretended nodes share processors
  card.place.host = host_of(settings, rank, ranks);

  for (const unsigned cpu : topology::current_processors())
    if (cpu < kCpusMax) card.cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);

  if (const auto query = reinterpret_cast<heap::RegionQuery>(dlsym(RTLD_DEFAULT, heap::kRegionQueryName))) {
    struct copse_heap_region region{};
    if (query(&region) == 0) {
      card.heap_base = reinterpret_cast<std::uint64_t>(region.base);
      card.heap_bytes = region.bytes;
      card.heap_fd = region.fd;
      card.heap_file = {region.device, region.inode};
    }
  }
  return card;
}

const topology::Machine& this_machine() {
  // This is never destroyed. Calls may come from destructors of the program's libraries, which run after this library's.
  static const auto& machine = *new topology::Machine(topology::Machine::discover());
  return machine;
}

std::string machine_kind(const choose::Settings& settings) {
  return settings.topology.empty() ? this_machine().kind() : topology::Machine::from(settings.topology).kind();
}

std::string file_mistake(const choose::Settings& settings) {
  try {
    if (!settings.topology.empty()) static_cast<void>(topology::Machine::from(settings.topology));
    if (settings.table == nullptr || settings.table->machine == "any") return {};
    const std::string kind = machine_kind(settings);
    if (settings.table->machine == kind) return {};
    return "COPSE_TUNING=" + settings.table->file + ": the table was made for another machine, \"" + settings.table->machine +
           "\"; this is \"" + kind + "\"; make a table here with copse tune";
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& wrong) {
    return wrong.what();
  }
}

std::optional<std::uint64_t> last_cache_bytes(const topology::Machine& machine) {
  const auto last = machine.cache_bytes(topology::Level::l3);
  return last ? last : machine.cache_bytes(topology::Level::l2);
}

topology::Placement placement_of(const std::vector<Card>& cards, const choose::Settings& settings) {
  const int ranks = static_cast<int>(cards.size());
  std::vector<topology::Observation> observations;
  for (const Card& card : cards) observations.push_back(card.place);
  topology::Placement seen = topology::place_observed(observations);
  if (settings.topology.empty()) return seen;
  // A described machine says where ranks sit inside their nodes. It does not change which node a rank is on.
  const topology::Machine machine = topology::Machine::from(settings.topology);
  std::map<std::uint64_t, std::vector<std::size_t>> hosts;
  for (int rank = 0; rank < ranks; ++rank)
    hosts[cards[static_cast<std::size_t>(rank)].place.host].push_back(static_cast<std::size_t>(rank));
  for (const auto& [host, members] : hosts) {
    const auto places = topology::place_block(machine, 1, static_cast<int>(members.size()));
    for (std::size_t i = 0; i < members.size(); ++i) observations[members[i]].local = places[i];
  }
  return topology::place_observed(observations);
}

double crowding(int ranks) {
  static const int told = by_launcher().here;
  static const auto processors = static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN));  // this reads a file
  const int here = told > 0 ? std::min(ranks, told) : ranks;
  return std::max(1.0, here / processors);
}

int processors_for(const std::vector<Card>& cards, const std::vector<int>& ranks) {
  std::array<std::uint64_t, kCpusMax / 64> cpus{};
  for (const int rank : ranks)
    for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] |= cards[static_cast<std::size_t>(rank)].cpus[i];
  int processors = 0;
  for (const std::uint64_t word : cpus) processors += std::popcount(word);
  return processors;
}

bool oversubscribed(const std::vector<Card>& cards) {
  struct Host {
    std::vector<int> ranks;
    int by_launcher = 0, online = 0;
  };
  std::map<std::uint64_t, Host> hosts;
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    const Card& card = cards[rank];
    Host& host = hosts[card.place.host];
    host.ranks.push_back(static_cast<int>(rank));
    host.by_launcher = std::max(host.by_launcher, card.neighbours);
    host.online = card.online;
  }
  return std::any_of(hosts.begin(), hosts.end(), [&](const auto& entry) {
    const Host& host = entry.second;
    const int told = processors_for(cards, host.ranks), processors = told == 0 ? host.online : told;
    return std::cmp_greater(host.ranks.size(), processors) || host.by_launcher > host.online;
  });
}

bool heap_preloaded() { return dlsym(RTLD_DEFAULT, heap::kWhyNotQueryName) != nullptr; }

std::string heap_why_not() {
  const auto query = reinterpret_cast<heap::WhyNotQuery>(dlsym(RTLD_DEFAULT, heap::kWhyNotQueryName));
  if (query == nullptr) return "libcopse-heap.so is not preloaded (copse run --shared-heap does that)";
  const char* why_not = query();
  return why_not == nullptr ? "" : why_not;
}

std::string kernel_trouble(const Card& neighbour, const engine::Peer& peer) {
  std::uint64_t word = 0;
  errno = 0;
  if (!engine::kernel_read(peer, &word, neighbour.probe, sizeof word))
    return std::string("process_vm_readv: ") + std::strerror(errno);
  if (word != neighbour.process) return "process_vm_readv read the memory of another process";
  if (!engine::kernel_write(peer, &word, neighbour.probe, sizeof word))
    return std::string("process_vm_writev: ") + std::strerror(errno);
  return "";
}

}  // namespace copse::communicator
