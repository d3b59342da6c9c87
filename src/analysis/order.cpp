// Happens-before, and the accesses that it leaves unordered.
#include "analysis/order.hpp"

namespace copse::analysis {

Clocks::Snapshot Clocks::snapshot(int rank) {
  const auto start = static_cast<Snapshot>(arena_.size());
  const auto* from = row(rank);
  arena_.insert(arena_.end(), from, from + ranks_);
  return start;
}

bool Clocks::join(int rank, Snapshot snapshot) {
  auto* mine = row(rank);
  const auto* theirs = arena_.data() + snapshot;
  std::uint32_t news = 0;
  for (std::uint32_t i = 0; i < ranks_; ++i) {
    news |= static_cast<std::uint32_t>(theirs[i] > mine[i]);
    mine[i] = theirs[i] > mine[i] ? theirs[i] : mine[i];
  }
  return news != 0;
}

std::optional<Epoch> AccessOrder::read(int rank, Accesses& accesses) {
  std::int32_t* link = &accesses.reads;
  while (*link >= 0) {
    const std::int32_t node = *link;
    Read& read = reads_[static_cast<std::size_t>(node)];
    if (clocks_.knows(rank, read.epoch)) {
      *link = read.next;
      read.next = free_;
      free_ = node;
    } else {
      link = &read.next;
    }
  }
  const Read mine{clocks_.now(rank), accesses.reads};
  if (free_ >= 0) {
    accesses.reads = free_;
    free_ = reads_[static_cast<std::size_t>(free_)].next;
    reads_[static_cast<std::size_t>(accesses.reads)] = mine;
  } else {
    accesses.reads = static_cast<std::int32_t>(reads_.size());
    reads_.push_back(mine);
  }
  if (!clocks_.knows(rank, accesses.write)) return accesses.write;
  return std::nullopt;
}

std::optional<Epoch> AccessOrder::conflict_of_write(int rank, const Accesses& accesses) const {
  if (!clocks_.knows(rank, accesses.write)) return accesses.write;
  for (std::int32_t node = accesses.reads; node >= 0; node = reads_[static_cast<std::size_t>(node)].next) {
    const Epoch& epoch = reads_[static_cast<std::size_t>(node)].epoch;
    if (!clocks_.knows(rank, epoch)) return epoch;
  }
  return std::nullopt;
}

void AccessOrder::forget(Accesses& accesses) {
  while (accesses.reads >= 0) {
    const std::int32_t node = accesses.reads;
    accesses.reads = reads_[static_cast<std::size_t>(node)].next;
    reads_[static_cast<std::size_t>(node)].next = free_;
    free_ = node;
  }
  accesses.write = {};
}

std::optional<Epoch> AccessOrder::write(int rank, Accesses& accesses) {
  const auto conflict = conflict_of_write(rank, accesses);
  forget(accesses);
  accesses.write = clocks_.now(rank);
  return conflict;
}

}  // namespace copse::analysis
