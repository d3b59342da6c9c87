// The plans of all ranks are built and walked for 65,536 ranks, in less than 8 GiB. Every row of the registry is tried by every
// carrier, but for the rows that are named below.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/outline.hpp"
#include "many_ranks.hpp"
#include "rows.hpp"

namespace copse::analysis {
namespace {

using algorithms::Algorithm;
using algorithms::Collective;
using plan::Carrier;

constexpr int kRanks = 65'536;
constexpr double kGiB = 1 << 30, kMostGiB = 8;
constexpr double kMostSeconds = 120;  // of a processor; many times what any row takes

// Rows that are left out: each rank deals with every other, or names a part of the message for every other. So the plans of all
// ranks are as long as the square of their number.
struct LeftOut {
  Collective collective;
  std::vector<std::string_view> names;  // empty: all rows of the collective
  const char* why;
};
const LeftOut kLeftOut[] = {
    {Collective::barrier, {"flat"}, "every rank signals every other"},
    {Collective::broadcast, {"scatter_ring", "scatter_doubling"}, "every rank gets a tile from the share of every other"},
    {Collective::reduce, {"tiled"}, "every rank reduces a tile out of every other's message"},
    {Collective::reduce, {"rabenseifner"}, "every rank gives away halves of what is cut into a tile for each rank"},
    {Collective::allreduce, {"exchange"}, "every rank takes every message"},
    {Collective::allreduce, {"tiled", "tiled_cyclic"}, "every rank reduces a tile out of every other's message"},
    {Collective::allreduce, {"ring", "rabenseifner", "movement_avoiding"}, "every rank gets the finished tile of every other"},
    {Collective::allreduce, {"multi_lane"}, "every leader gets the finished piece of every node"},
    {Collective::scan, {"flat"}, "every rank takes the messages of all before it"},
    {Collective::exscan, {"flat"}, "every rank takes the messages of all before it"},
    {Collective::allgather, {}, "every rank gets the block of every other"},
    {Collective::alltoall, {}, "every rank has a block for every other"},
    {Collective::reduce_scatter, {}, "every rank has a block for every other"},
    {Collective::neighbor_alltoall, {}, "every rank may have a block for every other"},
};

const LeftOut* left_out(const Algorithm& row) {
  const auto names = [&](const LeftOut& each) {
    return each.collective == row.collective &&
           (each.names.empty() || std::find(each.names.begin(), each.names.end(), row.name) != each.names.end());
  };
  const auto at = std::find_if(std::begin(kLeftOut), std::end(kLeftOut), names);
  return at == std::end(kLeftOut) ? nullptr : at;
}

std::vector<const Algorithm*> rows_that_are(bool out) {
  std::vector<const Algorithm*> result = rows();
  std::erase_if(result, [&](const Algorithm* row) { return (left_out(*row) != nullptr) != out; });
  return result;
}

// What a process took: its status as of waitpid(), the most memory that was resident, and processor time.
struct Usage {
  int status = 0;
  double gib = 0, seconds = 0;
};

// Lets a child do the work, which says whether it succeeded. A child that takes twice the memory that it may have is ended before
// it takes the machine's.
template <class Work>
Usage usage_of(Work&& work) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    [&]() noexcept {  // what it throws must not come to the tests' own handler
      const rlimit bound{static_cast<rlim_t>(2 * kMostGiB * kGiB), static_cast<rlim_t>(2 * kMostGiB * kGiB)};
      _exit(setrlimit(RLIMIT_AS, &bound) == 0 && work() ? 0 : 1);
    }();
  }
  Usage usage;
  rusage spent{};
  EXPECT_EQ(wait4(child, &usage.status, 0, &spent), child);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  usage.gib = static_cast<double>(spent.ru_maxrss) * 1024 / kGiB;
  usage.seconds = seconds(spent.ru_utime) + seconds(spent.ru_stime);
  return usage;
}

class Many : public RowTest {};

TEST_P(Many, AreBuiltAndWalkedInLittleMemory) {
  for (int number = 0; number < plan::kCarriers; ++number) {
    const auto carrier = static_cast<Carrier>(number);
    if (!GetParam()->carries(carrier)) continue;
    Variant variant = variant_of(*GetParam(), carrier, kRanks);
    std::string why = refusal_of(variant);
    if (!why.empty()) {  // areas are numbered up to 14, and where rounds have a radix, a larger one needs fewer
      variant.radix = 4;
      why = refusal_of(variant);
    }
    if (!why.empty()) {
      EXPECT_NE(why.find("its plan needs more "), std::string::npos) << why;
      continue;
    }
    const Usage usage = usage_of([&] {
      variant.plans = build_plans(variant);
      return outline_of(variant).steps >= static_cast<std::uint64_t>(kRanks);
    });
    EXPECT_EQ(usage.status, 0) << variant.name();
    EXPECT_LT(usage.gib, kMostGiB) << variant.name();
    EXPECT_LT(usage.seconds, kMostSeconds) << variant.name();
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, Many, testing::ValuesIn(rows_that_are(false)), label);

// Counts steps, and the parts of the message that they name.
std::uint64_t parts_named(const Algorithm& row, int ranks) {
  static const topology::Machine machine =
      topology::Machine::from("package:1 core:4 pu:1");  // many nodes, for rows that go by them
  int carrier = 0;
  while (!row.carries(static_cast<Carrier>(carrier))) ++carrier;
  Variant variant = variant_of(row, static_cast<Carrier>(carrier), ranks, machine);
  variant.root = algorithms::traits_of(row.collective).along_edges ? 1 : 0;  // of graphs, the one with all edges
  std::uint64_t parts = 0;
  const auto plans = build_plans(variant);
  for (const plan::Plan& plan : *plans) {
    parts += plan.steps.size();
    for (const plan::Step& step : plan.steps)
      for (const plan::Operand* operand : {&step.dst, &step.dst2, &step.a, &step.b})
        if (operand->space != plan::Space::none) parts += operand->range.count;
  }
  return parts;
}

class LeftOutRows : public RowTest {};

TEST_P(LeftOutRows, GrowWithTheSquareOfTheRanks) {
  EXPECT_GT(parts_named(*GetParam(), 256), 8 * parts_named(*GetParam(), 64))
      << "left out, but not because " << left_out(*GetParam())->why;
}

INSTANTIATE_TEST_SUITE_P(Rows, LeftOutRows, testing::ValuesIn(rows_that_are(true)), label);

TEST(LeftOut, NamesRowsThatThereAre) {
  for (const LeftOut& each : kLeftOut)
    for (const std::string_view name : each.names) EXPECT_NE(algorithms::find(each.collective, name), nullptr) << name;
}

}  // namespace
}  // namespace copse::analysis
