// What works between the ranks of a communicator.
#pragma once

#include <string>

namespace copse::communicator {

// What the ranks agreed on when the communicator was made, and what does not work and why. `info`, `--trace` and errors show
// it.
struct Capabilities {
  int nodes = 1;                // nodes that the ranks sit on
  int ranks_here = 1;           // ranks on this node
  bool threads = false;         // all ranks of every node are threads of one process
  bool heap = false;            // every rank's shared heap is mapped by every rank of its node
  bool kernel = false;          // process_vm_readv and _writev work between all ranks of every node
  bool oversubscribed = false;  // more ranks than processors on some node
  bool streamed = false;        // slots are written past the caches at first
  std::string heap_why_not, kernel_why_not;
};

}  // namespace copse::communicator
