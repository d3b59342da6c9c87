// Ranks of one machine meet in a piece of memory: threads in memory of their process, processes in a memfd that
// rank 0 offers under a name.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "communicator/bootstrap.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

// The board on which each rank pins what it has to say. Zero when new.
struct Board;
[[nodiscard]] std::size_t board_bytes(int ranks);

// `memory` holds board_bytes(ranks) and outlives the bootstrap; `keep`, if any, is kept alive with it.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_in_memory(void *memory, int rank, int ranks, double timeout_seconds,
                                                        std::shared_ptr<void> keep = nullptr);

// Where threads of this process meet, each time that they make a communicator.
class Meeting {
 public:
  explicit Meeting(int ranks);
  [[nodiscard]] int ranks() const { return static_cast<int>(last_.size()); }
  // Whoever comes as a rank for the n-th time meets those who come as the others for the n-th time. Null if somebody
  // has come as this rank who still waits for others: two threads mean to be one rank. Once all ranks have come, nobody
  // needs the meeting any longer.
  [[nodiscard]] std::unique_ptr<Bootstrap> come(int rank, double timeout_seconds);

 private:
  struct Gathering;
  static std::shared_ptr<Gathering> gathering(int ranks);

  std::mutex mutex_;
  std::vector<std::shared_ptr<Gathering>> last_;  // to which each rank has come
};

// Processes of one machine (strictly: of one network and PID namespace) meet under a name: rank 0 listens on an
// abstract socket, which vanishes with its process, and tells every caller where its memory is. Null and a reason
// when that fails or takes longer than the time given.
[[nodiscard]] std::unique_ptr<Bootstrap> meet_by_name(const std::string &name, int rank, int ranks,
                                                      double timeout_seconds, std::string &why_not);

}  // namespace copse::communicator
