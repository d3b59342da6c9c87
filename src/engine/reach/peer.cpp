// Kernel reach: cross-memory attach.
#include "engine/reach/peer.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace copse::engine {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 30;  // the kernel moves less than 2 GiB at a time

template <class Move>
bool move_all(Process* process, std::byte* mine, std::uintptr_t theirs, std::size_t bytes, Move move) {
  while (bytes > 0) {
    if (process == nullptr || process->ended_lately()) {
      errno = ESRCH;
      return false;
    }
    iovec local{mine, std::min(bytes, kMost)};
    iovec remote{reinterpret_cast<void*>(theirs), local.iov_len};
    const ssize_t moved = move(process->pid(), &local, 1, &remote, 1, 0);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    mine += moved;
    theirs += static_cast<std::uintptr_t>(moved);
    bytes -= static_cast<std::size_t>(moved);
  }
  return true;
}

}  // namespace

bool kernel_read(const Peer& peer, void* mine, std::uintptr_t theirs, std::size_t bytes) {
  return move_all(peer.process.get(), static_cast<std::byte*>(mine), theirs, bytes, process_vm_readv);
}

bool kernel_write(const Peer& peer, const void* mine, std::uintptr_t theirs, std::size_t bytes) {
  return move_all(peer.process.get(), static_cast<std::byte*>(const_cast<void*>(mine)), theirs, bytes, process_vm_writev);
}

}  // namespace copse::engine
