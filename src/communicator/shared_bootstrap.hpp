// Ranks of one machine meet in a piece of memory. Threads meet in memory of their process, and processes in a memfd
// (communicator/name_meeting.hpp).
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "communicator/deadline.hpp"
#include "engine/reach/process.hpp"

namespace copse::communicator {

// A board is where a rank pins what it has to say. It is zero when new.
struct Board;
[[nodiscard]] std::size_t board_bytes(int ranks);

// Notes which process is `rank`, so that the others notice if it ends. Each rank does so when it comes, and the rank that has made
// the memory may do so before.
void expect_on_board(void* memory, int rank, engine::ProcessId process);
// Says that `rank` takes part in nothing. The second form is for a rank that could not map the memory of this descriptor.
void leave_board(void* memory, int rank);
void leave_board_of(int descriptor, int rank);

// `memory` holds board_bytes(ranks) and must outlive the bootstrap. `keep`, if there is one, is kept alive with the bootstrap.
// Until the bootstrap is settled, no round goes on beyond the deadline.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_in_memory(void* memory, int rank, int ranks, Deadline deadline,
                                                        std::shared_ptr<void> keep = nullptr);

// Threads of this process meet here each time that they make a communicator.
class Meeting {
 public:
  explicit Meeting(int ranks);
  [[nodiscard]] int ranks() const { return static_cast<int>(last_.size()); }
  // The thread that comes as a rank for the n-th time meets those that come as the others for the n-th time. Returns null if a
  // thread that has come as this rank still waits for others: then two threads mean to be one rank. Once all ranks have come,
  // nobody needs the meeting any longer.
  [[nodiscard]] std::unique_ptr<Bootstrap> come(int rank, Deadline deadline);

 private:
  struct Gathering;
  static std::shared_ptr<Gathering> gathering(int ranks);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Gathering>> last_;  // the gathering to which each rank has come last
};

}  // namespace copse::communicator
