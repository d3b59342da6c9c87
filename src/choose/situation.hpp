// What a decision may depend on. All ranks of a communicator know the same about all of this.
#pragma once

#include <cstdint>

#include "algorithms/registry.hpp"

namespace copse::choose {

// The costs of filling a slot, of reading one, and of a copy by the kernel, in any unit. The values here apply if
// nothing was measured. They suit the rules, which come from a machine on which the kernel's copy was worth its round.
struct CopyCosts {
  float write = 1, read = 1, kernel = 0.7F;
};

// Many fields: what ranks know about themselves, as plain data.
struct Situation {
  int ranks = 1;
  int nodes = 1;
  int helpers = 0;              // the last ranks, which serve the others
  bool addressable = false;     // get and put work: every rank of a node can reach every buffer there
  bool direct = false;          // loads and stores reach most buffers too (threads; shared heap)
  bool anywhere = false;        // addressable wherever it lies, without a copy to the shared heap first
  bool oversubscribed = false;
  CopyCosts costs;
  bool numa = false;            // ranks sit in more than one NUMA region of some node
  bool mpi = false;             // the MPI's own collectives can make blocking calls instead of Copse
  bool delegates = false;       // the leaders of the nodes can use the MPI's own collectives
  int like = -1;                // the recorded machine that this one is most like (recorded.hpp); negative: none
  const topology::Placement* places = nullptr;  // one per rank, if known
  const algorithms::Graph* graph = nullptr;     // of neighbours, if known; it may still be empty

  [[nodiscard]] int callers() const { return ranks - helpers; }
};

// What a call needs that not every algorithm can do.
struct Needs {
  bool strict = false;  // Algorithm::strict: an operator that does not commute, pairs of different sizes
  bool wide = false;    // elements so large that a slot cannot hold one for each rank
  bool alien = false;   // an operator that the MPI cannot apply for Copse (engine::Combine::delegable)
  bool untold = false;  // only its giver knows a block's size: the block rides, or is reached where it lies
  bool placed = false;  // the caller says where all buffers lie (plan::Modes::placed), so rules come first that ask for that
  bool early = false;   // ranks may touch one another's buffers at once (plan::Sync::none); `placed` holds, too
};

// What a rule may ask about a call besides its size and the number of ranks. A set of these bits.
using Facts = std::uint16_t;
enum Fact : Facts {
  kNodes = 1 << 0,    // The ranks sit on several nodes.
  kRegions = 1 << 1,  // The ranks sit in several NUMA regions, or on several nodes.
  kTurns = 1 << 2,    // There are more ranks than processors, so that ranks take turns.
  kDirect = 1 << 3,   // Loads and stores could reach most buffers.
  kLoads = 1 << 4,    // Loads and stores reach most buffers, and are allowed to.
  kKernel = 1 << 5,   // Only the kernel's copy reaches buffers, and it is clearly cheaper than slots (Needs::untold: no dearer).
  kStrict = 1 << 6,   // Needs::strict
  kWide = 1 << 7,     // Needs::wide
  kReach = 1 << 8,    // Buffers can be reached, by loads and stores or by the kernel.
  kHelped = 1 << 9,   // The last ranks are helpers.
  kPlaced = 1 << 10,  // Needs::placed
  kEarly = 1 << 11,   // Needs::early
};
inline constexpr int kFacts = 12;
[[nodiscard]] const char* name_of(Fact fact);

[[nodiscard]] Facts facts_of(const Situation& situation, algorithms::Collective collective, Needs needs);

}  // namespace copse::choose
