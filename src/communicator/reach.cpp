// Tries how other ranks' memory can be reached.
#include "communicator/reach.hpp"

#include <cerrno>

#include "communicator/common_memory.hpp"

namespace copse::communicator {
namespace {

using Limit = choose::ReachLimit;

// Maps the heap of another rank of this node, in another process.
void map_heap(const Census& census, int other, Reach& reach) {
  const Card& card = census.card(other);
  engine::Peer& peer = reach.peers[static_cast<std::size_t>(other)];
  if (census.mine().heap_bytes == 0) {
    reach.heap_why_not = "no shared heap: " + communicator::heap_why_not();
  } else if (card.heap_bytes == 0) {
    reach.heap_why_not = "rank " + std::to_string(other) + " runs without the shared heap";
  } else if (const auto heap = map_once(card.pid, card.heap_fd, card.heap_file, card.heap_bytes, engine::Size::at_least)) {
    reach.heaps.push_back(heap);
    peer.heap_base = card.heap_base;
    peer.heap_bytes = card.heap_bytes;
    peer.heap_here = heap->base();
  } else {
    reach.heap_why_not = "rank " + std::to_string(census.rank) + " could not map the shared heap of rank " + std::to_string(other) +
                         ": " + engine::memory_trouble(errno);
  }
}

// Tries whether the kernel reaches the memory of the next rank of this node.
void try_kernel(const Census& census, Reach& reach) {
  const auto mine = static_cast<std::size_t>(reach.peers[static_cast<std::size_t>(census.rank)].local);
  const int next = census.here[(mine + 1) % census.here.size()];
  const engine::Peer& peer = reach.peers[static_cast<std::size_t>(next)];
  if (peer.same_process) return;
  const std::string trouble = kernel_trouble(census.card(next), peer);
  if (!trouble.empty())
    reach.kernel_why_not =
        "the kernel's copy from rank " + std::to_string(next) + " failed on rank " + std::to_string(census.rank) + ": " + trouble;
}

}  // namespace

Reach find_reach(const Census& census, const choose::Settings& settings) {
  const bool heap_allowed = settings.reach == Limit::any || settings.reach == Limit::direct;
  const bool kernel_allowed = settings.reach == Limit::any || settings.reach == Limit::kernel;
  Reach reach;
  reach.peers.resize(census.cards.size());
  reach.heap_why_not = heap_allowed ? "" : "COPSE_REACH forbids it";
  reach.kernel_why_not = kernel_allowed ? "" : "COPSE_REACH forbids it";
  for (std::size_t local = 0; local < census.here.size(); ++local) {
    const int other = census.here[local];
    const Card& card = census.card(other);
    engine::Peer& peer = reach.peers[static_cast<std::size_t>(other)];
    peer.local = static_cast<int>(local);
    peer.same_process = card.process == census.mine().process;
    if (!peer.same_process) peer.process = engine::Process::find({card.pid, card.started});
    if (other == census.rank) {  // where this rank's own buffers must lie to be reached
      peer.heap_base = card.heap_base;
      peer.heap_bytes = card.heap_bytes;
    }
    if (peer.same_process) continue;
    reach.threads = false;
    if (heap_allowed) map_heap(census, other, reach);
  }
  if (kernel_allowed) try_kernel(census, reach);
  return reach;
}

}  // namespace copse::communicator
