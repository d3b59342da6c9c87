// How one rank touches another's buffer.
//
// direct  the peer's address is mine too (threads of a process), or lies in its shared heap, which I have mapped
// kernel  process_vm_readv / process_vm_writev: any buffer of a process on this node, single copy
//
// Which of them is decided per address, by its taker, from what the owner published: never from what only one
// side can see. Whether kernel reach works at all is probed and agreed when the communicator is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "engine/reach/process.hpp"

namespace copse::engine {

// A rank as others reach it. Filled when the communicator is made.
struct Peer {
  int local = -1;              // number among the ranks of my node; -1 on another node
  bool same_process = false;
  std::uintptr_t heap_base = 0;  // its shared heap: where it lies there,
  std::size_t heap_bytes = 0;    // how long it is (0: none, or not mapped),
  std::byte *heap_here = nullptr;  // and where I have mapped it
  std::shared_ptr<Process> process;  // of a rank of my node; null: this one

  // Where I can load and store what lies at `address` there, or null: then the kernel must copy.
  [[nodiscard]] std::byte *direct(std::uintptr_t address) const {
    if (same_process) return reinterpret_cast<std::byte *>(address);
    if (address - heap_base < heap_bytes) return heap_here + (address - heap_base);
    return nullptr;
  }
};

// Copies between my memory and a peer's, whole or not at all: false, with errno set. Never touches another process that
// the system has given the id of one that has ended.
[[nodiscard]] bool kernel_read(const Peer &peer, void *mine, std::uintptr_t theirs, std::size_t bytes);
[[nodiscard]] bool kernel_write(const Peer &peer, const void *mine, std::uintptr_t theirs, std::size_t bytes);

}  // namespace copse::engine
