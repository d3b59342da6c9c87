// A process forks while it has a communicator. The child is another process and must let go of what it inherited.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "../engine/ranks.hpp"
#include "c_ranks.hpp"

namespace copse::test {
namespace {

bool maps_common_memory() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("/memfd:copse") != std::string::npos) return true;
  return false;
}

bool sums(copse_comm* comm) {
  const std::vector<double> in(100'000, 1);
  std::vector<double> out(in.size());
  return copse_allreduce(comm, in.data(), out.data(), in.size(), COPSE_DOUBLE, COPSE_SUM) == COPSE_OK &&
         out == std::vector<double>(in.size(), copse_comm_ranks(comm));
}

std::string fork_with_a_communicator(const std::string& name, int rank) {
  copse_comm* comm = nullptr;
  if (copse_comm_join(name.c_str(), rank, 2, 30, &comm) != COPSE_OK) return copse_comm_message(nullptr);
  if (!sums(comm) || !maps_common_memory()) return "no sum before the fork";
  const pid_t child = fork();
  if (child == 0) {
    const bool inherited = maps_common_memory();
    copse_comm_free(comm);  // as the destructor of a global object would do
    _exit(inherited ? 2 : 0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  if (!WIFEXITED(status)) return "the child crashed";
  if (WEXITSTATUS(status) != 0) return "the child still maps the common memory";
  if (!sums(comm)) return "no sum after the fork";
  copse_comm_free(comm);
  return {};
}

TEST(AForkedChild, FreesWhatItInherited) {
  const std::string name = fresh_name();
  EXPECT_EQ(all_well(in_processes(2, [&](int rank) { return fork_with_a_communicator(name, rank); })), "");
}

// Returns the inode of the file that is mapped at this address, or 0.
std::uint64_t inode_at(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    std::uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %" SCNu64, &begin, &end, &inode) != 3) continue;
    if (const auto at = reinterpret_cast<std::uintptr_t>(address); begin <= at && at < end) return inode;
  }
  return 0;
}

bool maps(std::uint64_t wanted) {
  std::ifstream all("/proc/self/maps");
  for (std::string line; std::getline(all, line);) {
    std::uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %" SCNu64, &inode) == 1 && inode == wanted) return true;
  }
  return false;
}

// spmd.sh starts this case twice, with the shared heap.
TEST(AForkedChild, HasNoHeapOfAPeer) {
  const char *const name = std::getenv("TEST_SPMD_NAME"), *const rank = std::getenv("TEST_SPMD_RANK");
  if (name == nullptr || rank == nullptr) GTEST_SKIP() << "the test fork_heap runs this case";
  copse_comm* comm = nullptr;
  ASSERT_EQ(copse_comm_join(name, std::atoi(rank), 2, 30, &comm), COPSE_OK) << copse_comm_message(nullptr);
  const std::vector<double> block(100'000, 1);
  std::vector<double> all(2 * block.size());
  ASSERT_EQ(copse_allgather(comm, block.data(), block.size() * sizeof(double), all.data()), COPSE_OK);
  const std::uint64_t mine = inode_at(block.data());
  std::array<std::uint64_t, 2> inodes{};
  ASSERT_EQ(copse_allgather(comm, &mine, sizeof mine, inodes.data()), COPSE_OK);
  const std::uint64_t peers = inodes[static_cast<std::size_t>(1 - std::atoi(rank))];
  EXPECT_NE(peers, 0U);
  EXPECT_TRUE(maps(peers)) << "nothing was copied straight out of the peer's heap";
  const pid_t child = fork();
  if (child == 0) _exit(maps(peers) ? 2 : 0);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  EXPECT_TRUE(sums(comm));
  copse_comm_free(comm);
}

// The threads of the helpers are not in the child, nor is the memory in which they get orders.
TEST(AForkedChild, FreesACommunicatorWithHelpers) {
  copse_meeting* meeting = nullptr;
  ASSERT_EQ(copse_meeting_create_with_helpers(1, 1, &meeting), COPSE_OK);
  std::thread helper([&] { copse_help_threads(meeting, 0); });
  copse_comm* comm = nullptr;
  ASSERT_EQ(copse_comm_create_threads(meeting, 0, &comm), COPSE_OK);
  const pid_t child = fork();
  if (child == 0) {
    copse_comm_free(comm);
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  copse_comm_free(comm);
  helper.join();
  copse_meeting_free(meeting);
}

}  // namespace
}  // namespace copse::test
