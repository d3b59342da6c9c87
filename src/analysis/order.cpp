// Happens-before, and the accesses that it leaves unordered.
#include "analysis/order.hpp"

namespace copse::analysis {

Signal Clocks::signal(int rank) {
  const std::size_t size = ranks_ + 1;
  Signal signal{static_cast<std::uint32_t>(arena_.size() / size), now(rank)};
  if (released_.empty()) {
    arena_.resize(arena_.size() + size);
  } else {
    signal.snapshot = released_.back();
    released_.pop_back();
  }
  std::int32_t* snapshot = arena_.data() + signal.snapshot * size;
  std::copy_n(row(rank), ranks_, snapshot);
  snapshot[ranks_] = depths_[static_cast<std::size_t>(rank)] + 1;
  return signal;
}

void Clocks::learn(int rank, const Signal& signal) {
  const std::int32_t* theirs = arena_.data() + signal.snapshot * (ranks_ + 1);
  auto& depth = depths_[static_cast<std::size_t>(rank)];
  depth = std::max(depth, theirs[ranks_]);
  std::int32_t* mine = row(rank);
  for (std::size_t i = 0; i < ranks_; ++i) mine[i] = theirs[i] > mine[i] ? theirs[i] : mine[i];
}

void AccessOrder::shorten(int rank, Accesses& accesses) {
  std::int32_t* link = &accesses.reads;
  while (*link >= 0) {
    const std::int32_t node = *link;
    Read& read = reads_[static_cast<std::size_t>(node)];
    if (clocks_.knows(rank, read.epoch)) {
      *link = read.next;
      read.next = free_;
      free_ = node;
      --accesses.length;
    } else {
      link = &read.next;
    }
  }
  accesses.limit = static_cast<std::uint16_t>(std::min(2 * accesses.length + 4, 0xffff));
}

std::optional<Epoch> AccessOrder::read(int rank, Accesses& accesses) {
  if (accesses.length >= accesses.limit) shorten(rank, accesses);
  const Read mine{clocks_.now(rank), accesses.reads};
  if (free_ >= 0) {
    accesses.reads = free_;
    free_ = reads_[static_cast<std::size_t>(free_)].next;
    reads_[static_cast<std::size_t>(accesses.reads)] = mine;
  } else {
    accesses.reads = static_cast<std::int32_t>(reads_.size());
    reads_.push_back(mine);
  }
  ++accesses.length;
  if (!clocks_.knows(rank, accesses.write)) return accesses.write;
  return std::nullopt;
}

template <class Knows>
std::optional<Epoch> AccessOrder::unknown_in(const Accesses& accesses, Knows&& knows) const {
  if (!knows(accesses.write)) return accesses.write;
  for (std::int32_t node = accesses.reads; node >= 0; node = reads_[static_cast<std::size_t>(node)].next) {
    const Epoch& epoch = reads_[static_cast<std::size_t>(node)].epoch;
    if (!knows(epoch)) return epoch;
  }
  return std::nullopt;
}

std::optional<Epoch> AccessOrder::conflict_of_write(int rank, const Accesses& accesses) const {
  return unknown_in(accesses, [&](Epoch event) { return clocks_.knows(rank, event); });
}

std::optional<Epoch> AccessOrder::conflict_of_write(const Signal& one, const Signal& other, const Accesses& accesses) const {
  return unknown_in(accesses, [&](Epoch event) { return clocks_.knows(one, event) || clocks_.knows(other, event); });
}

void AccessOrder::forget(Accesses& accesses) {
  while (accesses.reads >= 0) {
    const std::int32_t node = accesses.reads;
    accesses.reads = reads_[static_cast<std::size_t>(node)].next;
    reads_[static_cast<std::size_t>(node)].next = free_;
    free_ = node;
  }
  accesses = {};
}

std::optional<Epoch> AccessOrder::write(int rank, Accesses& accesses) {
  const auto conflict = conflict_of_write(rank, accesses);
  forget(accesses);
  accesses.write = clocks_.now(rank);
  return conflict;
}

}  // namespace copse::analysis
