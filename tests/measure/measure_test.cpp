// What a calibration makes of its measurements. The numbers themselves are the machine's; only their bounds can be tested.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <stdexcept>

#include "measure/calibration.hpp"
#include "measure/check.hpp"
#include "measure/crew.hpp"
#include "measure/kernel.hpp"
#include "price/parameters.hpp"

namespace copse::measure {
namespace {

using topology::Level;

TEST(Figures, TheMedianAndTheMiddleHalf) {
  const Figure figure = figure_of({5, 1, 2, 1000, 4, 3, 0});
  EXPECT_DOUBLE_EQ(figure.value, 3);
  EXPECT_DOUBLE_EQ(figure.spread, (4.5 - 1.5) / 3) << "a single disturbance does not matter";
  EXPECT_DOUBLE_EQ(figure_of({7}).value, 7);
  EXPECT_DOUBLE_EQ(figure_of({7}).spread, 0);
  EXPECT_DOUBLE_EQ(figure_of({}).value, 0);
}

TEST(Neighbourhoods, EveryLevelOfTheMachineOnceFromTheInsideOut) {
  const auto machine = topology::Machine::from("package:2 l3:2 core:2 pu:2");
  topology::CpuSet all;
  for (const auto& each : machine.processors()) all.push_back(each.number);
  const auto found = neighbourhoods(machine, all);
  ASSERT_EQ(found.size(), 4U);
  const Level levels[] = {Level::core, Level::l3, Level::package, Level::numa};
  const std::size_t pairs[] = {1, 2, 4, 8};
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].level, levels[i]) << "one region has both packages";
    EXPECT_EQ(found[i].pairs.size(), pairs[i]) << topology::level_name(found[i].level);
  }
}

TEST(Neighbourhoods, OnlyBetweenTheProcessorsThatMayBeUsed) {
  const auto machine = topology::Machine::from("package:2 l3:2 core:2 pu:1");
  EXPECT_TRUE(neighbourhoods(machine, {3}).empty());
  const auto found = neighbourhoods(machine, {0, 4});
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].level, Level::numa);
  EXPECT_EQ(found[0].pairs.size(), 1U);
}

TEST(Crew, AMemberThatFailsIsTold) {
  const std::array<unsigned, 2> processors{0, 0};
  const auto fails = [](std::size_t member) {
    if (member == 1) throw std::runtime_error("planted");
  };
  EXPECT_THROW(in_threads(processors, fails), std::runtime_error);
  EXPECT_THROW(in_processes(processors, fails), std::runtime_error);
  EXPECT_THROW(in_processes(processors, [](std::size_t member) { member == 1 ? _exit(3) : static_cast<void>(pause()); }),
               std::runtime_error);
}

// What a calibration would have found on some machine.
Calibration found_on(const char* description, double flag) {
  Calibration found{topology::Machine::from(description), {}, {}, {}, 3, 1};
  for (const auto& each : found.machine.processors()) found.processors.push_back(each.number);
  found.neighbourhoods = neighbourhoods(found.machine, found.processors);
  for (const char* place : {"steps.call_ns", "steps.step_ns", "steps.wait_ns", "steps.turn_ns", "own.line_ns", "own.reader_GBps",
                            "memory.line_ns", "memory.reader_GBps", "memory.shared_GBps", "reduce_GBps.", "reduce_GBps.sum:double"})
    found.figures.add(place, 10);
  for (std::size_t i = 0; i < found.neighbourhoods.size(); ++i) {
    const std::string place = "levels[" + std::to_string(i) + "].";
    for (const char* name : {"line_ns", "reader_GBps", "writer_GBps"}) found.figures.add(place + name, 20);
    found.figures.add(place + "shared_GBps", 19);  // medians of different rounds
    for (const double factor : {0.9, 1.0, 1.1}) found.figures.add(place + "flag_ns", flag * factor);
  }
  return found;
}

price::Parameters read(const std::string& file) { return price::Parameters::from(text::Json::parse(file, "here.json")); }

TEST(MachineFile, IsReadAsItWasMeant) {
  const std::string file = machine_file(found_on("l3:2 core:2 pu:1", 50), "today", "1");
  const price::Parameters machine = read(file);
  EXPECT_TRUE(machine.measured);
  EXPECT_EQ(machine.nearness.front().level, Level::l3);
  EXPECT_EQ(machine.nearness.back().level, Level::node);
  EXPECT_DOUBLE_EQ(machine.nearness.front().flag_ns, 50);
  EXPECT_GE(machine.nearness.front().read.all, machine.nearness.front().read.one);
  EXPECT_NEAR(machine.spread.at("levels[0].flag_ns"), 0.1, 1e-3);
  EXPECT_FALSE(machine.kernel) << "it was not measured";
  EXPECT_DOUBLE_EQ(machine.reduction_rate("sum", "double"), 10);
  EXPECT_NE(file.find("near caches"), std::string::npos);
  EXPECT_NE(machine_file(found_on("l3:2 core:2 pu:1", 150), "today", "1").find("far caches"), std::string::npos);
}

TEST(MachineFile, OneProcessorIsAMachineToo) {
  const price::Parameters machine = read(machine_file(found_on("core:1 pu:1", 50), "today", "1"));
  ASSERT_EQ(machine.nearness.size(), 1U);
  EXPECT_EQ(machine.nearness.front().level, Level::node);
}

TEST(Measurements, HaveBounds) {
  const auto machine = topology::Machine::discover();
  const unsigned first = machine.processors().front().number, last = machine.processors().back().number;
  if (first != last) {
    EXPECT_GT(flag_ns({first, last}), 1);
    EXPECT_LT(flag_ns({first, last}), 1e6);
    const Rates found = rates({first, last});
    EXPECT_GT(found.read, 0.01);
    EXPECT_GT(found.write, 0.01);
  }
  if (const auto kernel = kernel_costs({first, last}, 100)) {
    EXPECT_GT(kernel->call_ns + kernel->page_ns, 1);
    EXPECT_GE(kernel->contention, 0);
  }
}

TEST(Check, RunsWhatItPrices) {
  Inquiry inquiry;
  inquiry.collectives = {algorithms::Collective::allreduce};
  inquiry.sizes = {8, 4096};
  inquiry.ranks = {2};
  inquiry.seconds = 0.0005;
  inquiry.batches = 3;
  const std::vector<Cell> cells = check(price::parameters_of("epyc"), inquiry);
  ASSERT_EQ(cells.size(), 4U) << "threads and processes";
  for (const Cell& cell : cells) {
    EXPECT_GT(cell.measured_ns, 1) << cell.way;
    EXPECT_GT(cell.predicted_ns, 1) << cell.way;
    EXPECT_FALSE(cell.way.empty());
  }
}

}  // namespace
}  // namespace copse::measure
