// Two processes with the shared heap and a communicator between them: heap_ranks CASE NAME RANK. Exit status 0 is
// success; a failed expectation prints its line to stderr. heap_test.cpp runs every case.
#include <copse/copse.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "heap/heap.hpp"

namespace {

#define EXPECT(condition)                                                                       \
  do {                                                                                          \
    if (!(condition)) {                                                                         \
      fprintf(stderr, "heap_ranks: rank %d, line %d: expected %s\n", me, __LINE__, #condition); \
      _exit(1);                                                                                 \
    }                                                                                           \
  } while (false)

constexpr size_t kMiB = size_t{1} << 20;
int me = 0;

struct copse_heap_region region() {
  struct copse_heap_region found{};
  const auto query = reinterpret_cast<copse::heap::RegionQuery>(dlsym(RTLD_DEFAULT, copse::heap::kRegionQueryName));
  EXPECT(query != nullptr && query(&found) == 0);
  return found;
}

copse_comm* join(const std::string& name) {
  copse_comm* comm = nullptr;
  if (copse_comm_join(name.c_str(), me, 2, 30, &comm) != COPSE_OK) {
    fprintf(stderr, "%s\n", copse_comm_message(nullptr));
    _exit(1);
  }
  return comm;
}

// Makes calls whose data travel from heap to heap.
void exchange(copse_comm* comm) {
  const std::vector<char> in(kMiB, me == 0 ? 'r' : 'b');
  std::vector<char> all(2 * kMiB), from_one = in;
  EXPECT(copse_allgather(comm, in.data(), kMiB, all.data()) == COPSE_OK);
  for (size_t i = 0; i < kMiB; ++i) EXPECT(all[i] == 'r' && all[kMiB + i] == 'b');
  EXPECT(copse_broadcast(comm, from_one.data(), kMiB, 1) == COPSE_OK);
  for (const char byte : from_one) EXPECT(byte == 'b');
}

// Rank 0 closes all its descriptors, and a file of the program gets the heap's number. Nobody may touch that file.
void reused_descriptor(const std::string& name) {
  FILE* const file = tmpfile();
  const std::string content(4 * kMiB, 'f');
  EXPECT(file != nullptr && fwrite(content.data(), 1, content.size(), file) == content.size() && fflush(file) == 0);
  const int number = region().fd;
  if (me == 0) {
    EXPECT(dup2(fileno(file), number) == number);
    for (int fd = 3; fd < 2000; ++fd)
      if (fd != number) close(fd);
  }
  exchange(join(name));
  if (me != 0) return;
  std::string now(content.size() + 1, ' ');
  EXPECT(pread(number, now.data(), now.size(), 0) == static_cast<ssize_t>(content.size()));
  now.pop_back();
  EXPECT(now == content);
}

// Tells whether this process may lock as much memory as it likes.
bool may_lock_all() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  if (setrlimit(RLIMIT_MEMLOCK, &all) == 0) return true;
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  return syscall(SYS_capget, &header, data) == 0 && (data[0].effective & (1U << CAP_IPC_LOCK)) != 0;
}

// A rank that locks its memory must not allocate memory of its peer, before or after they have met.
void locked_peer(const std::string& name) {
  const auto charged = [] {
    struct stat status{};
    EXPECT(fstat(region().fd, &status) == 0);
    return static_cast<size_t>(status.st_blocks) * 512;
  };
  const bool locks = me == 0 && may_lock_all() && mlockall(MCL_FUTURE) == 0;
  copse_comm* const comm = join(name);
  exchange(comm);
  const bool locked = locks && mlockall(MCL_CURRENT) == 0;
  EXPECT(copse_barrier(comm) == COPSE_OK);
  EXPECT(charged() <= 96 * kMiB);
  if (me == 0 && !locked) _exit(77);  // not allowed here, or not so much
}

// Rank 0 ends with a core dump that contains nothing of its peer's memory.
void dumped(const std::string& name) {
  const rlimit enough{128 * kMiB, 128 * kMiB};
  if (setrlimit(RLIMIT_CORE, &enough) != 0) _exit(77);
  std::vector<char> mine(me == 0 ? 1 : 60 * kMiB, 'x');
  copse_comm* const comm = join(name);
  exchange(comm);
  if (me == 0) abort();
}

}  // namespace

int main(int, char** argv) {
  const std::string what = argv[1];
  const std::string name = argv[2];
  me = atoi(argv[3]);
  if (what == "reused_descriptor") reused_descriptor(name);
  if (what == "locked_peer") locked_peer(name);
  if (what == "dumped") dumped(name);
  return 0;
}
