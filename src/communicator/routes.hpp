// Routes say what runs which call of a communicator. A route has a decision and the programs that it needs. Both are made when
// they are first needed, and are kept.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "choose/situation.hpp"
#include "communicator/arguments.hpp"
#include "communicator/group.hpp"
#include "communicator/programs.hpp"
#include "communicator/route.hpp"
#include "communicator/ways.hpp"
#include "engine/executor.hpp"

namespace copse::communicator {

class Routes {
 public:
  // Must be called before the first call. Tallies are kept in `trace`. In a lane, other ways are never tried for calls that come
  // often, and nothing is delegated to the MPI: it would need a communicator of its own for each lane.
  void begin(const Group& group, const engine::Executor& executor, Trace& trace, bool in_lane);

  [[nodiscard]] Recent& recent(algorithms::Collective collective) { return recent_[static_cast<std::size_t>(collective)]; }
  // Fills `recent` for a call without tables. No call may be under way.
  void decide(const Arguments& arguments, Recent& recent);

  // Returns what is known of a call with these modes, which has no tables. No call may be under way.
  [[nodiscard]] Recent& relaxed(const Arguments& arguments, plan::Modes modes);
  // Returns what runs a message, or blocks, of so many bytes.
  Route& find(algorithms::Collective collective, choose::Needs needs, std::size_t bytes, bool inexact = false);
  // Returns what runs a call with these arguments, whose message or largest block has `count` elements.
  Route& find(const Arguments& arguments, std::size_t count) {
    return find(arguments.collective, needs_of(arguments), count * arguments.element_bytes, is_inexact(arguments));
  }
  // If a call among neighbours has blocks of one size and is run by an algorithm that needs that, returns the elements of a block.
  [[nodiscard]] std::optional<std::size_t> alike(const Arguments& arguments);
  // Returns what runs a call with sizes that not all ranks know, or null if the sizes must be exchanged first.
  Untold* without_sizes(algorithms::Collective collective);

  // Returns the program for a call. `settled` says that no call is under way, so that a program may be dropped to make room for
  // this one.
  const engine::Program& program(Route& route, const Arguments& arguments, bool settled) {
    if (arguments.permutation != nullptr) [[unlikely]]
      return programs_.permuted(route.decision, arguments.permutation, settled);
    return program(route, arguments.root);
  }
  const engine::Program& program(Route& route, int root);
  void forget_programs();  // see Programs::forget
  // Writes into the call how the message is cut, and what may ride.
  void set_cut(engine::Call& call, const Route& route) const;

  // The following functions serve learning (lessons.hpp). Calls with lower numbers than look_at() do not need it.
  [[nodiscard]] std::uint64_t look_at() const { return look_at_; }
  void look() { look_at_ = ways_.learns() ? ways_.lessons().look_at() : UINT64_MAX; }
  [[nodiscard]] bool is_on_trial(std::uint64_t number, Kind kind) const {
    return number >= look_at_ && ways_.lessons().is_on_trial(number, kind);
  }
  [[nodiscard]] Lessons& lessons() { return ways_.lessons(); }
  [[nodiscard]] Ways& ways() { return ways_; }
  [[nodiscard]] const Ways& ways() const { return ways_; }
  // Tells the lessons which calls were made since this was called last.
  void count_recent();
  // Says, after so many calls, whether the MPI's own collective may make calls. All ranks say the same. Returns whether that
  // differs from what was said before. If it does, everything is learned anew.
  bool ask_mpi(bool may, std::uint64_t calls);
  // From now on, runs calls of this kind by another way.
  void take(const Learner::Change& change);

 private:
  // The routes of one collective, by variant_of, and in the order of their sizes.
  using OfCollective = std::array<std::vector<std::unique_ptr<Route>>, kVariants>;
  // What runs calls with modes, by number_of. It is made for the first such call, because most communicators see none.
  struct Relaxed {
    std::array<std::array<Recent, kModes>, algorithms::kCollectives> recent;
    std::array<std::array<std::vector<std::unique_ptr<Route>>, kModes>, algorithms::kCollectives>
        routes;  // in the order of their sizes
  };
  [[nodiscard]] Recent recall(const Arguments& arguments, Route& route, const engine::Program& program) const;
  // On one node there is nothing to gain from blocks of one size.
  [[nodiscard]] bool may_be_alike(const Arguments& arguments) const {
    return group_->have_one_size(arguments.alike) && (situation_.nodes > 1 || !group_->settings.forced.empty());
  }
  [[nodiscard]] choose::Needs needs_of(const Arguments& arguments) const;
  [[nodiscard]] bool is_inexact(const Arguments& arguments) const;
  Route& make(algorithms::Collective collective, unsigned variant, std::size_t bytes);

  const Group* group_ = nullptr;
  choose::Situation situation_;
  const engine::Executor* executor_ = nullptr;
  Trace* trace_ = nullptr;
  std::array<Recent, algorithms::kCollectives> recent_;
  // An entry is made when its collective is first called, because most lanes see one collective.
  std::array<std::unique_ptr<OfCollective>, algorithms::kCollectives> routes_;
  std::array<std::unique_ptr<Untold>, algorithms::kCollectives> without_sizes_;
  std::unique_ptr<Relaxed> relaxed_;
  Programs programs_;
  Ways ways_;
  std::uint64_t look_at_ = UINT64_MAX;
};

}  // namespace copse::communicator
