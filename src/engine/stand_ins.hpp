// Stand-ins, in the shared heap, for buffers of a call that lie elsewhere: where peers reach nothing but the heap.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/call.hpp"
#include "engine/program.hpp"
#include "engine/reach/peer.hpp"

namespace copse::engine {

// Their memory comes from malloc, which the heap's library has replaced. Blocks stand one after the other in them.
class StandIns {
 public:
  // Copies what the buffers hold. `me` is this rank, `heap` where its own buffers must lie.
  StandIns(const Program &program, const Call &call, int me, const Peer &heap);

  // The call with the stand-ins in it; null, with errno set, if the heap is full.
  [[nodiscard]] const Call *call() const { return usable_ ? &call_ : nullptr; }
  // After the call: brings the result to where it belongs.
  void deliver() const;

 private:
  struct Side {
    std::byte *buffer = nullptr;
    std::vector<Block> blocks;      // there
    std::vector<std::byte> memory;  // empty: the original buffer is used
    std::vector<Block> packed;      // within the memory
  };
  [[nodiscard]] bool reachable(const Peer &heap, const Side &side) const;
  void stand_in(Side &side, bool filled) const;

  Call call_;
  Side input_, output_;
  bool usable_ = true;
};

}  // namespace copse::engine
