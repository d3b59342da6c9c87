// The script has the calls that all ranks make one after the other, and the plans that they run for them. A walk (walk.hpp)
// goes through it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/registry.hpp"
#include "plan/plan.hpp"

namespace copse::analysis {

using Plans = std::vector<plan::Plan>;  // one per rank
using Ticket = std::int64_t;

[[nodiscard]] inline std::size_t at(int index) { return static_cast<std::size_t>(index); }

// Where a rank's value rides in a call (plan.hpp): with its publication in the line, in the slot beside it, or nowhere. The
// rank chooses by what others do not know, so a plan must be right for every choice of all ranks.
enum class Ride : std::uint8_t { stays, line, slot };

// One collective call by all ranks, and what it must achieve. Many fields: each is an argument of the call, or a promise of its
// caller.
struct ScriptedCall {
  std::shared_ptr<const Plans> plans;
  algorithms::Collective collective{};
  int root = 0;
  bool keeps_order = true;  // the operator may not commute
  bool in_place = false;  // where it can be; a broadcast always is
  int fragments = 1;
  std::vector<Ride> rides{};  // by rank; empty: all stays
  std::vector<int> permutation{};  // of collectives that have one
  algorithms::Graph graph{};  // likewise
  int helpers = 0;  // the last ranks, which have no part of the message
  // What the caller promises of the buffers, and so what the plans may do.
  plan::Modes modes{};
  // A barrier that belongs to this call comes directly before it, or directly after it (ALLSYNC). No rank enters the call before
  // all have come to the first barrier. No rank leaves the second barrier before all have returned from the call.
  bool fenced_in = false, fenced_out = false;

  [[nodiscard]] int callers() const { return static_cast<int>(plans->size()) - helpers; }
  [[nodiscard]] const algorithms::Traits& traits() const { return algorithms::traits_of(collective); }
  // Tells whether a rank gives something, gets a result, and has a buffer for either.
  [[nodiscard]] bool has_input(int rank) const { return rank < callers() && traits().has_input(rank, root); }
  [[nodiscard]] bool has_output(int rank) const { return rank < callers() && traits().has_output(rank, root); }
  [[nodiscard]] bool has_input_buffer(int rank) const {
    return rank < callers() && (traits().one_buffer || traits().has_input(rank, root));
  }
  [[nodiscard]] bool has_output_buffer(int rank) const {
    return rank < callers() && (traits().one_buffer || traits().has_output(rank, root));
  }
};

// Replaces one plan by another, for mutants (mutate.hpp). The other plans obey the rules, which are not checked again.
struct Replacement {
  const Plans* in = nullptr;  // applies to all calls that run these
  int rank = 0;
  plan::Plan plan;
  int late_step = -1;  // a wait of that plan, for a ticket that is `late_by` lower than it should be
  int late_by = 0;
};

struct Case {
  int ranks = 1;
  std::vector<std::int32_t> nodes;  // per rank; empty: one node
  int line_depth = 2, slot_depth = 2;
  std::vector<ScriptedCall> calls;
  const Replacement* replacement = nullptr;

  [[nodiscard]] bool near(int a, int b) const { return nodes.empty() || nodes[at(a)] == nodes[at(b)]; }
};

// The plans of a call. Other calls may run them, too.
struct Cast {
  static constexpr std::size_t kNone = SIZE_MAX;
  std::vector<const plan::Plan*> plans;
  // The posts of one fragment are numbered: [rank][area][portion]. This is [rank][area]: the number of the first portion. The last
  // entry is the number of all posts. A rank has only the posts that its own plan makes, because one rank may give a portion to
  // every other.
  std::vector<std::size_t> first_portion;
  // These have an entry for each post: how often other ranks await it. They are empty if a plan is replaced, because mutants may
  // await what nobody should.
  std::vector<std::int32_t> awaited_once;  // in the first fragment, by steps outside loops
  std::vector<std::int32_t> awaited;  // by loops, in any fragment but the last
  std::vector<std::int32_t> awaited_last;  // by loops, in the last fragment

  // Returns the number of a rank's post on the area and portion of the step, or kNone if the rank makes no such post.
  [[nodiscard]] std::size_t post_of(int rank, const plan::Step& step) const {
    const std::size_t* const area = &first_portion[at(rank) * plan::kAreas + step.area];
    const std::size_t post = area[0] + step.portion;
    return post < area[1] ? post : kNone;
  }
};

// A call of the script.
struct Act {
  std::size_t cast = 0;
  int fragments = 1;
  Ticket first = 0;  // the first ticket of the call
  std::size_t first_post = 0;  // the first post of the call, [post of the cast][fragment]
};

// Where a rank is in its calls and, once it has entered one, the step that it is about to take.
struct Cursor {
  std::size_t call = 0;
  const plan::Plan* plan = nullptr;  // of the call, once entered
  int fragments = 1;
  Ticket first = 0;  // the first ticket of the call
  const std::vector<Ride>* rides = nullptr;
  std::size_t section = 0;
  std::uint32_t step = 0;
  int iteration = 0;
};

// Tells whether the rank of this plan has a value that may ride.
[[nodiscard]] inline bool gives_ride(const plan::Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(),
                     [](const plan::Step& step) { return step.dst.space == plan::Space::ride; });
}
[[nodiscard]] inline Ride ride_of(const std::vector<Ride>& rides, int rank) {
  return rides.empty() ? Ride::stays : rides[at(rank)];
}
// Tells whether the value of `whose` rides, which may be kEveryone.
[[nodiscard]] inline bool is_riding(const std::vector<Ride>& rides, int whose) {
  if (whose != plan::kEveryone) return ride_of(rides, whose) != Ride::stays;
  return !rides.empty() && std::find(rides.begin(), rides.end(), Ride::stays) == rides.end();
}

// Moves to the next step of the current call and returns it, with the fragment that it works on. Returns null at the end.
[[nodiscard]] inline const plan::Step* upcoming(Cursor& cursor, int& fragment) {
  const plan::Plan& plan = *cursor.plan;
  const int fragments = cursor.fragments;
  // With one fragment, the executor runs a loop's steps once, in their order, whatever their lag.
  const bool straight = fragments == 1;
  while (cursor.section < plan.sections.size()) {
    const plan::Section& section = plan.sections[cursor.section];
    if (cursor.step == section.count) {
      cursor.step = 0;
      if (++cursor.iteration == (section.loop && !straight ? fragments + section.max_lag : 1)) {
        cursor.iteration = 0;
        ++cursor.section;
      }
      continue;
    }
    const plan::Step& step = plan.steps[section.first + cursor.step];
    fragment = section.loop && !straight ? cursor.iteration - step.lag : 0;
    const bool applies =
        step.when == plan::When::always || (step.when == plan::When::rides) == is_riding(*cursor.rides, step.whose);
    if (applies && fragment >= 0 &&
        plan::is_among(section.fragments, static_cast<std::uint64_t>(fragment), static_cast<std::uint64_t>(fragments)))
      return &step;
    ++cursor.step;
  }
  return nullptr;
}

class Script {
 public:
  explicit Script(const Case& subject);  // keeps a reference to it
  Script(const Script&) = delete;
  Script& operator=(const Script&) = delete;

  [[nodiscard]] const Case& subject() const { return subject_; }
  [[nodiscard]] int ranks() const { return subject_.ranks; }
  [[nodiscard]] std::size_t calls() const { return acts_.size(); }
  [[nodiscard]] const Act& act(std::size_t call) const { return acts_[call]; }
  [[nodiscard]] const Cast& cast_of(std::size_t call) const { return casts_[acts_[call].cast]; }
  [[nodiscard]] const std::vector<Cast>& casts() const { return casts_; }
  [[nodiscard]] const plan::Plan& plan_of(std::size_t call, int rank) const { return *cast_of(call).plans[at(rank)]; }
  [[nodiscard]] Cursor entered(std::size_t call, int rank) const {
    return {call, &plan_of(call, rank), acts_[call].fragments, acts_[call].first, &subject_.calls[call].rides};
  }
  // Returns the ranks of a rank's node, itself included, ascending.
  [[nodiscard]] std::span<const int> near(int rank) const { return near_[at(rank)]; }
  [[nodiscard]] Ticket tickets() const { return tickets_; }  // of all calls
  [[nodiscard]] std::size_t posts() const { return posts_; }  // posts that all ranks can make in all calls

 private:
  void find_neighbours();
  [[nodiscard]] std::size_t cast_for(const ScriptedCall& call);
  void count_awaits(Cast& cast) const;

  const Case& subject_;
  std::vector<int> by_node_;  // all ranks, node by node
  std::vector<std::span<const int>> near_;  // by rank: a part of by_node_
  std::vector<Cast> casts_;
  std::vector<Act> acts_;
  Ticket tickets_ = 0;
  std::size_t posts_ = 0;
};

}  // namespace copse::analysis
