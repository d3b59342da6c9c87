// Lays blocks out, packs them and unpacks them.
#include "sides.hpp"

#include <algorithm>

namespace copse::mpi {

const Datatype* SideMemory::other_type(Raw raw) {
  const std::uint64_t freed = detail::types_freed.load(std::memory_order_relaxed);
  const Datatype* found = datatype_of(raw);
  if (found == nullptr) return found;
  if (found->derived && outlives) found = types.emplace_back(kept(*found)).get();
  last_raw_ = raw;
  freed_ = freed;
  return last_ = found;
}

void Side::begin_table(const void* buffer) {
  const auto blocks = static_cast<std::size_t>(ranks_);
  table_.used = true;
  blocks_ = ranks_;
  first_.at = static_cast<char*>(const_cast<void*>(buffer));
  kept_.pieces.resize(blocks);
  kept_.blocks.resize(blocks);
}

Piece Side::piece(int index) const {
  if (table_.used) return kept_.pieces[static_cast<std::size_t>(index)];
  Piece piece = first_;
  if (piece.count > 0)
    piece.at =
        moved(piece.at, static_cast<std::ptrdiff_t>(index) * static_cast<std::ptrdiff_t>(first_.count) * first_.type->extent);
  return piece;
}

bool Side::prepare_packed() {
  dense_ = false;
  const std::size_t all = table_.one    ? communicator::largest(kept_.blocks.data(), ranks_)
                          : table_.used ? bytes_
                                        : given_ * static_cast<std::size_t>(blocks_);
  memory_ = static_cast<char*>(kept_.packed.reserve(std::max<std::size_t>(1, all)));
  std::ptrdiff_t at = 0;
  for (int rank = 0; table_.used && rank < ranks_; ++rank) {
    communicator::Block& block = kept_.blocks[static_cast<std::size_t>(rank)];
    block.offset = at;
    if (!table_.one) at += static_cast<std::ptrdiff_t>(block.count);
  }
  return memory_ != nullptr;
}

Side::Range Side::range() const {
  if (!dense_) return {0, 0};
  if (table_.used) return table_.range;
  const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(first_.at);
  return {begin, begin + bytes_ * static_cast<std::size_t>(blocks_)};
}

bool Side::may_overlap(const Side* other) const {
  if (dense_ && !table_.rising) return true;
  if (other == nullptr) return false;
  const Range here = range(), there = other->range();
  return here.begin < there.end && there.begin < here.end;
}

void Side::add_spans(std::vector<communicator::Span>& spans, bool written, const char* name) const {
  const auto add = [&](std::uintptr_t begin, std::uintptr_t end) {
    if (dense_ && begin < end) spans.push_back({begin, end, written, name});
  };
  if (!table_.used) add(range().begin, range().end);
  for (int rank = 0; table_.used && rank < ranks_; ++rank) {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory(rank));
    add(begin, begin + bytes(rank));
  }
}

// A program that breaks MPI's rules may give more than there is room for. What fits is loaded.
int Side::load(int rank) {
  const Piece from = piece(rank);
  if (dense_ || from.count == 0 || from.type->size == 0) return MPI_SUCCESS;
  const std::size_t fits = table_.used ? from.count : std::min(from.count, given_ / from.type->size);
  const int error = fits > 0 ? pack(*from.type, from.at, fits, memory(rank)) : MPI_SUCCESS;
  return error == MPI_SUCCESS && fits < from.count ? MPI_ERR_TRUNCATE : error;
}

int Side::load_packed() {
  for (int i = 0; i < blocks_; ++i) {
    if (const int error = load(i); error != MPI_SUCCESS) return error;
    if (table_.one && piece(i).count > 0) break;  // the others are this one
  }
  return MPI_SUCCESS;
}

int Side::store_packed() {
  if (refused_) return MPI_ERR_BUFFER;
  for (int i = 0; i < blocks_; ++i) {
    const Piece to = piece(i);
    if (to.count == 0 || to.type->size == 0) continue;
    const std::size_t come = table_.used ? to.count : std::min(to.count, given_ / to.type->size);
    const int error = come > 0 ? unpack(*to.type, memory(i), to.at, come) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) return error;
  }
  return MPI_SUCCESS;
}

}  // namespace copse::mpi
