// A mapping of other processes' memory must not fill core dumps, stay in forked children, or be allocated by mlockall.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <string>

#include "engine/reach/shared_memory.hpp"

namespace copse::engine {
namespace {

constexpr std::size_t kBytes = std::size_t{256} << 20;

std::size_t charged(const Descriptor& memory) {
  struct stat status{};
  EXPECT_EQ(fstat(memory.get(), &status), 0);
  return static_cast<std::size_t>(status.st_blocks) * 512;
}

bool mapped(const void* address) {
  unsigned char resident = 0;
  return mincore(const_cast<void*>(address), 1, &resident) == 0;
}

// Returns the kernel's flags of the mapping at `address` (man proc_pid_smaps).
std::string flags_of(const void* address) {
  std::ostringstream start;
  start << std::hex << reinterpret_cast<std::uintptr_t>(address) << '-';
  std::ifstream file("/proc/self/smaps");
  std::string line;
  while (std::getline(file, line) && line.rfind(start.str(), 0) != 0) {
  }
  while (std::getline(file, line))
    if (line.rfind("VmFlags:", 0) == 0) return line + ' ';
  return {};
}

int in_child(const std::function<bool()>& body) {
  const pid_t child = fork();
  if (child == 0) _exit(body() ? 0 : 1);  // a body may leave by itself, with another number
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(Mapping, IsNoPartOfCoreDumps) {
  const Descriptor memory = make_shared_memory("copse-test", kBytes);
  const Mapping mapping(memory.get(), kBytes);
  ASSERT_TRUE(mapping);
  const std::string flags = flags_of(mapping.base());
  if (flags.empty()) GTEST_SKIP() << "this kernel shows no flags in smaps";
  EXPECT_NE(flags.find(" dd "), std::string::npos) << flags;
}

TEST(Mapping, IsNotInherited) {
  const Descriptor memory = make_shared_memory("copse-test", kBytes);
  std::optional<Mapping> mapping(std::in_place, memory.get(), kBytes);
  ASSERT_TRUE(*mapping);
  std::byte* const base = mapping->base();
  base[0] = std::byte{7};
  EXPECT_EQ(in_child([&] {
              if (mapped(base)) return false;
              // What the child maps there is its own, and stays when the inherited mapping goes.
              void* mine = mmap(base, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
              mapping.reset();
              return mine == base && mapped(base);
            }),
            0);
  EXPECT_EQ(base[0], std::byte{7});
  mapping.reset();
  EXPECT_FALSE(mapped(base));
}

TEST(Mapping, IsNotAllocatedAfterMlockall) {
  const Descriptor memory = make_shared_memory("copse-test", kBytes);
  // Runs in a child, because locked memory stays locked.
  const int status = in_child([&] {
    const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
    setrlimit(RLIMIT_MEMLOCK, &all);
    if (mlockall(MCL_FUTURE) != 0) _exit(77);
    const Mapping mapping(memory.get(), kBytes);
    if (!mapping && errno == EAGAIN) _exit(77);  // the limit on locked memory
    if (!mapping) return false;
    mapping.base()[kBytes / 2] = std::byte{1};
    return charged(memory) <= std::size_t{4} << 20;
  });
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "memory may not be locked here (ulimit -l)";
  EXPECT_EQ(status, 0) << (charged(memory) >> 20) << " MiB";
}

}  // namespace
}  // namespace copse::engine
