// A communicator runs what choose::resolve says without a communicator.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "../engine/ranks.hpp"
#include "choose/chooser.hpp"

namespace copse::test {
namespace {

using algorithms::Collective;
using communicator::Arguments;
using communicator::Communicator;

constexpr std::size_t kMost = 65537;

// Returns the situation that Communicator::create finds for threads in one NUMA region.
choose::Situation situation_of(const Communicator& comm, const choose::Settings& settings) {
  const communicator::Capabilities& can = comm.capabilities();
  choose::Situation situation;
  situation.ranks = comm.ranks();
  situation.nodes = can.nodes;
  situation.oversubscribed = can.oversubscribed;
  situation.direct = can.threads;
  situation.addressable = situation.anywhere = can.threads && settings.reach != choose::ReachLimit::staged;
  return situation;
}

std::byte value_at(int rank, std::size_t at) { return static_cast<std::byte>(static_cast<std::size_t>(rank) * 37 + at * 11); }

// Checks what a rank has after a scatter of `bytes` from rank 0, in which every byte tells its place.
std::string wrong_in(const std::vector<std::byte>& output, int rank, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (output[i] != value_at(0, static_cast<std::size_t>(rank) * bytes + i))
      return "a scatter of " + std::to_string(bytes) + ": byte " + std::to_string(i);
  return {};
}

std::string runs_as_told(Communicator& comm, const choose::Settings& settings) {
  const choose::Situation situation = situation_of(comm, settings);
  const auto ranks = static_cast<std::size_t>(comm.ranks());
  std::vector<std::byte> input(ranks * kMost), output(ranks * kMost);
  for (std::size_t i = 0; i < input.size(); ++i) input[i] = value_at(comm.rank(), i);
  for (const Collective collective : {Collective::gather, Collective::scatter, Collective::allgather, Collective::alltoall}) {
    for (const std::size_t bytes :
         {1, 8, 24, 25, 30, 31, 40, 41, 64, 120, 121, 256, 257, 512, 513, 1024, 1025, 4097, 8193, 32769, 65536, 65537}) {
      const auto [decision, cut] = choose::resolve(settings, situation, collective, bytes, 1, {});
      const std::pair key(std::string(algorithms::name_of(collective)),
                          std::string(decision.algorithm->name) + " " + plan::name_of(decision.carrier));
      const std::uint64_t before = comm.trace().ran[key].calls;
      if (comm.run({.collective = collective, .input = input.data(), .output = output.data(), .count = bytes}) !=
          engine::Outcome::done)
        return "a call ended badly";
      if (comm.trace().ran[key].calls != before + 1)
        return key.first + " of " + std::to_string(bytes) + " did not run as " + key.second;
      if (collective != Collective::scatter) continue;
      if (std::string wrong = wrong_in(output, comm.rank(), bytes); !wrong.empty()) return wrong;
    }
  }
  return {};
}

// Some settings force algorithms that cannot run. Then the default runs, and it must fit in its lines.
TEST(Choice, IsWhatRuns) {
  std::vector<choose::Settings> all(3);
  all[1].reach = all[2].reach = choose::ReachLimit::staged;
  for (const Collective collective : {Collective::gather, Collective::scatter})
    all[2].forced.push_back({collective, algorithms::find(collective, "token_ring"), {}, {}});
  all[2].forced.push_back({Collective::alltoall, algorithms::find(Collective::alltoall, "bruck"), {}, {}});
  for (choose::Settings& settings : all) {
    settings.trace = true;
    for (const int ranks : {2, 3, 5})
      EXPECT_EQ(run_ranks(Kind::threads, ranks, settings, [&](Communicator& comm) { return runs_as_told(comm, settings); }), "");
  }
}

}  // namespace
}  // namespace copse::test
