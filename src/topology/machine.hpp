// The machine of one node: its processors, how they nest into caches, NUMA regions, packages and boards, and what
// each of these holds. Found by hwloc once, then plain data that can be copied, compared and described.
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

// Processors by the operating system's number, ascending.
using CpuSet = std::vector<unsigned>;

// One hardware thread. `place` is local to the machine: ids from 0 per level, node 0, no level left out.
struct Processor {
  unsigned number = 0;  // the operating system's
  Place place;
};

// Processors with the same nearest memory. Where a region has several memories (DDR and HBM of a Xeon Max), the
// first in `memories` is the one that the system prefers.
struct Region {
  std::vector<unsigned> memories;             // the operating system's NUMA node numbers
  std::optional<std::uint64_t> memory_bytes;  // all of them together; empty if not known
};

class Machine {
 public:
  // This machine, without the processors that cgroups or the like deny to this process.
  // Throws Error if hwloc finds nothing.
  static Machine discover();

  // A machine from its description: the name of a recorded machine, an hwloc synthetic string
  // ("package:2 core:4 pu:1"), or the path of an hwloc XML file ("lstopo machine.xml" writes one).
  // `origin` is where the text came from and begins the message. Throws Error.
  static Machine from(std::string_view text, std::string_view origin = "COPSE_TOPOLOGY");

  [[nodiscard]] const std::string& name() const { return name_; }

  // True if the processors are those of the running system, so that binding to them means something.
  [[nodiscard]] bool is_this_machine() const { return is_this_machine_; }

  // In the order of the hierarchy: neighbours in the list are neighbours in the machine.
  [[nodiscard]] const std::vector<Processor>& processors() const { return processors_; }

  // Objects of the level; 0 if the machine has none (a missing cache or board).
  [[nodiscard]] int count(Level level) const { return counts_[static_cast<std::size_t>(level)]; }

  // The processors of each core, in the order of the hierarchy.
  [[nodiscard]] const std::vector<CpuSet>& cores() const { return cores_; }

  [[nodiscard]] const std::vector<Region>& regions() const { return regions_; }

  // Bytes of one cache of the level (l2 or l3), if known.
  [[nodiscard]] std::optional<std::uint64_t> cache_bytes(Level level) const;

  // Relative cost of reaching region `to` from region `from`, [from][to], 10 = local as in ACPI's SLIT.
  // Empty if not known.
  [[nodiscard]] const std::vector<std::vector<std::uint64_t>>& distances() const { return distances_; }

  // The local place of a thread that may run on these processors: per level the object that holds them all, or
  // kNotConfined. Ascending, as a CpuSet is. Processors that the machine does not have are passed over.
  [[nodiscard]] Place place_of(std::span<const unsigned> cpus) const;

  // All processors of the object `id` of the level.
  [[nodiscard]] CpuSet processors_in(Level level, std::int32_t id) const;

  // One line for people.
  [[nodiscard]] std::string summary() const;

  // One JSON object for programs: name, this_machine, counts by level, cache_bytes, regions, distances, processors.
  [[nodiscard]] std::string json() const;

 private:
  friend class Reader;

  std::string name_;
  bool is_this_machine_ = false;
  std::vector<Processor> processors_;
  std::vector<CpuSet> cores_;
  std::vector<Region> regions_;
  std::array<int, kLevels> counts_{};
  std::array<std::uint64_t, kLevels> cache_bytes_{};
  std::vector<std::vector<std::uint64_t>> distances_;
};

}  // namespace copse::topology
