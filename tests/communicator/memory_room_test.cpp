// What cgroups leave a process, in made-up trees of /proc and /sys, and what a process holds itself.
#include "communicator/memory_room.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "copse-room-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path(root_ + file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Writes the files of a cgroup of the second version, with so many bytes in use.
  void second(const std::string& group, const std::string& most, std::uint64_t used, const std::string& statistics = "") const {
    const std::string folder = "/sys/fs/cgroup" + group;
    write(folder + "/memory.max", most + '\n');
    write(folder + "/memory.current", std::to_string(used) + '\n');
    write(folder + "/memory.stat", statistics);
  }
  [[nodiscard]] std::uint64_t left() const { return left_by_cgroups(root_); }

  std::string root_;
};

TEST_F(Cgroups, LeaveAllWhereThereIsNone) {
  EXPECT_EQ(left(), UINT64_MAX);
  write("/proc/self/cgroup", "0::/\n");
  EXPECT_EQ(left(), UINT64_MAX);
  second("", "max", 5 * kMiB);
  EXPECT_EQ(left(), UINT64_MAX);
}

TEST_F(Cgroups, LeaveTheLeastOfAllAbove) {
  write("/proc/self/cgroup", "0::/job/step\n");
  second("/job/step", "max", kMiB);
  second("/job", std::to_string(100 * kMiB), 40 * kMiB);
  EXPECT_EQ(left(), 60 * kMiB);
  second("", std::to_string(50 * kMiB), 45 * kMiB);
  EXPECT_EQ(left(), 5 * kMiB);
  second("/job/step", std::to_string(3 * kMiB), 4 * kMiB);  // more than is allowed, for a moment
  EXPECT_EQ(left(), 0U);
}

TEST_F(Cgroups, DoNotCountFilesThatTheKernelCanDrop) {
  write("/proc/self/cgroup", "0::/\n");
  second("", std::to_string(100 * kMiB), 99 * kMiB,
         "anon 1\nfile " + std::to_string(90 * kMiB) + "\nshmem " + std::to_string(20 * kMiB) + '\n');
  EXPECT_EQ(left(), 71 * kMiB);
}

TEST_F(Cgroups, OfTheFirstVersionHaveOtherFiles) {
  write("/proc/self/cgroup", "9:name=systemd:/\n8:cpu,memory:/slurm/job\n7:memory_of_another:/\n");
  const std::string folder = "/sys/fs/cgroup/memory";
  write(folder + "/memory.limit_in_bytes", "9223372036854771712\n");
  EXPECT_EQ(left(), UINT64_MAX);
  write(folder + "/slurm/job/memory.limit_in_bytes", std::to_string(80 * kMiB));
  write(folder + "/slurm/job/memory.usage_in_bytes", std::to_string(70 * kMiB));
  write(folder + "/slurm/job/memory.stat", "cache 0\ntotal_cache " + std::to_string(60 * kMiB) + "\ntotal_shmem 0\n");
  EXPECT_EQ(left(), 70 * kMiB);
}

// A container sees the path of the host, but its own files at the top.
TEST_F(Cgroups, OfAContainerLieAtTheTop) {
  write("/proc/self/cgroup", "0::/docker/1234/inner\n");
  second("", std::to_string(10 * kMiB), 4 * kMiB);
  EXPECT_EQ(left(), 6 * kMiB);
}

TEST_F(Cgroups, WithDamagedFilesLeaveAll) {
  for (const std::string text : {"", "\n", "0\n", "0:\n", "::\n", "0::\n", "0::job\n", ":memory:\n"}) {
    write("/proc/self/cgroup", text);
    EXPECT_EQ(left(), UINT64_MAX) << text;
  }
  write("/proc/self/cgroup", "0::/\n");
  second("", "-", 0);
  EXPECT_EQ(left(), UINT64_MAX);
}

TEST(Room, IsWhatTheLimitLeavesAboveWhatIsTouched) {
  constexpr std::size_t kBytes = 8 * kMiB;
  const std::uint64_t before = held().common;
  const engine::Descriptor memory = engine::make_shared_memory("copse", kBytes);
  const engine::Mapping mapping(memory.get(), kBytes);
  ASSERT_TRUE(mapping);
  EXPECT_EQ(held().common, before);
  EXPECT_TRUE(has_room(before + kRoomOfRank));
  for (std::size_t at = 0; at < kBytes; at += 4096) mapping.base()[at] = std::byte{1};
  EXPECT_EQ(held().common, before + kBytes);
  EXPECT_TRUE(has_room(before + kBytes + kRoomOfRank));
  EXPECT_FALSE(has_room(before + kBytes + kRoomOfRank - 1));
  EXPECT_TRUE(has_room(0));
}

}  // namespace
}  // namespace copse::communicator
