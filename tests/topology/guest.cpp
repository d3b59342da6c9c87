// Discovery, binding and memory on a machine where they are real. It runs inside an emulated machine of 4 NUMA nodes
// with 2 processors each, where two pairs of nodes are near each other (guest.sh).
#include <gtest/gtest.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <thread>

#include "topology/binding.hpp"
#include "topology/layout.hpp"

namespace copse::topology {
namespace {

// Asks the kernel for the NUMA node of the page at an address.
int node_of(void* address) {
  int status = -1;
  EXPECT_EQ(syscall(SYS_move_pages, 0, 1UL, &address, nullptr, &status, 0), 0);
  return status;
}

TEST(Guest, IsDiscovered) {
  const Machine machine = Machine::discover();
  EXPECT_TRUE(machine.is_this_machine());
  EXPECT_EQ(machine.count(Level::numa), 4);
  EXPECT_EQ(machine.count(Level::board), 2) << "hwloc groups regions by distance";
  EXPECT_EQ(machine.processors().size(), 8U);
  ASSERT_EQ(machine.distances().size(), 4U);
  EXPECT_EQ(machine.distances()[0], (std::vector<std::uint64_t>{10, 12, 21, 21}));
  EXPECT_EQ(machine.distances()[2], (std::vector<std::uint64_t>{21, 21, 10, 12}));
  for (const Region& region : machine.regions()) {
    ASSERT_TRUE(region.memory_bytes.has_value());
    EXPECT_GT(*region.memory_bytes, std::uint64_t{100} << 20);
    EXPECT_LE(*region.memory_bytes, std::uint64_t{256} << 20);
  }
}

TEST(Guest, BindsEachRankToItsRegionAndItsMemoryFollows) {
  const Machine machine = Machine::discover();
  for (int rank = 0; rank < 8; ++rank) {
    std::thread([&] {
      const Binding binding = bind_this_thread(machine, BindingPolicy::numa, rank, 8);
      EXPECT_TRUE(binding.bound) << binding.explanation;
      EXPECT_EQ(binding.place.at(Level::numa), rank / 2);
      EXPECT_EQ(binding.place.at(Level::core), kNotConfined);
      const auto cpu = static_cast<unsigned>(sched_getcpu());
      EXPECT_EQ(machine.place_of(CpuSet{cpu}).at(Level::numa), rank / 2);
      void* page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      ASSERT_NE(page, MAP_FAILED);
      std::memset(page, 1, 4096);
      EXPECT_EQ(node_of(page), static_cast<int>(machine.regions()[static_cast<std::size_t>(rank / 2)].memories[0]));
      munmap(page, 4096);
    }).join();
  }
}

// A launcher that binds by region leaves such a mask. Copse respects it and sees it as the rank's place.
TEST(Guest, RespectsALauncher) {
  const Machine machine = Machine::discover();
  std::thread([&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const unsigned cpu : {2U, 3U, 4U}) CPU_SET(cpu, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    const Binding binding = bind_this_thread(machine, BindingPolicy::core, 0, 2);
    EXPECT_FALSE(binding.bound);
    EXPECT_EQ(binding.explanation, "not bound: already confined to processors 2-4");
    EXPECT_EQ(binding.place.at(Level::numa), kNotConfined);
  }).join();
}

// A rank that is confined to one region need not look at the machine.
TEST(Guest, IsNotLookedAtByAConfinedRank) {
  EXPECT_EQ(needless_here(BindingPolicy::numa), "");
  std::thread([&] {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (const unsigned cpu : {2U, 3U}) CPU_SET(cpu, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(needless_here(BindingPolicy::numa), "already confined to processors 2-3");
    CPU_SET(4, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof mask, &mask), 0);
    EXPECT_EQ(needless_here(BindingPolicy::numa), "");
  }).join();
}

// A cpuset cgroup takes processors and memory away. The machine is what is left.
TEST(Guest, HonoursCpusets) {
  ASSERT_EQ(system("mkdir -p /tmp/cg && mount -t cgroup2 none /tmp/cg && echo +cpuset > /tmp/cg/cgroup.subtree_control && "
                   "mkdir /tmp/cg/part && echo 2-5 > /tmp/cg/part/cpuset.cpus && echo 1-2 > /tmp/cg/part/cpuset.mems"),
            0);
  ASSERT_EQ(system(("echo " + std::to_string(getpid()) + " > /tmp/cg/part/cgroup.procs").c_str()), 0);
  const Machine machine = Machine::discover();
  EXPECT_EQ(machine.processors_in(Level::node, 0), (CpuSet{2, 3, 4, 5}));
  ASSERT_EQ(machine.count(Level::numa), 2);
  EXPECT_EQ(machine.distances()[0], (std::vector<std::uint64_t>{10, 21}));
  std::thread([&] {
    const Binding binding = bind_this_thread(machine, BindingPolicy::numa, 1, 2);
    EXPECT_TRUE(binding.bound) << binding.explanation;
    EXPECT_EQ(binding.explanation, "bound to processors 4-5");
  }).join();
  EXPECT_EQ(system(("echo " + std::to_string(getpid()) + " > /tmp/cg/cgroup.procs").c_str()), 0);
}

}  // namespace
}  // namespace copse::topology
