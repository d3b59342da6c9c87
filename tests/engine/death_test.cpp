// A rank dies after any step of any algorithm. Every rank that waits for it, or for a rank that waits for it, learns of
// that.
//
// The dying rank's program is cut off after a step. The rank runs the rest, which may reach a wait that never ends, and
// is killed there or at its end. The other ranks make calls until a call ends as it must.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/executor.hpp"
#include "engine/reach/process.hpp"
#include "graph.hpp"
#include "model.hpp"
#include "topology/layout.hpp"

namespace copse::test {
namespace {

using algorithms::Algorithm;
using engine::Outcome;

constexpr std::size_t kAtOnce = 6;        // groups of ranks
constexpr unsigned kSecondsToNotice = 60;  // on a busy machine; on a quiet one it takes 50 ms

struct Death {
  const Algorithm* algorithm;
  plan::Carrier carrier;
  int ranks, victim;
  std::size_t step;  // the first step that is not taken

  [[nodiscard]] std::string text() const {
    return std::string(algorithms::name_of(algorithm->collective)) + " " + std::string(algorithm->name) + " by " +
           plan::name_of(carrier) + ", rank " + std::to_string(victim) + " of " + std::to_string(ranks) + " dies before step " +
           std::to_string(step);
  }
};

std::size_t steps_of(const engine::Program& program) {
  std::size_t steps = 0;
  for (const auto& section : program.sections) steps += section.ops.size();
  return steps;
}

void cut_off(engine::Program& program, std::size_t left) {
  for (auto& section : program.sections) {
    const std::size_t kept = std::min(left, section.ops.size());
    section.ops.resize(kept);
    left -= kept;
  }
}

// Every rank gives to the next one: in other permutations some ranks need never hear of a death.
constexpr std::uint64_t kSeed = 1;
std::vector<int> permutation_of(int ranks) {
  ModelCall call;
  call.ranks = ranks;
  call.seed = kSeed;
  return call.permutation();
}

const topology::Placement& places_of(int ranks) {
  static const topology::Machine machine = topology::Machine::from("numa:2 core:2 pu:1");
  static topology::Placement places;
  if (places.size() != static_cast<std::size_t>(ranks)) places = topology::place_block(machine, 1, ranks);
  return places;
}

// Processes over one segment. A rank reports by its exit code.
class Group {
 public:
  explicit Group(const Death& death)
      : death_(death), bytes_(kHead + engine::Segment::bytes(geometry_, death.ranks)),
        memory_(static_cast<std::byte*>(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    for (int rank = 0; rank < death.ranks; ++rank) {
      const pid_t child = fork();
      if (child == 0) _exit(run(rank));
      children_.push_back(child);
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  ~Group() { munmap(memory_, bytes_); }

  // Returns what is wrong, or an empty text.
  std::string wait() {
    std::string wrong;
    for (int rank = 0; rank < death_.ranks; ++rank) {
      int status = 0;
      waitpid(children_[static_cast<std::size_t>(rank)], &status, 0);
      const int expected = rank == death_.victim ? SIGKILL : kLost << 8;
      if (status == expected) continue;
      wrong += ": rank " + std::to_string(rank);
      if (WIFSIGNALED(status)) wrong += WTERMSIG(status) == SIGALRM ? " hangs" : " gets signal " + std::to_string(WTERMSIG(status));
      if (WIFEXITED(status)) wrong += " ends with " + std::to_string(WEXITSTATUS(status));
    }
    return wrong.empty() ? wrong : death_.text() + wrong;
  }

 private:
  static constexpr std::size_t kHead = 4096;
  static constexpr int kLost = 100, kAnother = 101, kNotLost = 110;

  std::atomic<pid_t>& process(int rank) const { return reinterpret_cast<std::atomic<pid_t>*>(memory_)[rank]; }

  int run(int rank) {
    alarm(kSecondsToNotice);
    process(rank).store(getpid());
    std::vector<engine::Peer> peers(static_cast<std::size_t>(death_.ranks));
    for (int other = 0; other < death_.ranks; ++other) {
      while (process(other).load() == 0) usleep(100);
      peers[static_cast<std::size_t>(other)].local = other;
      peers[static_cast<std::size_t>(other)].process = engine::Process::find({process(other).load(), 0});
    }
    const bool dies = rank == death_.victim;
    const auto lost = [&](int other) {
      if (dies) raise(SIGKILL);  // it is in a wait
      return other != rank && peers[static_cast<std::size_t>(other)].process->ended();
    };
    engine::ScratchPool scratches;
    engine::Executor executor(engine::Segment(memory_ + kHead, geometry_), peers, rank, {0, 0, 64, 100}, nullptr, lost, scratches);
    algorithms::Request request;
    request.rank = rank;
    request.ranks = death_.ranks;
    request.carrier = death_.carrier;
    request.places = &places_of(death_.ranks);
    const std::vector<int> permutation = permutation_of(death_.ranks);
    request.permutation = permutation;
    const algorithms::Graph graph = graph_of(death_.ranks);
    request.graph = &graph;
    engine::Program program = executor.prepare(death_.algorithm->plan(request));

    const bool in_lines = death_.carrier == plan::Carrier::line;
    ModelCall model{.collective = death_.algorithm->collective, .ranks = death_.ranks, .count = in_lines ? std::size_t{1} : kCount};
    if (model.collective == algorithms::Collective::barrier) model.count = 0;
    model.seed = kSeed;
    CallBuffers buffers(rank, model);
    const communicator::Arguments arguments = buffers.arguments();
    engine::Call call;
    call.input = arguments.input;
    call.output = arguments.output;
    call.count = arguments.count;
    call.element_bytes = arguments.element_bytes;
    call.combine = arguments.combine;
    if (death_.algorithm->fragments && !in_lines && !program.one_fragment) call.fragment_count = kCount / 3;
    if (program.slots) call.slot_class = geometry_.class_for(kCount * program.pack * call.element_bytes);

    if (dies) {
      cut_off(program, death_.step);
      static_cast<void>(executor.run(program, call));
      raise(SIGKILL);
    }
    Outcome outcome = Outcome::done;
    while (outcome == Outcome::done) outcome = executor.run(program, call);
    if (outcome == Outcome::peer_lost) return executor.lost_rank() == death_.victim ? kLost : kAnother;
    return kNotLost + static_cast<int>(outcome);
  }

  static constexpr std::size_t kCount = 90;
  Death death_;
  engine::Geometry geometry_{};
  std::size_t bytes_;
  std::byte* memory_;
  std::vector<pid_t> children_;
};

// Returns the steps of a rank's plan, as the engine takes them.
std::size_t steps_of(const Death& death) {
  algorithms::Request request;
  request.rank = death.victim;
  request.ranks = death.ranks;
  request.carrier = death.carrier;
  request.places = &places_of(death.ranks);
  const std::vector<int> permutation = permutation_of(death.ranks);
  request.permutation = permutation;
  const algorithms::Graph graph = graph_of(death.ranks);
  request.graph = &graph;
  std::vector<engine::Peer> peers(static_cast<std::size_t>(death.ranks));
  for (int rank = 0; rank < death.ranks; ++rank) peers[static_cast<std::size_t>(rank)].local = rank;
  static engine::Line nowhere;  // only addresses are computed from it
  const engine::Segment segment(reinterpret_cast<std::byte*>(&nowhere), {});
  return steps_of(engine::compile(death.algorithm->plan(request), segment, peers));
}

// Returns all deaths in the full sweep. Otherwise returns one for each algorithm and carrier, a different one each
// time.
std::vector<Death> deaths() {
  const bool full = std::getenv("TEST_SWEEP") != nullptr;
  std::vector<Death> result;
  std::size_t number = 0;
  for (const Algorithm& algorithm : algorithms::all())
    for (int c = 0; c < plan::kCarriers; ++c) {
      const auto carrier = static_cast<plan::Carrier>(c);
      if (!algorithm.carries(carrier)) continue;
      for (const int ranks : full ? std::vector<int>{2, 3, 4, 5} : std::vector<int>{4}) {
        Death death{&algorithm, carrier, ranks, static_cast<int>(number % static_cast<std::size_t>(ranks)), 0};
        const std::size_t steps = steps_of(death);
        if (full) {
          for (death.step = 0; death.step <= steps; ++death.step) result.push_back(death);
        } else {
          death.step = number * 7 % (steps + 1);
          result.push_back(death);
        }
        ++number;
      }
    }
  return result;
}

// The deaths are cut into parts, which can be shards.
constexpr int kParts = 5;
class Deaths : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Parts, Deaths, testing::Range(0, kParts));

TEST_P(Deaths, AreNoticedAtEveryStep) {
  std::vector<Death> all;
  for (int number = 0; const Death& death : deaths())
    if (number++ % kParts == GetParam()) all.push_back(death);
  for (std::size_t first = 0; first < all.size(); first += kAtOnce) {
    std::vector<std::unique_ptr<Group>> groups;
    for (std::size_t i = first; i < std::min(all.size(), first + kAtOnce); ++i) groups.push_back(std::make_unique<Group>(all[i]));
    for (const auto& group : groups) EXPECT_EQ(group->wait(), "");
  }
}

// A batch system may stop and continue all processes of a job. Then nobody looks meanwhile, and nobody is to be killed.
TEST(Stopped, OnlyTimeInWhichSomebodyLooksCounts) {
  const pid_t child = fork();
  if (child == 0)
    while (true) pause();
  engine::Process process(engine::process_of(child));
  constexpr std::chrono::milliseconds kMost{1500};
  const auto look = [&] {
    process.end_if_stopped(kMost);
    usleep(20'000);
    return process.ended();
  };
  kill(child, SIGSTOP);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_FALSE(look());
  usleep(3'000'000);
  EXPECT_FALSE(look()) << "killed after time in which nobody looked";
  bool ended = false;
  for (int i = 0; i < 500 && !ended; ++i) ended = look();
  EXPECT_TRUE(ended);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
}

}  // namespace
}  // namespace copse::test
