// What a communicator keeps of its own stream of calls: shared by the files that make it, run calls on it and explain it.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "choose/chooser.hpp"
#include "communicator/communicator.hpp"
#include "communicator/group.hpp"
#include "communicator/progress.hpp"
#include "engine/executor.hpp"
#include "engine/reach/shared_memory.hpp"

namespace copse::communicator {

// What runs messages of some sizes: those for which the same is decided.
struct Route {
  choose::Decision decision;
  std::vector<const engine::Program *> by_root;
  Tally *tally = nullptr;
};

inline std::size_t largest(const Block *blocks, int ranks) {
  std::size_t most = 0;
  for (int i = 0; blocks != nullptr && i < ranks; ++i) most = std::max(most, blocks[i].count);
  return most;
}

// What a rank tells all others before a call whose sizes are not known to all.
struct Size {
  std::size_t elements : 48 = 0;  // of its block; of pairs, of the largest. Addresses have as many bits.
  std::size_t check : 16 = 0;     // of pairs: see sizes.cpp
};
// What a rank tells another of an alltoall if they do not mean the same: elements that it gives it, and takes of it at most.
struct Pair {
  std::size_t gives = 0, takes = 0;
};

// A program for a permutation. There are too many of these to keep all.
struct Permuted {
  const algorithms::Algorithm *algorithm;
  plan::Carrier carrier;
  int radix;
  std::vector<int> permutation;
  engine::Program program;
};

// What was decided for the last call of a collective: most are like it.
struct Recent {
  std::size_t count = 0, element_bytes = 0;
  int root = -1;
  bool strict = false;
  Route *route = nullptr;
  const engine::Program *program = nullptr;
  engine::Call call;  // all of it but the buffers and the operator
  bool gives = false, takes = false;  // has this rank an input, and an output?
};

// A call under way that needs more than its arguments: one that was started, one with a table of blocks, or one that is
// in place where plans cannot be.
struct Job {
  Arguments arguments;
  engine::Combine combine;
  std::array<std::vector<Block>, 2> tables;  // copies of the arguments', of a call that was started
  std::vector<Block> input_blocks;           // of `memory`
  std::vector<std::size_t> sizes;  // of all ranks' blocks
  std::vector<std::byte> memory;   // instead of the input of an alltoall, or the output of a reduce_scatter
  enum class Stage : std::uint8_t { refusing, exchanging, comparing, running, over } stage = Stage::over;
  std::uint64_t number = 0;     // of the call: see engine::Call
  Size size;                // this rank's
  std::vector<Size> told;   // by all
  std::vector<Pair> pairs;      // what all tell this rank; then what it tells them
  engine::Call call;
  const Route *route = nullptr;
  const engine::Program *program = nullptr;
  Outcome outcome = Outcome::done;
  double seconds = 0;           // spent on it so far; under COPSE_TRACE
  std::atomic<bool> over{true};  // of a call that was started: the outcome stands
  engine::CutOff cut_off;        // of one that was truncated
};

struct Communicator::State final : Progress::Task {
  std::shared_ptr<Group> group;
  std::optional<Lane> lane;            // none: this is the communicator's own stream
  bool keeps_lane = false;             // the others' calls there have taken tickets without this rank
  std::unique_ptr<engine::Wire> wire;  // of the lane
  std::unique_ptr<engine::Executor> executor;
  int rank = 0, ranks = 1;  // as in the group,
  bool traced = false;      // as its settings say
  // [collective][strict + 2 wide], in the order of sizes; of a collective when it is first called: most lanes see one
  using Routes = std::array<std::vector<std::unique_ptr<Route>>, 4>;
  std::array<std::unique_ptr<Routes>, algorithms::kCollectives> routes;
  std::array<Recent, algorithms::kCollectives> recent;
  std::map<std::tuple<const algorithms::Algorithm *, plan::Carrier, int, int>, engine::Program> programs;
  std::list<Permuted> permuted;  // the last used first
  std::array<std::unique_ptr<Route>, algorithms::kCollectives> one_way_routes;
  Trace trace;
  algorithms::Collective running{};
  std::deque<std::shared_ptr<Job>> started;  // not over yet, in order; whoever has the turn may look
  Job spare;                                 // of blocking calls
  std::uint64_t calls = 0;                   // so many have been made here, by each rank
  Outcome broken = Outcome::done;            // how the communicator became unusable
  int error = 0;                             // errno at that time

  ~State() override;
  void begin_in(std::shared_ptr<Group> joined) noexcept;
  [[nodiscard]] const void *whole() const override { return group.get(); }
  [[nodiscard]] engine::Program prepare(const choose::Decision &decision, int root, algorithms::Permutation permutation) const;
  const engine::Program &program_for(const choose::Decision &decision, int root);
  const engine::Program &program_for(const choose::Decision &decision, algorithms::Permutation permutation);
  Route &make_route(algorithms::Collective collective, choose::Needs needs, std::size_t bytes);
  void open(Route &route, algorithms::Collective collective);
  Route &route_for(algorithms::Collective collective, choose::Needs needs, std::size_t bytes);
  [[nodiscard]] choose::Needs needs_of(const Arguments &arguments) const;
  const engine::Program &program_of(Route &route, int root, const int *permutation = nullptr);
  void set_cut(engine::Call &call, const Route &route) const;
  void decide(const Arguments &arguments, Recent &recent);
  Outcome run(const Arguments &arguments);
  Outcome run_now(algorithms::Collective collective, const Route &route, const engine::Program &program, const engine::Call &call);
  Outcome run_one_way(Route &route, const Arguments &arguments, const engine::Call &call);

  void begin(Job &job, const Arguments &arguments);
  Route *bind_one_way(const Arguments &arguments, engine::Call &call);
  void ask(Job &job, Job::Stage stage, algorithms::Collective collective, const void *input, void *output, std::size_t bytes);
  [[nodiscard]] Size size_of(const Arguments &arguments) const;
  void tell_size(Job &job);
  void take_sizes(Job &job);
  void read_letters(Job &job);
  [[nodiscard]] bool pairs_differ(const Job &job) const;
  void compare_pairs(Job &job);
  void clip_pairs(Job &job) const;
  void bind(Job &job);
  void set_aside(Job &job) const;
  Outcome advance(Job &job, bool polling);
  Outcome advance_untold(Job &job, bool polling);
  [[nodiscard]] Outcome verdict(Job &job) const;
  Progress::Went go_on(bool helper) override;
  [[nodiscard]] bool is_for_helper(const Job &job) const;
  bool has_ended(const Job &job);
  void finish_started();
  Outcome enqueue(const std::shared_ptr<Job> &job);
  // Runs `body`, which returns an Outcome. After one that breaks the communicator every later call gets the same.
  template <class Body>
  Outcome attempt(Body &&body);
  Outcome caught();
};

}  // namespace copse::communicator
