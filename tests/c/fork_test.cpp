// A process forks while it has a communicator. The child is another process and must let go of what it inherited.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

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
