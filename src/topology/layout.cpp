// Lays ranks out by a rule, or as they were observed.
#include "topology/layout.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace copse::topology {
namespace {

void check(int nodes, int ranks) {
  if (nodes < 1 || ranks < 0) throw std::invalid_argument("a layout needs at least one node and no negative ranks");
}

// The local places of the machine's cores.
std::vector<Place> core_places(const Machine& machine) {
  std::vector<Place> places;
  for (const CpuSet& core : machine.cores()) places.push_back(machine.place_of(core));
  return places;
}

// Makes the ids of different nodes differ. At every level, an id is below the number of processors.
Place on_node(const Machine& machine, Place local, int node) {
  const auto stride = static_cast<std::int32_t>(machine.processors().size());
  for (auto& id : local.id) id += node * stride;
  local.at(Level::node) = node;
  return local;
}

// SplitMix64 (Steele, Lea, Flood 2014). The standard library's distributions differ between platforms.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

int block_core(const Machine& machine, int local_rank, int local_ranks) {
  if (local_rank < 0 || local_rank >= local_ranks)
    throw std::invalid_argument("a local rank must be below the number of local ranks");
  const auto cores = static_cast<std::int64_t>(machine.cores().size());
  return static_cast<int>(local_rank * cores / local_ranks);
}

Placement place_block(const Machine& machine, int nodes, int ranks) {
  check(nodes, ranks);
  const std::vector<Place> cores = core_places(machine);
  Placement placement;
  for (int node = 0; node < nodes; ++node) {
    const int local_ranks = ranks / nodes + (node < ranks % nodes ? 1 : 0);
    for (int local = 0; local < local_ranks; ++local) {
      const int core = block_core(machine, local, local_ranks);
      placement.push_back(on_node(machine, cores[static_cast<std::size_t>(core)], node));
    }
  }
  return placement;
}

Placement place_cyclic(const Machine& machine, int nodes, int ranks) {
  check(nodes, ranks);
  std::vector<std::vector<Place>> regions(machine.regions().size());
  for (const Place& core : core_places(machine)) regions[static_cast<std::size_t>(core.at(Level::numa))].push_back(core);
  Placement placement;
  for (int rank = 0; rank < ranks; ++rank) {
    const auto local = static_cast<std::size_t>(rank / nodes);
    const auto& region = regions[local % regions.size()];
    placement.push_back(on_node(machine, region[local / regions.size() % region.size()], rank % nodes));
  }
  return placement;
}

Placement place_random(const Machine& machine, int nodes, int ranks, std::uint64_t seed) {
  check(nodes, ranks);
  const std::vector<Place> cores = core_places(machine);
  std::vector<std::size_t> slots(cores.size() * static_cast<std::size_t>(nodes));
  std::iota(slots.begin(), slots.end(), std::size_t{0});
  Placement placement;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(ranks); ++rank) {
    const std::size_t taken = rank % slots.size();
    std::swap(slots[taken], slots[taken + next_random(seed) % (slots.size() - taken)]);
    const std::size_t slot = slots[taken];
    placement.push_back(on_node(machine, cores[slot % cores.size()], static_cast<int>(slot / cores.size())));
  }
  return placement;
}

Placement place_observed(std::span<const Observation> observations) {
  std::map<std::tuple<std::size_t, std::uint64_t, std::int32_t>, std::int32_t> ids;
  std::array<std::int32_t, kLevels> next{};
  Placement placement;
  placement.reserve(observations.size());
  for (const Observation& observation : observations) {
    Place place;
    place.by_network = observation.local.by_network != 0 ? 1 : 0;
    for (std::size_t level = 0; level < kLevels; ++level) {
      const std::int32_t local = observation.local.id[level];
      if (local == kNotConfined) {
        place.id[level] = next[level]++;
        continue;
      }
      const auto [entry, is_new] = ids.try_emplace({level, observation.host, local}, next[level]);
      if (is_new) ++next[level];
      place.id[level] = entry->second;
    }
    placement.push_back(place);
  }
  return placement;
}

}  // namespace copse::topology
