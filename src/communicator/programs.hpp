// The programs that run a communicator's calls. A program is made when it is first needed, and is kept. Of programs for
// permutations, only the most recent are kept.
#pragma once

#include <list>
#include <map>
#include <tuple>
#include <vector>

#include "choose/decision.hpp"
#include "communicator/group.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

// Numbers the modes of calls. Modes that are not placed have the number 0.
inline constexpr unsigned kModes = 5;
[[nodiscard]] inline unsigned number_of(plan::Modes modes) {
  if (!modes.placed) return 0;
  return 1 + (modes.in == plan::Sync::none ? 1U : 0U) + (modes.out == plan::Sync::none ? 2U : 0U);
}

class Programs {
 public:
  // Must be called before the first call.
  void begin(const Group& group, const engine::Executor& executor) {
    group_ = &group;
    executor_ = &executor;
  }
  const engine::Program& of(const choose::Decision& decision, int root, plan::Modes modes = {});
  // Returns a program for a permutation. `settled` says that no call is under way, so that a program may be dropped to make room
  // for this one.
  const engine::Program& permuted(const choose::Decision& decision, const int* entries, bool settled, plan::Modes modes = {});
  // Programs are made anew when they are needed again. No call may be under way.
  void forget();

 private:
  // There are too many permutations to keep all their programs.
  struct Permuted {
    const algorithms::Algorithm* algorithm;
    plan::Carrier carrier;
    int radix;
    plan::Modes modes;
    std::vector<int> permutation;
    engine::Program program;
  };
  [[nodiscard]] engine::Program prepare(const choose::Decision& decision, int root, algorithms::Permutation permutation,
                                        plan::Modes modes) const;

  const Group* group_ = nullptr;
  const engine::Executor* executor_ = nullptr;
  std::map<std::tuple<const algorithms::Algorithm*, plan::Carrier, int, int, unsigned>, engine::Program> programs_;
  std::list<Permuted> permuted_;  // the one used last comes first
};

}  // namespace copse::communicator
