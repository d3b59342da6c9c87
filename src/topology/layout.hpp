// Layouts: n ranks over the cores of one or more equal machines, and the layout that the ranks really have.
#pragma once

#include <cstdint>
#include <span>

#include "topology/machine.hpp"
#include "topology/placement.hpp"

namespace copse::topology {

// Nodes are filled one after the other and evenly; within a node, neighbouring ranks sit on neighbouring cores,
// spread so that the ranks cover the whole machine. More ranks than cores share cores.
[[nodiscard]] Placement place_block(const Machine& machine, int nodes, int ranks);

// Neighbouring ranks sit on different nodes, and within a node in different NUMA regions, in turn.
[[nodiscard]] Placement place_cyclic(const Machine& machine, int nodes, int ranks);

// Every rank on a core drawn without replacement; again from all cores when none is left. Equal seeds give equal
// placements on every platform.
[[nodiscard]] Placement place_random(const Machine& machine, int nodes, int ranks, std::uint64_t seed);

// The core, of the machine's, that block layout gives to one of the ranks of a node.
[[nodiscard]] int block_core(const Machine& machine, int local_rank, int local_ranks);

// What a rank knows of its own place. Plain bytes, to be gathered from all ranks.
struct Observation {
  std::uint64_t host = 0;  // equal exactly for ranks on the same node
  Place local;             // Machine::place_of, on the host's own machine
};

// One observation per rank, in rank order. The hosts need not be equal machines.
[[nodiscard]] Placement place_observed(std::span<const Observation> observations);

}  // namespace copse::topology
