// One rank runs out of memory, at every allocation in turn. It does not crash, and every rank comes to an end of its
// own, although the rank without memory lives on.
//
// The test replaces malloc for the whole program, so it is a program of its own. Some things happen once per process,
// so they are done first: libhwloc (2.9) crashes without memory, and glibc ends the process if memory is lacking when a
// thread first uses an object that must be destroyed with it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <vector>

#include "c_ranks.hpp"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

// The number of allocations that succeed from now on. Then one fails, or all (`for_good`).
constexpr long kPlenty = 1L << 60;
std::atomic<long> left{kPlenty};
bool for_good = false;

bool starved() {
  const long now = left.fetch_sub(1);
  if (now > 0 || (now < 0 && !for_good)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

#pragma GCC visibility push(default)  // of the whole program: clang would keep these to this file
extern "C" {
void* malloc(std::size_t bytes) { return starved() ? nullptr : __libc_malloc(bytes); }
void* calloc(std::size_t count, std::size_t bytes) { return starved() ? nullptr : __libc_calloc(count, bytes); }
void* realloc(void* old, std::size_t bytes) { return starved() ? nullptr : __libc_realloc(old, bytes); }
void* aligned_alloc(std::size_t align, std::size_t bytes) { return starved() ? nullptr : __libc_memalign(align, bytes); }
void* memalign(std::size_t align, std::size_t bytes) { return starved() ? nullptr : __libc_memalign(align, bytes); }
int posix_memalign(void** out, std::size_t align, std::size_t bytes) {
  *out = starved() ? nullptr : __libc_memalign(align, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}
#pragma GCC visibility pop

namespace copse::test {
namespace {

constexpr int kRanks = 3;
constexpr double kMeetSeconds = 2;

// How one rank ended.
struct End {
  std::atomic<bool> over;
  copse_status status;
  long joining, allocations;
};

struct Common {
  End ends[kRanks];
};

copse_status make_calls(copse_comm* comm, std::vector<double>& in, std::vector<double>& out) {
  const int root = 1;
  const std::size_t sizes[kRanks] = {8, 800, 80}, counts[kRanks] = {1, 100, 10}, places[kRanks] = {0, 1000, 5000};
  const std::size_t me = static_cast<std::size_t>(copse_comm_rank(comm));
  for (const std::size_t n : {std::size_t{1}, std::size_t{300}, in.size() / kRanks}) {
    const std::size_t bytes = n * sizeof(double);
    copse_request* requests[2] = {};
    for (const copse_status status :
         {copse_barrier(comm), copse_broadcast(comm, in.data(), bytes, root),
          copse_reduce(comm, in.data(), out.data(), n, COPSE_DOUBLE, COPSE_SUM, root),
          copse_allreduce(comm, in.data(), out.data(), n, COPSE_DOUBLE, COPSE_SUM),
          copse_scan(comm, in.data(), out.data(), n, COPSE_DOUBLE, COPSE_SUM),
          copse_gather(comm, in.data(), bytes, out.data(), root), copse_allgather(comm, in.data(), bytes, out.data()),
          copse_gatherv(comm, in.data(), sizes[me], out.data(), sizes, places, root),
          copse_allgatherv(comm, in.data(), out.data(), sizes, places), copse_alltoall(comm, in.data(), out.data(), bytes),
          copse_reduce_scatter(comm, in.data(), out.data(), counts, COPSE_DOUBLE, COPSE_SUM),
          copse_start_allreduce(comm, in.data(), out.data(), n, COPSE_DOUBLE, COPSE_SUM, &requests[0]),
          copse_start_broadcast(comm, in.data(), 8, root, &requests[1]), copse_wait_all(2, requests)})
      if (status != COPSE_OK) return status;
  }
  return COPSE_OK;
}

// Runs rank 1 with memory for `allocations` allocations.
std::string starve(Common& common, long allocations, bool later_too, double meet_seconds = kMeetSeconds) {
  const std::string name = fresh_name();
  for (End& end : common.ends) end.over = false;
  std::string wrong = all_well(in_processes(kRanks, [&](int rank) -> std::string {
    alarm(60);  // a hang ends here
    End& mine = common.ends[rank];
    std::vector<double> in(9000), out(9000);
    copse_comm* comm = nullptr;
    if (rank == 1) {
      for_good = later_too;
      left = allocations;
    }
    mine.status = copse_comm_join(name.c_str(), rank, kRanks, meet_seconds, &comm);
    mine.joining = allocations - left;
    if (mine.status == COPSE_OK) mine.status = make_calls(comm, in, out);
    mine.allocations = allocations - left.exchange(kPlenty);
    mine.over = true;
    for (const End& other : common.ends)
      while (!other.over) usleep(1000);
    copse_comm_free(comm);
    return {};
  }));
  bool all = true, some = false;
  for (const End& end : common.ends) {
    all &= end.status == COPSE_OK;
    some |= end.status == COPSE_OK;
  }
  if (some && !all) wrong += "some ranks went on alone; ";
  return wrong.empty() ? wrong : "after " + std::to_string(allocations) + " allocations: " + wrong;
}

TEST(Starved, AtEveryAllocation) {
  void* memory = mmap(nullptr, sizeof(Common), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  Common& common = *new (memory) Common;
  copse_comm* alone = nullptr;
  ASSERT_EQ(copse_comm_join(fresh_name().c_str(), 0, 1, 1, &alone), COPSE_OK);
  copse_comm_free(alone);
  ASSERT_EQ(starve(common, kPlenty / 2, false, 30), "");
  ASSERT_EQ(common.ends[1].status, COPSE_OK);
  const long most = common.ends[1].allocations, joining = common.ends[1].joining;
  EXPECT_GT(joining, 30);
  EXPECT_GT(most, 100);
  const long step = std::getenv("TEST_SWEEP") != nullptr ? 1 : most / 24;
  for (long i = 0; i < most; i += i < joining ? 1 : step) EXPECT_EQ(starve(common, i, i % 3 == 0), "");
}

}  // namespace
}  // namespace copse::test
