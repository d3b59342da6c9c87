// Takes lanes and gives them back.
#include "communicator/lanes.hpp"

#include <algorithm>
#include <cstring>

#include "communicator/common_memory.hpp"

namespace copse::communicator {
namespace {

constexpr std::size_t kFirstBlock = 16, kBlockMost = 64;  // lanes in the first block, and in any
constexpr std::size_t kBlockBytesMost = std::size_t{8} << 30;  // the memory is sparse, but addresses are not unlimited
constexpr std::size_t kFreeShare = 4;  // if at most one in this many lanes is free, a block is added

// A lane runs one call at a time. Its rings of lines are deep enough for a root to run some calls ahead of the others. It has
// the same slots as the communicator's own stream: with fewer, a long call takes twice the time, and slots that are not
// touched cost nothing.
engine::Geometry lane_geometry(const engine::Geometry& main) {
  engine::Geometry geometry = main;
  geometry.line_depth = 16;
  return geometry;
}

}  // namespace

std::optional<Lane> Lanes::take(const LaneGround& among, std::string& why_not) {
  if (free_.empty() && !find_more(among, why_not)) return std::nullopt;
  const int number = free_.front();
  free_.pop_front();
  const std::lock_guard lock(mutex_);
  const Entry& entry = entries_[static_cast<std::size_t>(number)];
  const engine::Geometry geometry = lane_geometry(among.main.geometry());
  const std::size_t bytes = engine::Segment::bytes(geometry, among.ranks_here);
  const std::shared_ptr<engine::Mapping>& memory = blocks_[entry.block];
  return Lane{number, entry.ticket, memory, engine::Segment(memory->base() + entry.place * bytes, geometry, among.main)};
}

void Lanes::give_back(int number, std::uint64_t ticket) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[static_cast<std::size_t>(number)];
  entry.ticket = ticket;
  entry.given_back = true;
}

bool Lanes::prepare(const LaneGround& among, std::string& why_not) {
  for (std::size_t before = SIZE_MAX; free_.size() < among.most && free_.size() != before;) {
    before = free_.size();
    grow(among, why_not);
  }
  return free_.size() == among.most || why_not != kNotGathered;
}

bool Lanes::find_more(const LaneGround& among, std::string& why_not) {
  if (!entries_.empty() && !reclaim(among.bootstrap)) {
    why_not = kNotGathered;
    return false;
  }
  if (kFreeShare * free_.size() <= entries_.size()) grow(among, why_not);
  return !free_.empty();
}

bool Lanes::reclaim(Bootstrap& bootstrap) {
  const std::size_t bytes = (entries_.size() + 7) / 8;
  std::vector<std::uint8_t> mine(bytes), all(bytes * static_cast<std::size_t>(bootstrap.ranks()));
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (entries_[i].given_back) mine[i / 8] |= static_cast<std::uint8_t>(1U << i % 8);
  }
  if (!bootstrap.allgather(mine.data(), all.data(), bytes)) return false;
  for (std::size_t i = 0; i < all.size(); ++i) mine[i % bytes] &= all[i];
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if ((mine[i / 8] >> i % 8 & 1U) == 0) continue;
    entries_[i].given_back = false;
    free_.push_back(static_cast<int>(i));
  }
  return true;
}

// Adds a block of lanes, as many on each node. If that is not possible, `why_not` says why.
void Lanes::grow(const LaneGround& among, std::string& why_not) {
  const engine::Geometry geometry = lane_geometry(among.main.geometry());
  const std::size_t lane_bytes = engine::Segment::bytes(geometry, among.ranks_here);
  std::size_t count = std::min(std::max(kFirstBlock, 4 * blocks_.size() * kFirstBlock), kBlockMost);
  const std::size_t largest = engine::Segment::bytes(geometry, among.most_on_a_node);  // a lane on the node with the most ranks
  count = std::max<std::size_t>(1, std::min(count, kBlockBytesMost / largest));
  count = std::min(count, among.most - std::min(among.most, entries_.size()));
  if (count == 0) {
    why_not = "more persistent calls at a time than the MPI has tags for";
    return;
  }
  const auto memory = share_memory(among.bootstrap, among.ground.leader, among.ground.leader_rank, count * lane_bytes, why_not);
  if (memory == nullptr) return;
  const std::lock_guard lock(mutex_);
  for (std::size_t place = 0; place < count; ++place) {
    free_.push_back(static_cast<int>(entries_.size()));
    entries_.push_back({among.first_ticket, static_cast<std::uint32_t>(blocks_.size()), static_cast<std::uint32_t>(place), false});
  }
  blocks_.push_back(memory);
}

}  // namespace copse::communicator
