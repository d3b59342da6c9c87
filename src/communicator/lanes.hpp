// Lanes are streams of calls beside a communicator's own. Calls of different lanes need no common order, because each lane has
// tickets, lines, slots and progress words of its own.
//
// The memory comes in blocks of lanes. The first rank of each node makes a block, and the others map it. All ranks take lanes
// in the same order, so they agree on the numbers without a message as long as lanes are left. A lane that this rank has given
// back is free once all ranks have given it back. The ranks find that out when they run out of lanes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/plots.hpp"
#include "engine/reach/shared_memory.hpp"
#include "engine/segment.hpp"

namespace copse::communicator {

// The ranks among which lanes are made, and what these are made from.
struct LaneGround {
  Bootstrap& bootstrap;
  const Ground& ground;
  const engine::Segment& main;  // where the communicator's own stream runs
  int ranks_here, most_on_a_node;
  std::size_t most;             // lanes that there may be
  std::uint64_t first_ticket;   // of a new lane
};

struct Lane {
  int number = 0;
  std::uint64_t ticket = 0;  // of its next call; the same on all ranks
  std::shared_ptr<engine::Mapping> memory;
  engine::Segment segment;
};

class Lanes {
 public:
  // Makes memory for `among.most` lanes, or for as many as there can be. This is collective over the ranks. Returns false, with the
  // reason, if they could not be gathered.
  [[nodiscard]] bool prepare(const LaneGround& among, std::string& why_not);
  [[nodiscard]] bool any_free() const { return !free_.empty(); }
  // Takes a lane. This is collective over the ranks, which may wait for one another. If no lane is left, the result is
  // empty on all ranks, and `why_not` says why.
  std::optional<Lane> take(const LaneGround& among, std::string& why_not);
  // Gives a lane back. `ticket` is that of the call that would come next. Any thread may call this.
  void give_back(int number, std::uint64_t ticket);

 private:
  bool find_more(const LaneGround& among, std::string& why_not);
  bool reclaim(Bootstrap& bootstrap);
  void grow(const LaneGround& among, std::string& why_not);

  struct Entry {
    std::uint64_t ticket = 0;
    std::uint32_t block = 0;
    std::uint32_t place = 0;  // its number in the block
    bool given_back = false;  // by this rank
  };
  std::mutex mutex_;  // protects the entries; only one thread at a time takes lanes
  std::vector<Entry> entries_;  // one for each lane, by its number
  std::vector<std::shared_ptr<engine::Mapping>> blocks_;
  std::deque<int> free_;  // numbers of free lanes; the same on all ranks
};

}  // namespace copse::communicator
