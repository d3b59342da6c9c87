// Files that are there as a whole or not at all, whenever their writer is killed.
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "text/json.hpp"

namespace copse::text {
namespace {

using Steady = std::chrono::steady_clock;

// A folder of this test, with everything that killed writers leave in it.
class Folder {
 public:
  Folder() : path_(testing::TempDir() + "copse-text-" + std::to_string(getpid())) { std::filesystem::create_directory(path_); }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string file() const { return path_ + "/table.json"; }
  [[nodiscard]] std::ptrdiff_t files() const { return std::distance(std::filesystem::directory_iterator(path_), {}); }

 private:
  std::string path_;
};

// A process that rewrites a file until it is killed. Its contents take turns.
class Writer {
 public:
  Writer(const std::string& file, const std::array<std::string, 2>& contents) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (std::size_t i = 0;; ++i) {
        write_file(file, contents[i % 2]);
        if (i == 0 && write(ends[1], "w", 1) != 1) std::abort();
      }
    }
    close(ends[1]);
    char written = 0;
    EXPECT_EQ(read(ends[0], &written, 1), 1) << "the writer has ended";
    close(ends[0]);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() {
    ::kill(process_, SIGKILL);
    int status = 0;
    EXPECT_EQ(waitpid(process_, &status, 0), process_);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the writer has ended by itself: " << status;
  }

 private:
  pid_t process_ = -1;
};

TEST(Files, AKilledWriterLeavesAWholeFile) {
  constexpr int kWriters = 60;
  constexpr std::chrono::seconds kLongest(3);
  const Folder folder;
  const std::string file = folder.file();
  const std::array contents{std::string(3'000'000, 'a'), std::string(2'000'000, 'b')};
  const Steady::time_point begin = Steady::now();
  write_file(file, contents[0]);
  const auto twice = 2 * std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begin);
  std::mt19937 random(11);  // NOLINT: the same every time
  for (int writer = 0; writer < kWriters && Steady::now() - begin < kLongest; ++writer) {
    {
      const Writer killed(file, contents);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % static_cast<unsigned>(twice.count() + 1)));
    }
    const std::string found = read_file(file);
    ASSERT_TRUE(found == contents[0] || found == contents[1]) << "writer " << writer << " left " << found.size() << " bytes";
  }
  EXPECT_GT(folder.files(), 1) << "nobody was killed while it wrote";
}

// A later process may have the same number. In a container, it often has.
TEST(Files, WhatAKilledWriterLeftIsInNobodysWay) {
  const Folder folder;
  const std::string file = folder.file(), left = file + "." + std::to_string(getpid()) + "-";
  for (int number = 1; number <= 100; ++number) std::ofstream(left + std::to_string(number)) << "half";
  write_file(file, "whole");
  EXPECT_EQ(read_file(file), "whole");
  EXPECT_EQ(folder.files(), 101);
}

TEST(Files, WhatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  const Folder folder;
  EXPECT_THROW(write_file(folder.file() + "/none/at/all", "text"), FileError);
  std::filesystem::create_directory(folder.file());
  EXPECT_THROW(write_file(folder.file(), "text"), FileError) << "a folder has that name";
  EXPECT_EQ(folder.files(), 1);
}

}  // namespace
}  // namespace copse::text
