// What the specification demands of arguments is checked under COPSE_CHECK. An error says which thread, function and argument, the
// value, and what was required.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "copse/bupc.h"
#include "copse/upc_nb.h"
#include "copse/upc_v.h"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

constexpr int kThreads = 4;

// What all calls of these tests work on.
struct Arrays {
  upc_shared dst = upc_all_alloc(kThreads, 4096), src = upc_all_alloc(kThreads, 4096), perm = upc_all_alloc(kThreads, sizeof(int));
  Arrays() {
    UPC_AT(int, 1, perm, MYTHREAD) = kThreads - 1 - MYTHREAD;
    upc_barrier();
  }
};

upc_shared on(int thread, upc_shared p, std::size_t phase = 0) { return {p.address, phase, thread}; }
int mine_or(int thread, int value, int other) { return MYTHREAD == thread ? value : other; }

struct Mistake {
  const char* name;
  void (*call)(const Arrays&);
  const char* message;  // a regular expression
  bool always = false;  // it is found without COPSE_CHECK as well
};

int first(int a, int) { return a; }

const Mistake kMistakes[] = {
    {"affinity_of_dst", [](const Arrays& a) { upc_all_broadcast(on(2, a.dst), a.src, 8, 0); },
     "UPC thread 0: upc_all_broadcast: dst has affinity to thread 2; required: affinity to thread 0"},
    {"affinity_in_scatter", [](const Arrays& a) { upc_all_scatter(on(1, a.dst), a.src, 8, 0); },
     "upc_all_scatter: dst has affinity to thread 1; required: affinity to thread 0"},
    {"affinity_of_src", [](const Arrays& a) { upc_all_gather(a.dst, on(3, a.src), 8, 0); },
     "upc_all_gather: src has affinity to thread 3; required: affinity to thread 0"},
    {"affinity_in_gather_all", [](const Arrays& a) { upc_all_gather_all(a.dst, on(1, a.src), 8, 0); },
     "upc_all_gather_all: src has affinity to thread 1"},
    {"affinity_in_exchange", [](const Arrays& a) { upc_all_exchange(on(1, a.dst), a.src, 8, 0); },
     "upc_all_exchange: dst has affinity to thread 1"},
    {"affinity_of_perm", [](const Arrays& a) { upc_all_permute(a.dst, a.src, on(1, a.perm), 8, 0); },
     "upc_all_permute: perm has affinity to thread 1; required: affinity to thread 0"},
    {"no_bytes", [](const Arrays& a) { upc_all_exchange(a.dst, a.src, 0, 0); },
     "upc_all_exchange: bytes is 0; required: 1 or more"},
    {"null", [](const Arrays& a) { upc_all_scatter(a.dst, upc_null(), 8, 0); },
     "upc_all_scatter: src is null; required: a pointer to shared memory", true},
    {"null_in_a_reduction", [](const Arrays& a) { upc_all_reduceI(upc_null(), a.src, UPC_ADD, 8, 2, nullptr, 0); },
     "upc_all_reduceI: dst is null; required: a pointer to shared memory", true},
    {"null_block",
     [](const Arrays& a) {
       const std::size_t bytes[kThreads] = {8, 8, 8, 8};
       upc_all_gather_v(upc_null(), a.src, bytes, nullptr, 0);
     },
     "upc_all_gather_v: dst is null; required: a pointer to shared memory", true},
    {"no_such_thread", [](const Arrays& a) { upc_all_scatter(a.dst, on(4, a.src), 8, 0); },
     "upc_all_scatter: src has affinity to thread 4; required: a thread from 0 to 3"},
    {"out_of_memory", [](const Arrays& a) { upc_all_gather(a.dst, a.src, std::size_t{1} << 40, 0); },
     "upc_all_gather: dst covers 4398046511104 bytes from address [0-9]+ of thread 0; required: addresses from 64 to 16777216"},
    {"overlap", [](const Arrays& a) { upc_all_gather_all(a.dst, upc_add(a.dst, 8, 1, UPC_INDEFINITE), 8, 0); },
     "upc_all_gather_all: dst and src overlap by 8 bytes .of 32 and 8. on thread 0; required: no overlap"},
    {"overlap_with_perm", [](const Arrays& a) { upc_all_permute(a.perm, a.src, a.perm, 4, 0); },
     "upc_all_permute: (dst and perm|perm and dst) overlap by 4 bytes"},
    {"two_flags", [](const Arrays& a) { upc_all_broadcast(a.dst, a.src, 8, UPC_IN_MYSYNC | UPC_IN_NOSYNC); },
     "upc_all_broadcast: flags is 6; required: at most one of the UPC_IN_ and one of the UPC_OUT_ flags"},
    {"unknown_flag", [](const Arrays& a) { upc_all_reduceI(a.dst, a.src, UPC_ADD, 4, 1, nullptr, 64); },
     "upc_all_reduceI: flags is 64; required"},
    {"bytes_differ", [](const Arrays& a) { upc_all_broadcast(a.dst, a.src, MYTHREAD == 2 ? 16 : 8, 0); },
     "UPC thread 2: upc_all_broadcast: bytes is 16; required: 8, as on thread 0"},
    {"flags_differ", [](const Arrays& a) { upc_all_exchange(a.dst, a.src, 8, mine_or(3, UPC_IN_NOSYNC, 0)); },
     "UPC thread 3: upc_all_exchange: flags is 4; required: 0, as on thread 0"},
    {"pointers_differ", [](const Arrays& a) { upc_all_broadcast(a.dst, on(mine_or(1, 1, 0), a.src), 8, 0); },
     "UPC thread 1: upc_all_broadcast: src.thread is 1; required: 0, as on thread 0"},
    {"operators_differ",
     [](const Arrays& a) { upc_all_reduceI(a.dst, a.src, MYTHREAD == 1 ? UPC_MAX : UPC_MIN, 4, 1, nullptr, 0); },
     "UPC thread 1: upc_all_reduceI: op is 256; required: 128, as on thread 0"},
    {"functions_differ",
     [](const Arrays& a) {
       upc_all_reduceI(a.dst, a.src, UPC_FUNC, 4, 1, MYTHREAD == 3 ? first : [](int, int b) { return b; }, 0);
     },
     "UPC thread 3: upc_all_reduceI: func is [0-9]+; required: [0-9]+, as on thread 0"},
    {"calls_differ", [](const Arrays& a) { (MYTHREAD == 2 ? upc_all_gather : upc_all_scatter)(a.dst, a.src, 8, 0); },
     "UPC thread 2: upc_all_gather: called upc_all_gather; required: upc_all_scatter, as on thread 0"},
    {"allocations_differ", [](const Arrays&) { upc_all_alloc(MYTHREAD == 1 ? 5 : 4, 8); },
     "UPC thread 1: upc_all_alloc: blocks is 5; required: 4, as on thread 0"},
    {"frees_differ", [](const Arrays& a) { upc_all_free(MYTHREAD == 1 ? a.src : a.dst); },
     "UPC thread 1: upc_all_free: the pointer.address is [0-9]+; required: [0-9]+"},
    {"no_permutation",
     [](const Arrays& a) {
       UPC_AT(int, 1, a.perm, MYTHREAD) = MYTHREAD / 2;
       upc_all_permute(a.dst, a.src, a.perm, 8, 0);
     },
     "upc_all_permute: perm: permutation.1. is 0, as permutation.0. is; expected every rank once", true},
    {"no_elements", [](const Arrays& a) { upc_all_reduceD(a.dst, a.src, UPC_ADD, 0, 1, nullptr, 0); },
     "upc_all_reduceD: elements is 0; required: 1 or more", true},
    {"bitwise", [](const Arrays& a) { upc_all_reduceD(a.dst, a.src, UPC_AND, 4, 1, nullptr, 0); },
     "upc_all_reduceD: op is UPC_AND; required: an operator that is not bitwise, because the type is a floating one"},
    {"bitwise_unchecked", [](const Arrays& a) { upc_all_prefix_reduceLD(a.dst, a.src, UPC_XOR, 4, 1, nullptr, 0); },
     "upc_all_prefix_reduceLD: op is (UPC_XOR|16); required: an operator that is", true},
    {"no_operator", [](const Arrays& a) { upc_all_reduceI(a.dst, a.src, 3, 4, 1, nullptr, 0); },
     "upc_all_reduceI: op is 3; required: (one of UPC_ADD|an operator)", true},
    {"no_function", [](const Arrays& a) { upc_all_prefix_reduceI(a.dst, a.src, UPC_NONCOMM_FUNC, 4, 1, nullptr, 0); },
     "upc_all_prefix_reduceI: func is null; required: a function, because op is UPC_NONCOMM_FUNC"},
    {"phase_too_large", [](const Arrays& a) { upc_all_reduceI(a.dst, on(0, a.src, 3), UPC_ADD, 4, 3, nullptr, 0); },
     "upc_all_reduceI: src has phase 3; required: a phase below block, which is 3"},
    {"prefix_thread", [](const Arrays& a) { upc_all_prefix_reduceI(on(1, a.dst), a.src, UPC_ADD, 4, 1, nullptr, 0); },
     "upc_all_prefix_reduceI: dst has affinity to thread 1; required: that of src, which is thread 0"},
    {"prefix_phase", [](const Arrays& a) { upc_all_prefix_reduceI(on(0, a.dst, 2), on(0, a.src, 1), UPC_ADD, 4, 3, nullptr, 0); },
     "upc_all_prefix_reduceI: dst has phase 2; required: that of src, which is 1"},
    {"prefix_in_place", [](const Arrays& a) { upc_all_prefix_reduceI(a.src, a.src, UPC_ADD, 4, 1, nullptr, 0); },
     "upc_all_prefix_reduceI: (dst and src|src and dst) overlap by 4 bytes .of 4 and 4. on thread 0"},
    {"result_among_elements", [](const Arrays& a) { upc_all_reduceI(on(2, a.src), a.src, UPC_ADD, 9, 1, nullptr, 0); },
     "upc_all_reduceI: (dst and src|src and dst) overlap by 4 bytes .of [48]+ and [48]+. on thread 2"},
    {"collective_in_barrier",
     [](const Arrays& a) {
       upc_notify();
       upc_all_broadcast(a.dst, a.src, 8, 0);
     },
     "upc_all_broadcast: called between upc_notify and upc_wait; required: upc_wait first", true},
    {"two_notifies",
     [](const Arrays&) {
       upc_notify();
       upc_notify();
     },
     "upc_notify: called a second time; required: upc_wait between two calls", true},
    {"no_such_transfer", [](const Arrays&) { upc_sync(5); },
     "upc_sync: the transfer with handle 5 failed, or there is none; required: what a function that starts a transfer has returned",
     true},
    {"wait_alone", [](const Arrays&) { upc_wait(); }, "upc_wait: called before upc_notify; required: upc_notify first", true},
    {"barrier_values", [](const Arrays&) { upc_barrier_value(MYTHREAD == 2 ? 7 : 3); },
     "upc_barrier: the value of thread 2 is 7; required: 3, as on thread 0", true},
    {"wait_value",
     [](const Arrays&) {
       upc_notify_value(3);
       upc_wait_value(4);
     },
     "upc_wait: the value is 4; required: 3, as thread 0 has notified", true},
    {"foreign_lock", [](const Arrays&) { upc_unlock(upc_all_lock_alloc()); },
     "upc_unlock: this thread does not hold the lock; required: upc_lock first", true},
    {"lock_twice",
     [](const Arrays&) {
       const upc_lock_t lock = upc_global_lock_alloc();
       upc_lock(lock);
       upc_lock(lock);
     },
     "upc_lock: this thread already holds the lock; required: upc_unlock first", true},
    {"no_lock", [](const Arrays&) { upc_lock({upc_null()}); }, "upc_lock: the lock is at null; required: what upc_all_lock_alloc",
     true},
    {"free_inside", [](const Arrays& a) { upc_free(upc_add(a.src, 4, 1, UPC_INDEFINITE)); },
     "upc_free: the pointer is .thread 0, address [0-9]+, phase 0.; required: what upc_all_alloc", true},
    {"null_memory", [](const Arrays&) { upc_memset(upc_null(), 0, 256); },
     "upc_memset: the pointer is null; required: a pointer to shared memory", true},
    {"beyond_memory", [](const Arrays& a) { upc_memput({a.dst.address + (std::size_t{1} << 40), 0, 0}, &a, 8); },
     "upc_memput: 8 bytes from address [0-9]+ of thread 0; required: addresses from 64 to [0-9]+", true},
    {"null_source", [](const Arrays& a) { upc_memcpy(a.dst, upc_null(), 8); }, "upc_memcpy: the pointer is null", true},
    {"locks_differ",
     [](const Arrays&) {
       const upc_lock_t one = upc_all_lock_alloc(), other = upc_all_lock_alloc();
       upc_all_lock_free(MYTHREAD == 1 ? other : one);
     },
     "UPC thread 1: upc_all_lock_free: the lock.address is [0-9]+; required: [0-9]+, as on thread 0"},
    {"too_much", [](const Arrays&) { upc_alloc(std::size_t{1} << 40); },
     "upc_alloc: no 1099511627776 bytes are left; required: .*COPSE_UPC_HEAP, which is 8388608"},
    {"far_too_much", [](const Arrays&) { upc_all_alloc(SIZE_MAX, SIZE_MAX); },
     "upc_all_alloc: [0-9]+ blocks of [0-9]+ bytes are more than fit"},
    {"no_semaphore", [](const Arrays&) { bupc_sem_wait({upc_null()}); },
     "bupc_sem_wait: the semaphore is at null; required: what bupc_sem_alloc has returned", true},
    {"flags_of_a_semaphore", [](const Arrays&) { bupc_sem_alloc(64); },
     "bupc_sem_alloc: flags is 64; required: flags of BUPC_SEM_ names, or 0", true},
    {"boolean_twice",
     [](const Arrays&) {
       const bupc_sem_t sem = bupc_sem_alloc(BUPC_SEM_BOOLEAN);
       bupc_sem_post(sem);
       bupc_sem_post(sem);
     },
     "bupc_sem_post: the semaphore is 1 already; required: a wait before the next post, because it is boolean", true},
    {"boolean_by_two", [](const Arrays&) { bupc_sem_waitN(bupc_sem_alloc(BUPC_SEM_BOOLEAN), 2); },
     "bupc_sem_waitN: count is 2; required: at most 1, because the semaphore is boolean", true},
    {"signal_elsewhere",
     [](const Arrays& a) {
       const int value = 1;
       bupc_memput_signal(on((MYTHREAD + 1) % kThreads, a.dst), &value, sizeof value, bupc_sem_alloc(0), 1);
     },
     "bupc_memput_signal: dst has affinity to thread [0-3]; required: that of the semaphore, which is thread [0-3]", true},
    {"no_such_root", [](const Arrays&) { bupc_allv_broadcast(int, 1, kThreads); },
     "bupc_allv_broadcast: root is 4; required: a thread from 0 to 3", true},
    {"no_such_root_of_all", [](const Arrays&) { bupc_allv_reduce(int, 1, -2, UPC_ADD); },
     "bupc_allv_reduce: root is -2; required: a thread from 0 to 3, or -1 for all", true},
    {"roots_differ", [](const Arrays&) { bupc_allv_broadcast(int, 1, mine_or(2, 1, 0)); },
     "UPC thread 2: bupc_allv_broadcast: root is 1; required: 0, as on thread 0"},
    {"value_operator", [](const Arrays&) { bupc_allv_reduce_all(double, 1, UPC_XOR); },
     "bupc_allv_reduce: op is 16; required: one of UPC_ADD to UPC_MAX that is defined for the type", true},
    {"nothing_to_scatter", [](const Arrays&) { bupc_allv_scatter(int, 1, nullptr); },
     "UPC thread 1: bupc_allv_scatter: values is null on root; required: a value for each thread", true},
    {"value_permutation", [](const Arrays&) { bupc_allv_permute(int, 1, 2); },
     "bupc_allv_permute: thread: permutation.1. is 2, as permutation.0. is; expected every rank once", true},
    {"distance_to_nobody", [](const Arrays&) { bupc_thread_distance(0, 4); },
     "bupc_thread_distance: the second thread is 4; required: a thread from 0 to 3", true},
    {"outside_the_team",
     [](const Arrays& a) {
       const bupc_team_t pair = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD / 2, 0);
       bupc_team_broadcast(pair, a.dst, on(0, a.src), 8, 0);
       upc_barrier();  // the pair of threads 2 and 3 fails
     },
     "UPC thread [23]: bupc_team_broadcast: src has affinity to thread 0; required: a thread of the team", true},
    {"no_root_of_scatter_v",
     [](const Arrays& a) {
       const std::size_t bytes[kThreads] = {8, 8, 8, 8};
       upc_all_scatter_v(a.dst, on(kThreads, a.src), bytes, nullptr, 0);
     },
     "upc_all_scatter_v: the pointer to the root's memory has affinity to thread 4; required: a thread from 0 to 3", true},
    {"no_root_of_gather_v",
     [](const Arrays& a) {
       const std::size_t bytes[kThreads] = {8, 8, 8, 8};
       upc_all_gather_v(on(-1, a.dst), a.src, bytes, nullptr, 0);
     },
     "upc_all_gather_v: the pointer to the root's memory has affinity to thread -1; required: a thread from 0 to 3", true},
    {"no_root_of_broadcast_x",
     [](const Arrays& a) {
       const upc_shared dst[kThreads] = {on(0, a.dst), on(1, a.dst), on(2, a.dst), on(3, a.dst)};
       upc_all_broadcast_x(dst, on(7, a.src), 8, 0);
     },
     "upc_all_broadcast_x: the pointer to the root's memory has affinity to thread 7; required: a thread from 0 to 3", true},
    {"no_root_of_gather", [](const Arrays& a) { upc_all_gather(on(9, a.dst), a.src, 8, 0); },
     "upc_all_gather: .* has affinity to thread 9; required: a thread from 0 to 3", true},
    {"no_root_of_reduce", [](const Arrays& a) { upc_all_reduceI(on(5, a.dst), a.src, UPC_ADD, kThreads, 1, nullptr, 0); },
     "upc_all_reduceI: .* has affinity to thread 5; required: a thread from 0 to 3", true},
    {"barrier_of_some_members",
     [](const Arrays& a) {
       if (MYTHREAD == 1) bupc_team_barrier(BUPC_TEAM_ALL);
       else bupc_team_broadcast(BUPC_TEAM_ALL, a.dst, a.src, 8, 0);
     },
     "called bupc_team_"},
    {"barrier_beside_a_collective",
     [](const Arrays& a) {
       if (MYTHREAD == 1) upc_barrier();
       else upc_all_broadcast(a.dst, a.src, 8, 0);
     },
     "thread 0 is in a collective function, and thread 1 in a barrier; required: the same barriers"},
    {"notify_beside_a_collective",
     [](const Arrays& a) {
       if (MYTHREAD == 0) upc_all_reduceI(a.dst, a.src, UPC_ADD, 8, 2, nullptr, 0);
       else upc_notify(), upc_wait();
     },
     "thread 0 is in a collective function, and thread 1 in a barrier; required: the same barriers"},
    {"end_beside_a_collective",
     [](const Arrays& a) {
       if (MYTHREAD != 2) upc_all_gather(a.dst, a.src, 8, 0);
     },
     "thread 0 is in a collective function, and thread 2 at the end of the program; required: the same barriers"},
    {"semaphore_of_too_many", [](const Arrays&) { bupc_sem_waitN(bupc_sem_alloc(0), static_cast<std::size_t>(-1)); },
     "bupc_sem_waitN: count is 18446744073709551615; required: less than 2.63", true},
    {"size_of_all", [](const Arrays&) { upc_alloc(static_cast<std::size_t>(-1)); },
     "upc_alloc: no 18446744073709551615 bytes are left"},
    {"overlap_in_a_team",
     [](const Arrays& a) {
       const bupc_team_t pair = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD / 2, 0);
       const int first = MYTHREAD / 2 * 2;
       if (first == 2) bupc_team_broadcast(pair, on(first, a.dst), on(first + 1, {a.dst.address + 4, 0, 0}), 8, 0);
       upc_barrier();
     },
     "overlap by 4 bytes .of 8 and 8. on thread 3; required: no overlap"},
    {"sizes_differ",
     [](const Arrays& a) {
       const std::size_t bytes[kThreads] = {8, 8, 8, MYTHREAD == 1 ? 16UL : 8UL};
       upc_all_gather_all_v(a.dst, a.src, bytes, nullptr, 0);
     },
     "UPC thread 1: upc_all_gather_all_v: a checksum of the tables is -?[0-9]+; required: -?[0-9]+, as on thread 0"},
    {"block_elsewhere",
     [](const Arrays& a) {
       upc_shared dst[kThreads], src[kThreads];
       const std::size_t bytes[kThreads] = {8, 8, 8, 8};
       for (int i = 0; i < kThreads; ++i) {
         dst[i] = on((i + 1) % kThreads, a.dst);
         src[i] = on(1, a.src);
       }
       upc_all_scatter_x(dst, src, bytes, 0);
     },
     "upc_all_scatter_x: a block goes from thread 1 to thread 1; required: from thread 1 to thread 0"},
    {"blocks_overlap",
     [](const Arrays& a) {
       const std::size_t bytes[kThreads] = {8, 8, 8, 8}, places[kThreads] = {0, 4, 16, 24};
       upc_all_gather_v(a.dst, a.src, bytes, places, 0);
     },
     "upc_all_gather_v: blocks of dst overlap on thread 0; required: no overlap"},
};

class ErrorsDeathTest : public testing::TestWithParam<std::tuple<Mistake, Kind>> {};
INSTANTIATE_TEST_SUITE_P(, ErrorsDeathTest,
                         testing::Combine(testing::ValuesIn(kMistakes), testing::Values(Kind::threads, Kind::processes)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + name_of(std::get<1>(info.param));
                         });

TEST_P(ErrorsDeathTest, NamesThreadArgumentValueAndWhatWasRequired) {
  const auto& [mistake, kind] = GetParam();
  const auto run = [&, call = mistake.call, which = kind] {
    exit(run_upc(which, kThreads, [call]() -> std::string {
      const Arrays arrays;
      call(arrays);
      return "";
    }));
  };
  // One line, whatever the other threads notice.
  const std::string line = std::string("^copse: (UPC thread [0-9]: )?.*") + mistake.message + "[^\n]*\n$";
  {
    const Variable check("COPSE_CHECK", "1");
    EXPECT_EXIT(run(), testing::ExitedWithCode(1), line);
  }
  if (mistake.always) {
    EXPECT_EXIT(run(), testing::ExitedWithCode(1), line);
  }
}

// Without COPSE_CHECK, a program may ask for less, as the specification says.
TEST(Memory, IsNullIfItCannotBeHad) {
  for (const Kind kind : {Kind::threads, Kind::processes}) {
    EXPECT_EQ(run_upc(kind, 2,
                      []() -> std::string {
                        const bool none = upc_is_null(upc_alloc(std::size_t{1} << 40)) &&
                                          upc_is_null(upc_all_alloc(SIZE_MAX, SIZE_MAX)) &&
                                          upc_is_null(upc_global_alloc(4, std::size_t{1} << 40));
                        const upc_shared less = upc_all_alloc(4, 64);
                        const bool had = !upc_is_null(less);
                        upc_all_free(less);
                        return none && had ? "" : "memory that cannot be had is not null";
                      }),
              0);
  }
}

TEST(EndDeathTest, IsNoBarrierOfTheProgram) {
  const auto run = [] {
    exit(run_upc(Kind::threads, 2, []() -> std::string {
      if (MYTHREAD == 1) upc_barrier();
      return "";
    }));
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(1), "thread 0 is at the end of the program, and thread 1 in a barrier; required");
}

TEST(OutsideDeathTest, OfUpcThreadsOnlyAFewFunctionsMayBeCalled) {
  EXPECT_EXIT(upc_barrier(), testing::ExitedWithCode(1),
              "copse: upc_barrier: called outside of UPC threads; required: a call inside the program of copse_upc_run");
  EXPECT_EXIT(upc_alloc(8), testing::ExitedWithCode(1), "copse: upc_alloc: called outside of UPC threads");
  EXPECT_EQ(THREADS, 1);
}

}  // namespace
}  // namespace copse::test
