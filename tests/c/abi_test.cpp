// The binary interface: what a program relies on that was compiled against an earlier header.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <set>
#include <string>

#include "copse/copse.h"

extern "C" int header_compiles_as_c11(void);

namespace {

TEST(Abi, TheHeaderIsAlsoC11) { EXPECT_EQ(header_compiles_as_c11(), COPSE_OK); }

// New names go to the end of the lists. These numbers never change again.
TEST(Abi, NumbersStay) {
  static_assert(COPSE_OK == 0 && COPSE_ERROR_ARGUMENT == 1 && COPSE_ERROR_VARIABLE == 2 && COPSE_ERROR_UNREACHABLE == 3 &&
                COPSE_ERROR_MISMATCH == 4 && COPSE_ERROR_LOST == 5 && COPSE_ERROR_MEMORY == 6 && COPSE_ERROR_TRUNCATED == 7);
  static_assert(COPSE_INT8 == 0 && COPSE_INT16 == 1 && COPSE_INT32 == 2 && COPSE_INT64 == 3 && COPSE_UINT8 == 4 &&
                COPSE_UINT16 == 5 && COPSE_UINT32 == 6 && COPSE_UINT64 == 7 && COPSE_FLOAT16 == 8 && COPSE_BFLOAT16 == 9 &&
                COPSE_FLOAT == 10 && COPSE_DOUBLE == 11 && COPSE_LONG_DOUBLE == 12 && COPSE_COMPLEX_FLOAT16 == 13 &&
                COPSE_COMPLEX_FLOAT == 14 && COPSE_COMPLEX_DOUBLE == 15 && COPSE_COMPLEX_LONG_DOUBLE == 16 &&
                COPSE_LOGICAL8 == 17 && COPSE_LOGICAL16 == 18 && COPSE_LOGICAL32 == 19 && COPSE_LOGICAL64 == 20 &&
                COPSE_BYTE == 21 && COPSE_FLOAT_INT == 22 && COPSE_DOUBLE_INT == 23 && COPSE_LONG_DOUBLE_INT == 24 &&
                COPSE_LONG_INT == 25 && COPSE_INT_INT == 26 && COPSE_SHORT_INT == 27 && COPSE_FLOAT_FLOAT == 28 &&
                COPSE_DOUBLE_DOUBLE == 29);
  static_assert(COPSE_SUM == 0 && COPSE_PROD == 1 && COPSE_MIN == 2 && COPSE_MAX == 3 && COPSE_LAND == 4 && COPSE_LOR == 5 &&
                COPSE_LXOR == 6 && COPSE_BAND == 7 && COPSE_BOR == 8 && COPSE_BXOR == 9 && COPSE_MINLOC == 10 &&
                COPSE_MAXLOC == 11);
  static_assert(sizeof(copse_status) == 4 && sizeof(copse_type) == 4 && sizeof(copse_op) == 4);
  static_assert(COPSE_VERSION_MAJOR == 0 && COPSE_VERSION_MINOR == 2);
}

TEST(Abi, TheLibraryShowsItsInterfaceAndNothingElse) {
  FILE* pipe = popen("nm -D --defined-only --format=posix '" COPSE_LIBRARY "'", "r");
  ASSERT_NE(pipe, nullptr);
  std::set<std::string> shown;
  std::array<char, 512> line{};
  while (fgets(line.data(), line.size(), pipe) != nullptr) {
    const std::string text(line.data());
    shown.insert(text.substr(0, text.find(' ')));
  }
  ASSERT_EQ(pclose(pipe), 0);
  std::set<std::string> interface{"copse_status_text",
                                  "copse_meeting_create",
                                  "copse_meeting_free",
                                  "copse_comm_create_threads",
                                  "copse_meeting_create_with_helpers",
                                  "copse_help_threads",
                                  "copse_comm_join",
                                  "copse_comm_create",
                                  "copse_comm_free",
                                  "copse_comm_rank",
                                  "copse_comm_ranks",
                                  "copse_comm_message",
                                  "copse_wait",
                                  "copse_wait_all",
                                  "copse_test"};
  for (const std::string name :
       {"barrier", "broadcast", "reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block", "gather",
        "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv", "permute"})
    interface.insert({"copse_" + name, "copse_start_" + name});
  interface.insert({"copse_upc_run", "copse_upc_threads", "copse_upc_mythread", "copse_upc_at", "copse_upc_castable"});
  for (const std::string name : {"global_exit",   "cast",         "all_alloc",  "global_alloc",   "alloc",
                                 "free",          "all_free",     "memcpy",     "memget",         "memput",
                                 "memset",        "barrier",      "notify",     "wait",           "barrier_value",
                                 "notify_value",  "wait_value",   "fence",      "all_lock_alloc", "global_lock_alloc",
                                 "lock",          "lock_attempt", "unlock",     "lock_free",      "all_lock_free",
                                 "all_broadcast", "all_scatter",  "all_gather", "all_gather_all", "all_exchange",
                                 "all_permute"})
    interface.insert("upc_" + name);
  for (const std::string name : {"memcpy", "memget", "memput", "memset"})
    interface.insert({"upc_" + name + "_nb", "upc_" + name + "_nbi"});
  interface.insert({"upc_sync", "upc_sync_attempt", "upc_synci", "upc_synci_attempt"});
  for (const std::string type : {"C", "UC", "S", "US", "I", "UI", "L", "UL", "F", "D", "LD"})
    interface.insert({"upc_all_reduce" + type, "upc_all_prefix_reduce" + type, "bupc_all_reduce_all" + type,
                      "bupc_team_reduce" + type, "bupc_team_prefix_reduce" + type, "bupc_team_reduce_all" + type});
  for (const std::string name :
       {"sem_alloc",   "sem_free",        "sem_post",      "sem_postN",           "sem_wait",        "sem_waitN",
        "sem_try",     "sem_tryN",        "memput_signal", "memput_signal_async", "thread_distance", "team_split",
        "team_free",   "team_rank",       "team_size",     "team_barrier",        "team_broadcast",  "team_scatter",
        "team_gather", "team_gather_all", "team_exchange", "team_permute"})
    interface.insert("bupc_" + name);
  for (const std::string name : {"scatter_v", "gather_v", "gather_all_v", "exchange_v", "broadcast_x", "scatter_x", "gather_x",
                                 "gather_all_x", "exchange_x"})
    interface.insert("upc_all_" + name);
  for (const std::string name : {"reduce", "prefix_reduce", "broadcast", "scatter", "gather", "gather_all", "permute"})
    interface.insert("copse_allv_" + name);
  std::set<std::string> versioned{"COPSE_0.2"};  // each function has the version in which it appeared
  for (const std::string& name : interface) versioned.insert(name + "@@COPSE_0.2");
  EXPECT_EQ(shown, versioned);
}

}  // namespace
