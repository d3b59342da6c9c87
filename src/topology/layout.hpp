// Layouts: the places of n ranks on the cores of one or more equal machines, and the places that ranks really have.
#pragma once

#include <cstdint>
#include <span>

#include "topology/machine.hpp"
#include "topology/placement.hpp"

namespace copse::topology {

// Fills the nodes one after the other, and evenly. Within a node, neighbouring ranks sit on neighbouring cores, spread
// so that they cover the whole machine. If there are more ranks than cores, ranks share cores.
[[nodiscard]] Placement place_block(const Machine& machine, int nodes, int ranks);

// Puts neighbouring ranks on different nodes and, within a node, on different NUMA regions, in turn.
[[nodiscard]] Placement place_cyclic(const Machine& machine, int nodes, int ranks);

// Draws a core for each rank, without replacement; when no core is left, all are available again. Equal seeds give
// equal placements on every platform.
[[nodiscard]] Placement place_random(const Machine& machine, int nodes, int ranks, std::uint64_t seed);

// Returns the core of the machine that block layout gives to one rank of a node.
[[nodiscard]] int block_core(const Machine& machine, int local_rank, int local_ranks);

// What a rank knows about its own place. It consists of plain bytes, so that ranks can gather it.
struct Observation {
  std::uint64_t host = 0;  // equal for ranks on the same node, and only for those
  Place local;             // Machine::place_of, for the host's own machine
};

// Takes one observation per rank, in rank order. The hosts may be different machines.
[[nodiscard]] Placement place_observed(std::span<const Observation> observations);

}  // namespace copse::topology
