// Ranks of one machine meet in a piece of memory: threads in memory of their process, processes in a memfd
// (communicator/name_meeting.hpp).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/deadline.hpp"

namespace copse::communicator {

// The board on which each rank pins what it has to say. Zero when new.
struct Board;
[[nodiscard]] std::size_t board_bytes(int ranks);

// `memory` holds board_bytes(ranks) and outlives the bootstrap; `keep`, if any, is kept alive with it. Until the
// bootstrap is settled, no round goes on behind the deadline.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_in_memory(void *memory, int rank, int ranks, Deadline deadline,
                                                        std::shared_ptr<void> keep = nullptr);

// Where threads of this process meet, each time that they make a communicator.
class Meeting {
 public:
  explicit Meeting(int ranks);
  [[nodiscard]] int ranks() const { return static_cast<int>(last_.size()); }
  // Whoever comes as a rank for the n-th time meets those who come as the others for the n-th time. Null if somebody
  // has come as this rank who still waits for others: two threads mean to be one rank. Once all ranks have come, nobody
  // needs the meeting any longer.
  [[nodiscard]] std::unique_ptr<Bootstrap> come(int rank, Deadline deadline);

 private:
  struct Gathering;
  static std::shared_ptr<Gathering> gathering(int ranks);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Gathering>> last_;  // to which each rank has come
};

}  // namespace copse::communicator
