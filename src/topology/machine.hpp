// The machine of one node: its processors, how they nest into caches, NUMA regions, packages and boards, and the sizes
// of these. hwloc finds it once. After that it is plain data that can be copied, compared and described.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topology/error.hpp"
#include "topology/placement.hpp"

namespace copse::topology {

// Processors by the operating system's numbers, ascending.
using CpuSet = std::vector<unsigned>;

// One hardware thread. `place` is local to the machine: the node is 0, ids start from 0 at every level, and every level
// has one.
struct Processor {
  unsigned number = 0;  // the operating system's number
  Place place;
};

// Processors with the same nearest memory. A region may have several memories (DDR and HBM of a Xeon Max). The first in
// `memories` is the one that the system prefers.
struct Region {
  std::vector<unsigned> memories;             // the operating system's NUMA node numbers
  std::optional<std::uint64_t> memory_bytes;  // sum over the memories; empty if not known
};

class Machine {
 public:
  // Returns this machine, without the processors that cgroups or the like deny to this process. Throws Error if hwloc
  // finds nothing.
  static Machine discover();
  // Like discover(), but also finds out which processors are next to the network cards. That takes about ten milliseconds more.
  static Machine discover_with_network();
  // Returns all of this machine, with the processors that are denied to this process, because its neighbours may have them. With
  // `network`, also finds out which processors are next to the network cards.
  static Machine discover_whole(bool network);

  // Makes a machine from a description: the name of a recorded machine, an hwloc synthetic string ("package:2 core:4
  // pu:1"), or the path of an hwloc XML file ("lstopo machine.xml" writes one). Throws an Error whose message begins
  // with `origin`, the source of the text, or with "hwloc" if that cannot be used.
  static Machine from(std::string_view text, std::string_view origin = "COPSE_TOPOLOGY");

  [[nodiscard]] const std::string& name() const { return name_; }

  // Returns whether the processors are those of the running system, so that threads can be bound to them.
  [[nodiscard]] bool is_this_machine() const { return is_this_machine_; }

  // The list has the order of the hierarchy: neighbours in it are neighbours in the machine.
  [[nodiscard]] const std::vector<Processor>& processors() const { return processors_; }

  // Returns the number of objects of the level. It is 0 if the machine has none (a missing cache or board).
  [[nodiscard]] int count(Level level) const { return counts_[static_cast<std::size_t>(level)]; }

  // Returns the processors that cgroups or the like allow to this process. A described machine allows all of its own.
  [[nodiscard]] const CpuSet& allowed() const { return allowed_; }

  // The processors of each core, in the order of the hierarchy.
  [[nodiscard]] const std::vector<CpuSet>& cores() const { return cores_; }

  [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }

  // Returns the size in bytes of one cache of the level (l2 or l3), if known.
  [[nodiscard]] std::optional<std::uint64_t> cache_bytes(Level level) const;

  // Returns the relative cost [from][to] of reaching region `to` from region `from`. Local access costs 10, as in
  // ACPI's SLIT. The table is empty if the costs are not known.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& distances() const { return distances_; }
  // Sets the distances. Returns false, and does nothing, unless there is a row for each region with a number for each region.
  bool set_distances(std::vector<std::vector<std::uint64_t>> distances);

  // Returns the local place of a thread that may run on these processors. For each level it is the object that contains
  // them all, or kNotConfined. `cpus` must ascend, as a CpuSet does. Processors that the machine does not have are
  // ignored.
  [[nodiscard]] Place place_of(std::span<const unsigned> cpus) const;

  // Returns all processors of the object `id` of the level.
  [[nodiscard]] CpuSet processors_in(Level level, std::int32_t id) const;

  // Returns a description of one line for the user.
  [[nodiscard]] std::string summary() const;

  // Returns a text that tells machines of one kind from others: the processor's model as hwloc knows it, and what the machine
  // consists of.
  [[nodiscard]] std::string kind() const;

  // Returns one JSON object for programs: name, this_machine, counts by level, cache_bytes, regions, distances, by_network (the
  // processors next to the network), processors.
  [[nodiscard]] std::string json() const;

 private:
  friend class Reader;

  [[nodiscard]] std::string parts(bool with_memory) const;  // what it consists of, in words

  std::string name_, processor_;  // processor_: its model; empty if not known
  bool is_this_machine_ = false;
  std::vector<Processor> processors_;
  CpuSet allowed_;
  std::vector<CpuSet> cores_;
  std::vector<Region> regions_;
  std::array<int, kLevels> counts_{};
  std::array<std::uint64_t, kLevels> cache_bytes_{};
  std::vector<std::vector<std::uint64_t>> distances_;
};

// Returns an hwloc synthetic description of this machine, which Machine::from reads. Where parts of the machine differ, so that
// hwloc has no such description of it, the memory or everything but the processors is left out. Throws Error if hwloc finds
// nothing.
[[nodiscard]] std::string description_of_this_machine();

}  // namespace copse::topology
