// A card is what a rank tells the others when a communicator is made. This file also has what every rank concludes from the
// cards. All ranks see the same cards, so their conclusions need no further agreement.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "choose/settings.hpp"
#include "communicator/memory_room.hpp"
#include "engine/reach/peer.hpp"
#include "engine/reach/shared_memory.hpp"
#include "topology/layout.hpp"
#include "topology/machine.hpp"

namespace copse::communicator {

inline constexpr std::size_t kCpusMax = 4096;

// Many fields: they make one message, so that the ranks need to meet only once.
struct Card {
  static constexpr std::uint64_t kDeclined = ~std::uint64_t{0};  // the rank's variables are wrong
  topology::Observation place;  // the place inside the node comes later, from the node's first rank (survey.hpp)
  std::uint64_t process = 0;  // drawn at random once per process, so the same for all its threads
  std::uint64_t probe = 0;    // address of a word that holds `process`
  std::uint64_t heap_base = 0, heap_bytes = 0;
  std::uint64_t build = 0;     // build_id()
  std::uint64_t settings = 0;  // Settings::fingerprint, or kDeclined
  engine::FileId heap_file;
  std::int32_t heap_fd = -1;
  std::int32_t pid = 0;
  std::uint64_t started = 0;    // see engine::ProcessId
  std::uint64_t founded = 0;    // how many cards this process has made
  std::int32_t neighbours = 0;  // ranks that share this node's processors, as the launcher or COPSE_NODES says
  std::int32_t online = 0;      // processors of this node; they come later, too
  std::int32_t has_room = 1;    // whether COPSE_MEMORY allows this rank another communicator
  std::uint64_t left_by_cgroups = 0;  // bytes
  std::array<std::uint64_t, kCpusMax / 64> cpus{};  // processors on which this rank may run, without those from kCpusMax on
};

// How many ranks the launcher has started, on this node and in all. A number is 0 if the launcher does not say.
struct Launched {
  int here = 0, all = 0;
};
[[nodiscard]] Launched by_launcher();

// Returns a number that is the same for all processes that can share memory through /proc/<pid>. These are processes of one
// boot of one kernel, in one PID namespace, that see the same host name.
[[nodiscard]] std::uint64_t host_id();

// Returns a number that is the same for all processes whose libraries were built from the same sources with the same layout of
// structures. Ranks need that, because each builds its part of a plan by itself.
[[nodiscard]] std::uint64_t build_id();

// Returns the number of the host of a rank. That is host_id(), unless COPSE_NODES pretends that the ranks sit on several nodes.
[[nodiscard]] std::uint64_t host_of(const choose::Settings& settings, int rank, int ranks);

// Returns this rank's card. `rank` and `ranks` matter only for COPSE_NODES.
[[nodiscard]] Card my_card(const choose::Settings& settings, int rank, int ranks);

// Returns this machine, without the processors that are denied to this process. It is discovered once per process, because that
// takes milliseconds.
[[nodiscard]] const topology::Machine& this_machine();
// Returns the name in tuning tables of this machine, or of the machine that the settings describe.
[[nodiscard]] std::string machine_kind(const choose::Settings& settings);
// Says what is wrong with the files that the settings name: a description of a machine that cannot be read, or a tuning table for
// another machine. The text is empty if nothing is wrong. Throws only std::bad_alloc.
[[nodiscard]] std::string file_mistake(const choose::Settings& settings);

// Returns the size of the last cache on the way to memory, in bytes. The result is empty if the size is not known.
[[nodiscard]] std::optional<std::uint64_t> last_cache_bytes(const topology::Machine& machine);
// Returns the places of all ranks. Ranks of one node have equal node ids there.
[[nodiscard]] topology::Placement placement_of(const std::vector<Card>& cards, const choose::Settings& settings);

// Returns how many of a communicator's `ranks` there are for each processor of this node, and at least 1. The launcher says how
// many ranks are on this node. If it does not say, all ranks count.
[[nodiscard]] double crowding(int ranks);

// Returns on how many processors some of these ranks of one node may run, or 0 if the system does not tell.
[[nodiscard]] int processors_for(const std::vector<Card>& cards, const std::vector<int>& ranks);

// Tells whether some node has more ranks than processors that they may use.
[[nodiscard]] bool oversubscribed(const std::vector<Card>& cards);

// Tells whether the shared heap's library is in this process, active or not.
[[nodiscard]] bool heap_preloaded();
// Says why this process has no shared heap. The text is empty if it has one.
[[nodiscard]] std::string heap_why_not();

// Reads the neighbour's probe word through the kernel and writes it back. Says what went wrong. The text is empty if both worked.
[[nodiscard]] std::string kernel_trouble(const Card& neighbour, const engine::Peer& peer);

}  // namespace copse::communicator
