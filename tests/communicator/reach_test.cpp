// What is agreed when one rank only cannot do what the others can.
#include <gtest/gtest.h>
#include <unistd.h>

#include "../engine/ranks.hpp"
#include "communicator/name_meeting.hpp"
#include "refusal.hpp"

namespace copse::test {
namespace {

TEST(Reach, ProcessVmRefusedOnOneRank) {
  const std::string name = "reach-" + std::to_string(getpid());
  const std::vector<std::string> complaints = in_processes(3, [&](int rank) -> std::string {
    if (rank == 1 && !refuse(SYS_process_vm_readv)) return "skip";
    std::string why;
    auto bootstrap = communicator::meet_by_name(name, rank, 3, communicator::Deadline::after(10), why);
    if (!bootstrap) return why;
    const auto comm = communicator::Communicator::create(std::move(bootstrap), nullptr, {}, why);
    if (!comm) return why;
    const communicator::Capabilities &can = comm->capabilities();
    if (can.kernel) return "kernel reach is taken to work";
    if (can.kernel_why_not.find("rank 1") == std::string::npos) return "why not: " + can.kernel_why_not;
    if (rank == 1 && can.kernel_why_not.find("not permitted") == std::string::npos)
      return "why not: " + can.kernel_why_not;
    engine::Combine combine;
    combine.kernel = kernels::reduce_kernel(COPSE_SUM, COPSE_INT32);
    for (const std::size_t count : {1, 1000, 300000}) {
      std::vector<std::int32_t> in(count, rank + 1), out(count);
      const communicator::Outcome outcome = comm->allreduce(in.data(), out.data(), count, 4, combine);
      if (outcome != communicator::Outcome::done) return comm->explain(outcome);
      if (out != std::vector<std::int32_t>(count, 6)) return "a wrong allreduce";
      if (comm->broadcast(in.data(), count * 4, 2) != communicator::Outcome::done) return "broadcast";
      if (in != std::vector<std::int32_t>(count, 3)) return "a wrong broadcast";
    }
    return {};
  });
  if (complaints[1] == "skip") GTEST_SKIP() << "no seccomp here";
  for (const std::string &complaint : complaints) EXPECT_EQ(complaint, "");
}

TEST(Reach, TheUsersWordLimitsIt) {
  for (const choose::ReachLimit limit : {choose::ReachLimit::kernel, choose::ReachLimit::staged}) {
    choose::Settings settings;
    settings.reach = limit;
    EXPECT_EQ(run_ranks(Kind::processes, 2, settings,
                        [limit](communicator::Communicator &comm) -> std::string {
                          const communicator::Capabilities &can = comm.capabilities();
                          if (can.kernel == (limit == choose::ReachLimit::kernel)) return {};
                          return "kernel reach: " + can.kernel_why_not;
                        }),
              "");
  }
}

}  // namespace
}  // namespace copse::test
