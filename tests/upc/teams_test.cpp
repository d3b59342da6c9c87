// Teams (<copse/bupc.h>): collectives among some of the threads, also while other teams make theirs.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "copse/bupc.h"
#include "upc_threads.hpp"

namespace copse::test {
namespace {

class Teams : public testing::TestWithParam<Kind> {};
INSTANTIATE_TEST_SUITE_P(, Teams, testing::ValuesIn(kinds()), [](const auto& info) { return name_of(info.param); });

// A team as its members expect it: their numbers among all threads.
struct Expected {
  std::vector<int> members;
  [[nodiscard]] std::size_t size() const { return members.size(); }
  [[nodiscard]] int operator[](std::size_t i) const { return members[i % members.size()]; }
  [[nodiscard]] std::size_t me() const {
    return static_cast<std::size_t>(std::find(members.begin(), members.end(), MYTHREAD) - members.begin());
  }
};

struct Arrays {
  static constexpr std::size_t kBytes = 64 * sizeof(int);
  upc_shared dst, src, perm;
  Arrays()
      : dst(upc_all_alloc(static_cast<std::size_t>(THREADS), kBytes)),
        src(upc_all_alloc(static_cast<std::size_t>(THREADS), kBytes)),
        perm(upc_all_alloc(static_cast<std::size_t>(THREADS), sizeof(int))) {}
  [[nodiscard]] Shared<int> to(int thread, std::size_t i) const { return at<int>(thread, dst.address + i * sizeof(int)); }
  [[nodiscard]] Shared<int> from(int thread, std::size_t i) const { return at<int>(thread, src.address + i * sizeof(int)); }
  void release() const {
    for (const upc_shared p : {dst, src, perm}) upc_all_free(p);
  }
};

upc_shared on(int thread, upc_shared p) { return {p.address, 0, thread}; }
int value_of(int thread, std::size_t i, std::size_t turn) {
  return thread * 1000 + static_cast<int>(i) + 100000 * static_cast<int>(turn);
}

// Every collective, in every mode, with each member as root. What the members get is compared with what each of them has given.
std::string collectives(bupc_team_t team, const Expected& members, const Arrays& arrays) {
  const std::size_t n = members.size(), me = members.me();
  if (bupc_team_size(team) != static_cast<int>(n) || bupc_team_rank(team) != static_cast<int>(me)) return "the team is another";
  std::size_t turn = 0;
  for (const upc_flag_t flags :
       {0, UPC_IN_MYSYNC | UPC_OUT_MYSYNC, UPC_IN_NOSYNC | UPC_OUT_NOSYNC, UPC_IN_ALLSYNC | UPC_OUT_NOSYNC})
    for (std::size_t root = 0; root < n; ++root) {
      const int root_thread = members[root];
      std::string wrong;
      const auto fill = [&] {
        ++turn;
        for (std::size_t i = 0; i < n * n; ++i) arrays.from(MYTHREAD, i) = value_of(MYTHREAD, i, turn);
        bupc_team_barrier(team);
      };
      const auto expect = [&](const char* what, std::size_t i, int thread, std::size_t j) {
        if (const int got = arrays.to(MYTHREAD, i); wrong.empty() && got != value_of(thread, j, turn))
          wrong = std::string(what) + " gave " + std::to_string(got) + ", not " + std::to_string(value_of(thread, j, turn));
      };
      const auto done = [&] { bupc_team_barrier(team); };
      fill();
      bupc_team_broadcast(team, arrays.dst, on(root_thread, arrays.src), sizeof(int), flags);
      done();
      expect("broadcast", 0, root_thread, 0);
      fill();
      bupc_team_scatter(team, arrays.dst, on(root_thread, arrays.src), sizeof(int), flags);
      done();
      expect("scatter", 0, root_thread, me);
      fill();
      bupc_team_gather(team, on(root_thread, arrays.dst), arrays.src, sizeof(int), flags);
      done();
      for (std::size_t i = 0; me == root && i < n; ++i) expect("gather", i, members[i], 0);
      fill();
      bupc_team_gather_all(team, arrays.dst, arrays.src, sizeof(int), flags);
      done();
      for (std::size_t i = 0; i < n; ++i) expect("gather_all", i, members[i], 0);
      fill();
      bupc_team_exchange(team, arrays.dst, arrays.src, sizeof(int), flags);
      done();
      for (std::size_t i = 0; i < n; ++i) expect("exchange", i, members[i], me);
      at<int>(MYTHREAD, arrays.perm.address) = static_cast<int>((me + root) % n);
      fill();
      bupc_team_permute(team, arrays.dst, arrays.src, arrays.perm, sizeof(int), flags);
      done();
      expect("permute", 0, members[me + n - root], 0);
      fill();
      bupc_team_reduce_allI(team, arrays.dst, on(members[0], arrays.src), UPC_ADD, n, 1, nullptr, flags);
      done();
      const auto sum = [&](std::size_t end) {
        return std::accumulate(members.members.begin(), members.members.begin() + static_cast<std::ptrdiff_t>(end), 0,
                               [&](int before, int thread) { return before + value_of(thread, 0, turn); });
      };
      if (wrong.empty() && arrays.to(MYTHREAD, 0) != sum(n)) wrong = "reduce_all gave " + std::to_string(arrays.to(MYTHREAD, 0));
      fill();
      bupc_team_prefix_reduceI(team, on(members[0], arrays.dst), on(members[0], arrays.src), UPC_ADD, n, 1, nullptr, flags);
      done();
      if (wrong.empty() && arrays.to(MYTHREAD, 0) != sum(me + 1))
        wrong = "prefix_reduce gave " + std::to_string(arrays.to(MYTHREAD, 0));
      fill();
      bupc_team_reduceI(team, on(root_thread, arrays.dst), on(members[0], arrays.src), UPC_MAX, n, 1, nullptr, flags);
      done();
      const int most = *std::max_element(members.members.begin(), members.members.end());
      if (me == root) expect("reduce", 0, most, 0);
      if (!wrong.empty()) return wrong + " (root " + std::to_string(root) + ", flags " + std::to_string(flags) + ")";
    }
  return "";
}

// Odd and even threads, in the opposite order; then halves of these.
std::string of_teams() {
  const Arrays arrays;
  Expected mine, half;
  for (int thread = THREADS - 1; thread >= 0; --thread)
    if (thread % 2 == MYTHREAD % 2) mine.members.push_back(thread);
  const bupc_team_t team = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD % 2, -MYTHREAD);
  if (const std::string wrong = collectives(team, mine, arrays); !wrong.empty()) return wrong;
  const std::size_t middle = mine.size() / 2;
  for (std::size_t i = 0; i < mine.size(); ++i)
    if ((i < middle) == (mine.me() < middle)) half.members.push_back(mine[i]);
  const bupc_team_t part = bupc_team_split(team, mine.me() < middle ? 7 : 3, 0);
  if (const std::string wrong = collectives(part, half, arrays); !wrong.empty()) return "half: " + wrong;
  bupc_team_free(part);
  if (const std::string wrong = collectives(team, mine, arrays); !wrong.empty()) return "again: " + wrong;
  bupc_team_free(team);
  Expected all;
  for (int thread = 0; thread < THREADS; ++thread) all.members.push_back(thread);
  if (const std::string wrong = collectives(BUPC_TEAM_ALL, all, arrays); !wrong.empty()) return "all: " + wrong;
  arrays.release();
  return "";
}

TEST_P(Teams, MakeEveryCollective) {
  for (const int threads : {1, 2, 3, 5, 6}) EXPECT_EQ(run_upc(GetParam(), threads, of_teams), 0) << threads;
}

// What teams have is given back.
TEST_P(Teams, ComeAndGo) {
  EXPECT_EQ(run_upc(
                GetParam(), 3,
                []() -> std::string {
                  for (int i = 0; i < 200; ++i) {
                    const bupc_team_t team = bupc_team_split(BUPC_TEAM_ALL, MYTHREAD == i % 3 ? 1 : 0, i);
                    bupc_team_barrier(team);
                    bupc_team_free(team);
                  }
                  bupc_team_free(BUPC_TEAM_ALL);
                  return "";
                },
                "1M"),
            0);
}

}  // namespace
}  // namespace copse::test
