// What the ranks tell one another when a communicator is made, and what everyone concludes from it. The same cards
// lie before every rank, so that conclusions need no further agreement.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"
#include "topology/layout.hpp"

namespace copse::communicator {

inline constexpr std::size_t kCpusMax = 4096;

// Many fields: it is one message, so that the ranks meet once.
struct Card {
  topology::Observation place;
  std::uint64_t process = 0;  // drawn by chance once per process: equal for its threads
  std::uint64_t probe = 0;    // address of a word that holds `process`
  std::uint64_t heap_base = 0, heap_bytes = 0;
  std::uint64_t settings = 0;  // fingerprint
  engine::FileId heap_file;
  std::int32_t heap_fd = -1;
  std::int32_t pid = 0;
  std::uint64_t started = 0;    // as in engine::ProcessId
  std::int32_t neighbours = 0;  // ranks that share its processors, as the launcher or COPSE_NODES says
  std::int32_t online = 0;      // processors of this node
  std::array<std::uint64_t, kCpusMax / 64> cpus{};  // where this rank may run
};

// The same for all processes that can share memory by /proc/<pid>: one boot of one kernel, one PID namespace.
[[nodiscard]] std::uint64_t host_id();

// This rank's. `rank` and `ranks` matter for COPSE_NODES only.
[[nodiscard]] Card my_card(const choose::Settings &settings, int rank, int ranks);

// Ranks of one node have equal node ids in the placement.
// Bytes of the cache that is shared last on the way to memory, of the described machine if there is one; empty if not
// known.
[[nodiscard]] std::optional<std::uint64_t> last_cache_bytes(const choose::Settings &settings);
[[nodiscard]] topology::Placement placement_of(const std::vector<Card> &cards, const choose::Settings &settings);

// Are there nodes with more ranks than processors that they may use?
[[nodiscard]] bool oversubscribed(const std::vector<Card> &cards);

// Is the shared heap's library in this process, whether or not it is active?
[[nodiscard]] bool heap_preloaded();
// Why this process has no shared heap, in words; empty if it has one.
[[nodiscard]] std::string heap_why_not();

// Reads and writes back the neighbour's probe word through the kernel: true if both work.
[[nodiscard]] bool probe_kernel_reach(const Card &neighbour, const engine::Peer &peer);

}  // namespace copse::communicator
