// Threads and forked processes as ranks.
#include "ranks.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "communicator/shared_bootstrap.hpp"

namespace copse::test {
namespace {

constexpr double kTimeout = 120;
constexpr std::size_t kComplaintBytes = 1024;

std::string run_rank(void *board, int rank, int ranks, const choose::Settings &settings,
                     const std::function<std::string(communicator::Communicator &)> &body) {
  try {
    std::string why;
    const auto communicator = communicator::Communicator::create(
        communicator::meet_in_memory(board, rank, ranks, kTimeout), nullptr, settings, why);
    return communicator ? body(*communicator) : why;
  } catch (const std::exception &error) {
    return error.what();
  }
}

}  // namespace

std::string run_ranks(Kind kind, int ranks, const choose::Settings &settings,
                      const std::function<std::string(communicator::Communicator &)> &body) {
  const std::size_t board_bytes = (communicator::board_bytes(ranks) + 4095) / 4096 * 4096;
  const std::size_t bytes = board_bytes + kComplaintBytes * static_cast<std::size_t>(ranks);
  auto *memory = static_cast<std::byte *>(
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) return "no memory for the test";
  const auto complaint_of = [&](int rank) {
    return reinterpret_cast<char *>(memory + board_bytes) + kComplaintBytes * static_cast<std::size_t>(rank);
  };
  const auto run = [&](int rank) {
    const std::string complaint = run_rank(memory, rank, ranks, settings, body);
    std::strncpy(complaint_of(rank), complaint.c_str(), kComplaintBytes - 1);
  };

  std::string result;
  if (kind == Kind::threads) {
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) threads.emplace_back(run, rank);
    for (std::thread &thread : threads) thread.join();
  } else {
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        run(rank);
        _exit(0);
      }
      children.push_back(child);
    }
    for (int rank = 0; rank < ranks; ++rank) {
      int status = 0;
      waitpid(children[static_cast<std::size_t>(rank)], &status, 0);
      if (status != 0) result += "rank " + std::to_string(rank) + " ended with status " + std::to_string(status) + "\n";
    }
  }
  for (int rank = 0; rank < ranks; ++rank)
    if (complaint_of(rank)[0] != 0) result += "rank " + std::to_string(rank) + ": " + complaint_of(rank) + "\n";
  munmap(memory, bytes);
  return result;
}

}  // namespace copse::test
