// Finds buffers that lie outside the heap, and copies them there and back.
#include "engine/stand_ins.hpp"

#include <cerrno>
#include <cstring>

namespace copse::engine {
namespace {

// A buffer at address 0 has blocks at absolute addresses (MPI_BOTTOM).
std::byte* at(std::byte* buffer, const Block& block) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(buffer) + static_cast<std::uintptr_t>(block.offset));
}

}  // namespace

bool StandIns::reachable(const Peer& heap, const Half& side) const {
  for (const Block& block : side.blocks) {
    const std::size_t bytes = block.count * call_.element_bytes;
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(at(side.buffer, block)) - heap.heap_base;
    if (bytes > 0 && !(offset < heap.heap_bytes && bytes <= heap.heap_bytes - offset)) return false;
  }
  return true;
}

void StandIns::stand_in(Half& side, bool filled) const {
  std::size_t bytes = 0;
  for (const Block& block : side.blocks) {
    side.packed.push_back({static_cast<std::ptrdiff_t>(bytes), block.count});
    bytes += block.count * call_.element_bytes;
  }
  side.memory.resize(bytes);
  for (std::size_t i = 0; filled && i < side.blocks.size(); ++i)
    if (side.blocks[i].count > 0)
      std::memcpy(side.memory.data() + side.packed[i].offset, at(side.buffer, side.blocks[i]),
                  side.blocks[i].count * call_.element_bytes);
}

StandIns::StandIns(const Program& program, const Call& call, int me, const Peer& heap) : call_(call) {
  const auto side_of = [&](plan::Extent extent, const void* buffer, const Block* table) {
    Half side;
    if (buffer == nullptr && table == nullptr) return side;
    side.buffer = static_cast<std::byte*>(const_cast<void*>(buffer));
    const auto count = static_cast<std::size_t>(plan::blocks_in(extent, program.contents.owners(program.ranks)));
    for (std::size_t i = 0; i < count; ++i) {
      Block block{static_cast<std::ptrdiff_t>(i * call.count * call.element_bytes), call.count};
      if (table != nullptr) block = table[i];
      if (extent == plan::Extent::own && call.sizes != nullptr) block.count = call.sizes[me];
      if (extent == plan::Extent::own && call.untold) block.count = call.own;
      side.blocks.push_back(block);
    }
    return side;
  };
  input_ = side_of(program.contents.input, call.input, call.input_blocks);
  output_ = side_of(program.contents.output, call.output, call.output_blocks);

  const bool one_buffer = call.input == call.output && program.contents.blocks == 0;
  if (!reachable(heap, output_)) {
    stand_in(output_, one_buffer || call.ragged);  // the result may not fill the buffer
    call_.output = output_.memory.data();
    if (call.output_blocks != nullptr) call_.output_blocks = output_.packed.data();
    if (one_buffer) {
      call_.input = call_.output;
      input_ = {};
    }
  }
  if (!reachable(heap, input_)) {
    stand_in(input_, true);
    call_.input = input_.memory.data();
    if (call.input_blocks != nullptr) call_.input_blocks = input_.packed.data();
  }
  for (const Half* side : {&input_, &output_}) {
    const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(side->memory.data()) - heap.heap_base;
    usable_ &= side->memory.empty() || offset < heap.heap_bytes;
  }
  if (!usable_) errno = ENOMEM;
}

// What the call has left as it was is not written, because it may be memory that can only be read: in a broadcast, the buffer of
// the root is its output, too.
void StandIns::deliver() const {
  if (output_.memory.empty()) return;
  for (std::size_t i = 0; i < output_.blocks.size(); ++i) {
    const std::size_t bytes = output_.blocks[i].count * call_.element_bytes;
    std::byte* const there = at(output_.buffer, output_.blocks[i]);
    const std::byte* const here = output_.memory.data() + output_.packed[i].offset;
    if (bytes > 0 && std::memcmp(there, here, bytes) != 0) std::memcpy(there, here, bytes);
  }
}

}  // namespace copse::engine
