// Stand-ins in the shared heap for buffers of a call that lie elsewhere. They are used where peers reach nothing but the
// heap.
#pragma once

#include <cstddef>
#include <vector>

#include "engine/call.hpp"
#include "engine/program.hpp"
#include "engine/reach/peer.hpp"

namespace copse::engine {

// The memory of the stand-ins comes from malloc, which the heap's library has replaced. Blocks lie one after the other in it.
class StandIns {
 public:
  // Copies what the buffers hold. `me` is this rank, and `heap` is where its own buffers must lie.
  StandIns(const Program& program, const Call& call, int me, const Peer& heap);

  // Returns the call with the stand-ins in it, or null, with errno set, if the heap is full.
  [[nodiscard]] const Call* call() const { return usable_ ? &call_ : nullptr; }
  // Brings the result to where it belongs, after the call.
  void deliver() const;

 private:
  struct Half {
    std::byte* buffer = nullptr;
    std::vector<Block> blocks;      // in the buffer
    std::vector<std::byte> memory;  // empty: the original buffer is used
    std::vector<Block> packed;      // in the memory
  };
  [[nodiscard]] bool reachable(const Peer& heap, const Half& side) const;
  void stand_in(Half& side, bool filled) const;

  Call call_;
  Half input_, output_;
  bool usable_ = true;
};

}  // namespace copse::engine
