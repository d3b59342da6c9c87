// Measures process_vm_readv between two processes, as the engine calls it.
#include "measure/kernel.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <new>
#include <vector>

#include "engine/reach/peer.hpp"
#include "measure/crew.hpp"

namespace copse::measure {
namespace {

constexpr std::size_t kPage = 4096, kPages = 64;

// What the two processes tell each other. It lies in memory that both have.
struct Board {
  Gate gate{2};
  engine::ProcessId process[2];
  std::uintptr_t buffer[2] = {};
  bool works = true;
  double page_and_call = 0, call = 0, pages_and_call = 0;  // ns: a call for one page, for one byte, for all pages
  double together[2] = {};                                 // ns: a call for all pages, while the other process copies as many
};

// Returns the least of several times in ns, or their median. The median serves to find out what it costs if the other process
// copies at the same time, because the luckiest turn says nothing about that. If a copy is refused, sets `works` to false
// and returns 0.
double time_of(const engine::Peer& peer, std::byte* here, std::uintptr_t there, std::size_t bytes, bool& works, bool median) {
  std::array<double, 64> times{};
  for (double& time : times) {
    const auto begin = Clock::now();
    works = works && engine::kernel_read(peer, here, there, bytes);
    if (!works) return 0;
    time = ns_since(begin);
  }
  std::sort(times.begin(), times.end());
  return times[median ? times.size() / 2 : 0];
}

}  // namespace

std::optional<KernelCosts> kernel_costs(Pair pair, double most) {
  const Pages memory(sizeof(Board));
  Board& board = *new (memory.at()) Board;
  in_processes(std::array{pair.first, pair.second}, [&](std::size_t me) {
    std::vector<std::byte> theirs(kPage * (kPages + 1), std::byte{1}), mine(kPage * (kPages + 1), std::byte{2});
    const auto aligned = [](std::vector<std::byte>& bytes) {
      return reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(bytes.data()) + kPage - 1) / kPage * kPage);
    };
    board.process[me] = engine::this_process();
    board.buffer[me] = reinterpret_cast<std::uintptr_t>(aligned(theirs));
    board.gate.meet();
    engine::Peer peer;
    peer.process = engine::Process::find(board.process[1 - me]);
    std::byte* const here = aligned(mine);
    const std::uintptr_t there = board.buffer[1 - me];
    if (me == 0) {
      board.call = time_of(peer, here, there, 1, board.works, false);
      board.page_and_call = time_of(peer, here, there, kPage, board.works, false);
      board.pages_and_call = time_of(peer, here, there, kPage * kPages, board.works, true);
    }
    board.gate.meet();
    if (board.works) {
      bool works = true;
      board.together[me] = time_of(peer, here, there, kPage * kPages, works, true);
    }
    board.gate.meet();
  });
  if (!board.works) return std::nullopt;
  KernelCosts costs;
  const double moved = std::max(kPage / most, board.page_and_call - board.call);  // the bytes of a page, without what a page costs
  const double all = board.pages_and_call - board.call;
  costs.rate = kPage / moved;
  costs.page_ns = std::max(0.0, all / kPages - moved);
  costs.call_ns = std::max(0.0, board.call - costs.page_ns);
  const double together = (board.together[0] + board.together[1]) / 2 - board.call;
  // In a machine's file, contention lengthens only the time of a page.
  if (costs.page_ns > 0) costs.contention = std::max(0.0, (together - all) / kPages / costs.page_ns);
  return costs;
}

}  // namespace copse::measure
