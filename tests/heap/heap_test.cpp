// Runs heap_probe, and programs that know nothing about Copse, under the preloaded shared heap.
#include <gtest/gtest.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

namespace {

struct Outcome {
  int status;  // from the shell: 124 is a timeout, 128 + n a signal
  std::string output;
};

Outcome shell(const std::string& command) {
  FILE* const pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  Outcome outcome{-1, {}};
  if (pipe == nullptr) return outcome;
  char buffer[4096];
  size_t got;
  while ((got = fread(buffer, 1, sizeof buffer, pipe)) > 0) outcome.output.append(buffer, got);
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string preload(const std::string& environment = "") {
  return "timeout -s KILL 120 env " + environment + " LD_PRELOAD=" COPSE_HEAP_LIBRARY " ";
}

void expect_silent_success(const std::string& command) {
  const Outcome outcome = shell(command);
  if (outcome.status == 77) GTEST_SKIP() << "not on this machine: " << command;
  EXPECT_EQ(outcome.status, 0) << command << "\n" << outcome.output;
  EXPECT_EQ(outcome.output, "") << command;
}

void probe(const std::string& name, const std::string& environment = "") {
  expect_silent_success(preload(environment) + COPSE_HEAP_PROBE " " + name);
}

// The default region is as large as the memory. Tests with a tight limit or with many processes use this smaller one.
constexpr const char* kSmall = "COPSE_HEAP_BYTES=2G";

TEST(HeapRegion, IsActive) { probe("active"); }
TEST(HeapRegion, IsActiveWithSmallPages) { probe("active", "COPSE_HEAP_HUGE=0"); }
TEST(HeapRegion, APeerReadsAndWritesIt) { probe("peer"); }
TEST(HeapRegion, IsNotPublishedUnderAForeignDescriptor) { probe("descriptor_lost"); }

TEST(HeapRegion, StaysAwayWithAReason) {
  const auto inactive = [](const std::string& limit, const std::string& environment, const std::string& reason) {
    expect_silent_success(limit + preload(environment + " EXPECTED_REASON='" + reason + "'") + COPSE_HEAP_PROBE " inactive");
  };
  inactive("", "COPSE_HEAP_BYTES=plenty", "COPSE_HEAP_BYTES=plenty is not a size");
  inactive("", "COPSE_HEAP_BYTES=1M", "COPSE_HEAP_BYTES=1M is not a size of at least 32M");
  inactive("", "COPSE_HEAP_BYTES=99999999T", "is not a size");
  inactive("", "COPSE_HEAP_BYTES=-1", "is not a size");
  inactive("ulimit -v 1000000; ", kSmall, "ulimit -v");
  inactive("ulimit -f 1000; ", kSmall, "ulimit -f");
  inactive("", "MIMALLOC_RESERVE_OS_MEMORY=64MiB", "MIMALLOC_RESERVE_*");
  inactive("", "UCX_MEM_MMAP_HOOK_MODE=reloc", "UCX_MEM_MMAP_HOOK_MODE=reloc takes over");
  expect_silent_success("EXPECTED_REASON='the program brings mimalloc itself' LD_PRELOAD=" COPSE_HEAP_LIBRARY
                        ":libmimalloc.so.2 " COPSE_HEAP_PROBE " inactive");
  expect_silent_success("EXPECTED_REASON='another library has redirected madvise' LD_PRELOAD=" COPSE_HEAP_THIEF
                        ":" COPSE_HEAP_LIBRARY " " COPSE_HEAP_PROBE " inactive");
}

// Such a variable needs locks when several threads reach it at once, and the library is built without them.
TEST(HeapLibrary, NoVariableOfAFunctionIsMadeAtItsFirstCall) {
  const Outcome symbols = shell("nm " COPSE_HEAP_LIBRARY " | grep -e malloc_usable_size -e _ZGV");
  EXPECT_NE(symbols.output.find("T malloc_usable_size"), std::string::npos) << symbols.output;
  EXPECT_EQ(symbols.output.find("_ZGV"), std::string::npos) << symbols.output;  // a guard variable
}

TEST(HeapFunctions, Align) { probe("alignment"); }
TEST(HeapFunctions, Resize) { probe("resize"); }
TEST(HeapFunctions, CallocIsZero) { probe("zeroed"); }
TEST(HeapFunctions, CallocIsZeroWhenPurgedAtOnce) {
  probe("zeroed", "MIMALLOC_DECOMMIT_DELAY=0 MIMALLOC_SEGMENT_DECOMMIT_DELAY=0");
}
TEST(HeapFunctions, OverflowToTheSystem) { probe("overflow", "COPSE_HEAP_BYTES=96M"); }
TEST(HeapFunctions, TakeForeignBlocks) { probe("foreign"); }
TEST(HeapFunctions, FreeKeepsErrno) { probe("errno_after_free", "MIMALLOC_DECOMMIT_DELAY=0 MIMALLOC_SEGMENT_DECOMMIT_DELAY=0"); }
TEST(HeapFunctions, Hammered) { probe("threads"); }
TEST(HeapFunctions, HammeredInASmallRegion) { probe("threads", "COPSE_HEAP_BYTES=128M"); }
TEST(HeapMemory, Returns) { probe("memory_returns"); }
TEST(HeapMemory, DiscardingAdviceZeroes) { probe("discarding_advice"); }
TEST(HeapMemory, UnusedIsNeitherDumpedNorAccessible) { probe("stays_out_of_the_way"); }
TEST(HeapMemory, MlockallAllocatesWhatIsInUse) { probe("locked", kSmall); }

// Libraries that hook memory events: UCX if it is installed, and one that works as the hooks of Open MPI and libfabric
// do.
void probe_hooks(const std::string& name) {
  const Outcome outcome = shell(preload() + COPSE_HEAP_PROBE " " + name);
  if (outcome.status == 77) GTEST_SKIP() << "not on this machine";
  EXPECT_EQ(outcome.status, 0) << outcome.output;
}
TEST(HeapMemory, UcxHearsOfIt) { probe_hooks("hooked_by_ucx"); }
TEST(HeapMemory, ALibraryThatRedirectsMadviseIsNoticed) { probe_hooks("redirected_by_ucx"); }
TEST(HeapMemory, HooksThatOverwriteMadviseHearOfIt) { probe_hooks("hooked_by_a_jump"); }

// Returns whether this core dump contains [address, address + pattern.size()) with exactly this content.
bool core_holds(const std::string& path, uint64_t address, const std::string& pattern) {
  std::ifstream core(path, std::ios::binary);
  ElfW(Ehdr) header{};
  core.read(reinterpret_cast<char*>(&header), sizeof header);
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    ElfW(Phdr) segment{};
    core.seekg(static_cast<std::streamoff>(header.e_phoff + i * sizeof segment));
    core.read(reinterpret_cast<char*>(&segment), sizeof segment);
    if (segment.p_type != PT_LOAD || address - segment.p_vaddr >= segment.p_filesz) continue;
    std::string found(pattern.size(), ' ');
    core.seekg(static_cast<std::streamoff>(segment.p_offset + (address - segment.p_vaddr)));
    core.read(found.data(), static_cast<std::streamsize>(found.size()));
    return found == pattern;
  }
  return false;
}

// Runs a command that crashes, and passes on the one core dump that it leaves.
void with_core(const std::string& command, const std::function<void(const std::string& output, const std::string& core)>& look) {
  std::string where;
  std::ifstream("/proc/sys/kernel/core_pattern") >> where;
  if (where.empty() || where[0] == '|' || where[0] == '/') GTEST_SKIP() << "core dumps go to " << where;
  char folder[] = "/tmp/copse-core-XXXXXX";
  ASSERT_NE(mkdtemp(folder), nullptr);
  const Outcome outcome = shell("cd " + std::string(folder) + " && " + command);
  std::vector<std::string> cores;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) cores.push_back(entry.path());
  if (outcome.status != 77) {
    EXPECT_EQ(outcome.status, 128 + 6) << outcome.output;
    EXPECT_EQ(cores.size(), 1u);
    if (cores.size() == 1) look(outcome.output, cores[0]);
  }
  std::filesystem::remove_all(folder);
  if (outcome.status == 77) GTEST_SKIP() << "core dumps are forbidden (ulimit -H -c)";
}

TEST(HeapMemory, ACoreDumpHoldsWhatIsInUse) {
  with_core(preload() + COPSE_HEAP_PROBE " crash", [](const std::string& output, const std::string& core) {
    std::string pattern(size_t{20} << 20, ' ');
    for (size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<char>(1234 + i * 31);
    EXPECT_LE(std::filesystem::file_size(core), size_t{64} << 20);
    EXPECT_TRUE(core_holds(core, std::stoull(output, nullptr, 16), pattern));
  });
}

#ifdef COPSE_HEAP_RANKS
// Runs two ranks with a communicator. The status is rank 0's unless rank 1 fails.
std::string two_ranks(const std::string& name) {
  static int number = 0;
  const std::string rank =
      preload(kSmall) + COPSE_HEAP_RANKS " " + name + " heap-" + std::to_string(getpid()) + "-" + std::to_string(++number);
  return "{ " + rank + " 1 & peer=$!; " + rank + " 0; status=$?; wait $peer || status=3; exit $status; }";
}

TEST(HeapRanks, AFileUnderTheDescriptorsNumberStaysAsItIs) { expect_silent_success(two_ranks("reused_descriptor")); }
TEST(HeapRanks, MlockallAllocatesNothingOfThePeers) { expect_silent_success(two_ranks("locked_peer")); }
TEST(HeapRanks, ACoreDumpLeavesOutThePeers) {
  with_core(two_ranks("dumped"),
            [](const std::string&, const std::string& core) { EXPECT_LE(std::filesystem::file_size(core), size_t{48} << 20); });
}
#endif

TEST(HeapFork, ChildIsPrivate) { probe("fork_is_private"); }
TEST(HeapFork, WithThreads) { probe("fork_with_threads", kSmall); }
TEST(HeapFork, OtherWaysToStartPrograms) { probe("starting_programs"); }
TEST(HeapFork, WithoutTheDescriptor) { probe("fork_without_descriptor", kSmall); }
TEST(HeapFork, CopiesNoMoreThanIsOpen) { probe("fork_under_a_data_limit", kSmall); }
TEST(HeapFork, IsNoCancellationPoint) { probe("fork_and_cancel", kSmall); }
TEST(HeapFork, ChildWithoutACopySaysSo) {
  const Outcome outcome = shell(preload(kSmall) + COPSE_HEAP_PROBE " fork_without_room");
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("no memory for a private copy"), std::string::npos) << outcome.output;
  EXPECT_NE(outcome.output.find("no descriptor was free for fork"), std::string::npos) << outcome.output;
}

TEST(HeapFork, OnAStackInTheHeapIsRefused) {
  const Outcome outcome = shell(preload(kSmall) + COPSE_HEAP_PROBE " fork_on_a_heap_stack");
  EXPECT_EQ(outcome.status, 127) << outcome.output;
  EXPECT_NE(outcome.output.find("fork on a stack that lies in the shared heap"), std::string::npos) << outcome.output;
}

TEST(HeapPrograms, WithAnAllocatorOfTheirOwn) { expect_silent_success(preload() + COPSE_HEAP_OWN_MALLOC); }

TEST(HeapPrograms, Shell) {
  const Outcome outcome = shell(preload(kSmall) + "sh -c 'seq 3000 | sort -rn | (cat; echo end) | tail -2; (exit 4)'");
  EXPECT_EQ(outcome.status, 4);
  EXPECT_EQ(outcome.output, "1\nend\n");
}

TEST(HeapPrograms, Python) { expect_silent_success(preload(kSmall) + COPSE_HEAP_PYTHON " " COPSE_HEAP_TESTS "/processes.py"); }

TEST(HeapPrograms, Numpy) {
  if (shell(COPSE_HEAP_PYTHON " -c 'import numpy'").status != 0) GTEST_SKIP() << "no NumPy in " COPSE_HEAP_PYTHON;
  expect_silent_success(preload() + COPSE_HEAP_PYTHON " " COPSE_HEAP_TESTS "/arrays.py");
}

}  // namespace
