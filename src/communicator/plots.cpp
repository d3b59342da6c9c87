// Plots of common memory: which are free, and where they lie.
#include "communicator/plots.hpp"

#include <algorithm>
#include <utility>

#include "communicator/common_memory.hpp"

namespace copse::communicator {
namespace {

constexpr std::size_t kBlockMost = 32;                         // plots in a block
constexpr std::size_t kBlockBytesMost = std::size_t{8} << 30;  // the memory is sparse, but addresses are not unlimited

}  // namespace

void Plots::begin(std::shared_ptr<engine::Mapping> memory, const engine::Geometry& geometry, std::uint64_t first_ticket) {
  const std::lock_guard lock(mutex_);
  geometry_ = geometry;
  ticket_ = first_ticket;
  entries_.push_back({std::move(memory)});
}

Plots::Set Plots::free_ones(std::uint64_t& ticket) const {
  Set free{};
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i)
    if (entries_[i].free) free[i / 64] |= std::uint64_t{1} << i % 64;
  ticket = ticket_;
  return free;
}

bool Plots::keeps_pages() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), [](const Entry& each) { return each.warm; })) <
         kWarm;
}

Plot Plots::take(int number) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  entry.free = entry.warm = false;
  return {number, entry.memory, engine::Segment(entry.memory->base() + entry.place, geometry_)};
}

// Tickets are compared by their signed difference, as everywhere.
void Plots::give_back(int number, std::uint64_t ticket, bool warm) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  entry.free = true;
  entry.warm = warm;
  if (static_cast<std::int64_t>(ticket - ticket_) > 0) ticket_ = ticket;
}

int Plots::grow(Bootstrap& bootstrap, const Ground& ground, int ranks_here) {
  const std::size_t first = entries_.size();  // only the thread that holds the kin changes it
  const std::size_t bytes = engine::Segment::bytes(geometry_, ranks_here);
  std::size_t count = std::min({2 * first, kBlockMost, kMost - first});
  count = std::min(count, std::max<std::size_t>(1, kBlockBytesMost / bytes));
  grows_ = grows_ && count > 0;
  if (!grows_) return -1;
  std::string why_not;
  const auto memory = share_memory(bootstrap, ground.leader, ground.leader_rank, count * bytes, why_not);
  grows_ = memory != nullptr;
  if (!grows_) return -1;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < count; ++i) entries_.push_back({memory, i * bytes, true});
  return static_cast<int>(first);
}

}  // namespace copse::communicator
