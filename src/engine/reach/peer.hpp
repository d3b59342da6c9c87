// How one rank touches another's buffer.
//
// direct  the peer's address is valid here, too (threads of a process), or lies in its shared heap, which is mapped here
// kernel  process_vm_readv / process_vm_writev: any buffer of a process on this node, single copy
//
// The rank that takes an address decides which of them to use for it. It decides from what the owner published, never from
// what only one side can see. Whether kernel reach works at all is probed and agreed when the communicator is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/reach/process.hpp"

namespace copse::engine {

// A rank as others reach it. The fields are filled when the communicator is made.
struct Peer {
  int local = -1;              // number among the ranks of this node; -1 on another node
  bool same_process = false;
  std::uintptr_t heap_base = 0;  // address of its shared heap in its process
  std::size_t heap_bytes = 0;    // size of that heap; 0: none, or not mapped
  std::byte* heap_here = nullptr;  // where it is mapped in this process
  std::shared_ptr<Process> process;  // the process of a rank of this node; null: this one

  // Returns where this rank can load and store what lies at the peer's `address`, or null if the kernel must copy.
  [[nodiscard]] std::byte* direct(std::uintptr_t address) const {
    if (same_process) return reinterpret_cast<std::byte*>(address);
    if (address - heap_base < heap_bytes) return heap_here + (address - heap_base);
    return nullptr;
  }
};

// Copies all bytes between this rank's memory and a peer's. Returns false, with errno set, if it cannot. Never touches
// another process to which the system has given the id of one that has ended.
[[nodiscard]] bool kernel_read(const Peer& peer, void* mine, std::uintptr_t theirs, std::size_t bytes);
[[nodiscard]] bool kernel_write(const Peer& peer, const void* mine, std::uintptr_t theirs, std::size_t bytes);

}  // namespace copse::engine
