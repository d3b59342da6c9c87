// The collectives that move data, against the definition of each in bytes (UPC 1.3).
//
// Before and after a call, threads write and read what its synchronisation mode allows: so a call that synchronises less fails.
// Bytes around the destination must stay.
#include <gtest/gtest.h>

#include <cstdlib>
#include <iterator>
#include <vector>

#include "upc_threads.hpp"

namespace copse::test {
namespace {

constexpr std::size_t kGuard = 64;
constexpr unsigned char kUntouched = 0xee;

enum class Call { broadcast, scatter, gather, gather_all, exchange, permute };

struct Case {
  Call call;
  std::size_t bytes;  // of a block
  int one;  // the thread on which a whole array lies
  std::size_t phase;  // of pointers, where it is to be ignored
  unsigned round;  // so that data differ from call to call
  upc_flag_t flags;
};

unsigned char pattern(unsigned round, int thread, std::size_t byte) {
  return static_cast<unsigned char>((round * 131 + static_cast<unsigned>(thread) * 37 + byte * 7) % 223);
}

bool src_everywhere(Call call) { return call != Call::broadcast && call != Call::scatter; }
bool dst_everywhere(Call call) { return call != Call::gather; }
std::size_t src_blocks(Call call, int threads) {
  return call == Call::scatter || call == Call::exchange ? static_cast<std::size_t>(threads) : 1;
}
std::size_t dst_blocks(Call call, int threads) {
  const bool all = call == Call::gather || call == Call::gather_all || call == Call::exchange;
  return all ? static_cast<std::size_t>(threads) : 1;
}
int target(unsigned round, int thread, int threads) {  // a rotation, or a reflection in every other round
  const int turned = (thread + static_cast<int>(round / 2)) % threads;
  return round % 2 == 0 ? turned : threads - 1 - turned;
}

// Returns the thread and the block from which block `block` of `thread`'s part of dst comes.
std::pair<int, std::size_t> origin(const Case& c, int thread, std::size_t block, int threads) {
  switch (c.call) {
    case Call::broadcast: return {c.one, 0};
    case Call::scatter: return {c.one, static_cast<std::size_t>(thread)};
    case Call::gather:
    case Call::gather_all: return {static_cast<int>(block), 0};
    case Call::exchange: return {static_cast<int>(block), static_cast<std::size_t>(thread)};
    case Call::permute: break;
  }
  int from = 0;
  while (target(c.round, from, threads) != thread) ++from;
  return {from, 0};
}

void make(const Case& c, upc_shared dst, upc_shared src, upc_shared perm) {
  upc_shared to = upc_add(dst, static_cast<ptrdiff_t>(kGuard), 1, UPC_INDEFINITE);
  if (!dst_everywhere(c.call)) to.thread = c.one;
  if (!src_everywhere(c.call)) src.thread = c.one;
  to.phase = src.phase = c.phase;
  switch (c.call) {
    case Call::broadcast: return upc_all_broadcast(to, src, c.bytes, c.flags);
    case Call::scatter: return upc_all_scatter(to, src, c.bytes, c.flags);
    case Call::gather: return upc_all_gather(to, src, c.bytes, c.flags);
    case Call::gather_all: return upc_all_gather_all(to, src, c.bytes, c.flags);
    case Call::exchange: return upc_all_exchange(to, src, c.bytes, c.flags);
    case Call::permute: return upc_all_permute(to, src, perm, c.bytes, c.flags);
  }
}

std::string compare(const Case& c, upc_shared dst, int thread) {
  const int threads = THREADS;
  const bool has = dst_everywhere(c.call) || thread == c.one;
  const std::size_t length = has ? dst_blocks(c.call, threads) * c.bytes : 0,
                    whole = static_cast<std::size_t>(threads) * c.bytes + 2 * kGuard;
  const std::vector<unsigned char> all = bytes_at(thread, dst.address, whole);
  for (std::size_t byte = 0; byte < whole; ++byte) {
    unsigned char expected = kUntouched;
    if (byte >= kGuard && byte < kGuard + length) {
      const auto [from, block] = origin(c, thread, (byte - kGuard) / c.bytes, threads);
      expected = pattern(c.round, from, block * c.bytes + (byte - kGuard) % c.bytes);
    }
    if (const unsigned char found = all[byte]; found != expected)
      return "call " + std::to_string(static_cast<int>(c.call)) + " of " + std::to_string(c.bytes) + " bytes, thread " +
             std::to_string(c.one) + ", flags " + std::to_string(c.flags) + ": byte " + std::to_string(byte) + " on thread " +
             std::to_string(thread) + " is " + std::to_string(found) + ", not " + std::to_string(expected);
  }
  return "";
}

std::string try_case(const Case& c, upc_shared dst, upc_shared src, upc_shared perm) {
  const int mine = written_by_me(c.flags);
  const std::size_t whole = static_cast<std::size_t>(THREADS) * c.bytes + 2 * kGuard;
  fill(mine, dst.address, kUntouched, whole);
  std::vector<unsigned char> given(src_blocks(c.call, THREADS) * c.bytes);
  for (std::size_t byte = 0; byte < given.size(); ++byte) given[byte] = pattern(c.round, mine, byte);
  upc_memput(upc_shared{src.address, 0, mine}, given.data(), given.size());
  at<int>(mine, perm.address) = target(c.round, mine, THREADS);
  enter(c.flags);
  make(c, dst, src, perm);
  leave(c.flags);
  const std::string wrong = compare(c, dst, read_by_me(c.flags));
  upc_barrier();
  return wrong;
}

std::string all_cases() {
  constexpr std::size_t kMost = 100001;
  const auto n = static_cast<std::size_t>(THREADS);
  const upc_shared dst = upc_all_alloc(n, n * kMost + 2 * kGuard), src = upc_all_alloc(n, n * kMost),
                   perm = upc_all_alloc(n, sizeof(int));
  const bool every = std::getenv("TEST_SWEEP") != nullptr;
  constexpr Call kCalls[] = {Call::broadcast, Call::scatter, Call::gather, Call::gather_all, Call::exchange, Call::permute};
  std::string wrong;
  unsigned round = 0, turn = 0;
  for (const Call call : kCalls)
    for (const std::size_t bytes :
         {std::size_t{1}, std::size_t{7}, std::size_t{120}, std::size_t{4096}, THREADS <= 3 ? kMost : std::size_t{9001}})
      for (int one = 0; one < THREADS; ++one) {
        ++round;
        const bool all_alike = call == Call::gather_all || call == Call::exchange;
        if ((all_alike || bytes > 5000) && one > 1) continue;
        for (const upc_flag_t flags : kModes) {
          if (!every && bytes != 7 && flags != kModes[round % std::size(kModes)]) continue;
          const std::string found = try_case({call, bytes, one, round % 3, ++turn, flags}, dst, src, perm);
          if (wrong.empty()) wrong = found;
        }
      }
  upc_all_free(perm);
  upc_all_free(src);
  upc_all_free(dst);
  return wrong;
}

class Movements : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Movements, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

TEST_P(Movements, FollowTheDefinitionByteByByte) {
  for (int threads = 1; threads <= 9; ++threads) EXPECT_EQ(run_upc(GetParam(), threads, all_cases), 0) << threads << " threads";
}

TEST_P(Movements, FollowTheDefinitionOnManyThreads) { expect_right_on_many_threads(GetParam(), all_cases); }

TEST_P(Movements, ArgumentsThatAreRightPassTheChecks) {
  const Variable check("COPSE_CHECK", "1");
  for (const int threads : {1, 3}) EXPECT_EQ(run_upc(GetParam(), threads, all_cases), 0) << threads << " threads";
}

// The algorithms of the papers serve UPC's calls as they serve others.
TEST_P(Movements, RunByTheAlgorithmsOfThePapers) {
  for (const char* algorithms :
       {"broadcast=flat:get;scatter=flat:get;gather=flat:put;allgather=flat:get;alltoall=flat:get",
        "broadcast=flat:put;scatter=flat:put;gather=flat:get;allgather=flat:put;alltoall=flat:slot",
        "broadcast=knomial;scatter=knomial;gather=knomial;allgather=bruck;alltoall=bruck",
        "broadcast=prop;scatter=prop;gather=prop;allgather=prop;alltoall=prop",
        "broadcast=hierarchical;scatter=push_ring;gather=pull_ring;allgather=hierarchical;alltoall=hierarchical"}) {
    const Variable forced("COPSE_ALGORITHM", algorithms);
    EXPECT_EQ(run_upc(GetParam(), 5, all_cases), 0) << algorithms;
  }
}

// Where the modes allow it, plans find other threads' arrays without being told, and the root's source of a broadcast is not its
// block of the destination.
TEST_P(Movements, RunByAlgorithmsThatTouchOthersArrays) {
  for (const char* algorithms :
       {"broadcast=chain:get;scatter=token_ring;gather=token_ring;allgather=ring:get;alltoall=pairwise:put",
        "broadcast=knomial:put;scatter=knomial:get;gather=knomial:put;allgather=ring:put;alltoall=hierarchical:get",
        "broadcast=scatter_ring:get;scatter=fixed:get;gather=fixed:put;allgather=circulant:get;alltoall=prop:put",
        "broadcast=scatter_ring:put;scatter=fixed:put;gather=fixed:get;allgather=circulant:put;alltoall=prop:get",
        "broadcast=scatter_doubling:get;scatter=two_stage:get;gather=knomial:get;allgather=multi_leader:get",
        "broadcast=scatter_doubling:put;scatter=token_rings;gather=token_rings;allgather=multi_leader:put",
        "broadcast=circulant:get;scatter=push_ring;gather=pull_ring;allgather=gather_broadcast:get",
        "broadcast=circulant:put;scatter=one_way;gather=one_way;allgather=gather_broadcast:put",
        "broadcast=split_binary:get;allgather=neighbor_exchange:get", "broadcast=split_binary:put;allgather=neighbor_exchange:put",
        "broadcast=fixed:get;allgather=bine:get", "broadcast=fixed:put;allgather=bine:put",
        "broadcast=shared;allgather=recursive_doubling:get", "broadcast=hierarchical_pipelined:get;allgather=hierarchical:put",
        "broadcast=bine:get;scatter=hierarchical:get;gather=hierarchical:put;allgather=hierarchical_pipelined:get",
        "broadcast=hierarchical_flat:get;scatter=hierarchical_flat:get;gather=hierarchical_flat:put;allgather=multi_lane:get",
        "broadcast=multi_lane:get;scatter=multi_lane:get;gather=multi_lane:put;allgather=hierarchical_pipelined:put"}) {
    const Variable forced("COPSE_ALGORITHM", algorithms);
    for (const int threads : {2, 5})
      EXPECT_EQ(run_upc(GetParam(), threads, all_cases), 0) << algorithms << ", " << threads << " threads";
  }
}

}  // namespace
}  // namespace copse::test
