// Dedicated collective processors (CDCP IV.A). The last ranks of a request may be helpers, which have no part of the message:
// they receive, combine and return for the other ranks, the callers. A caller gives to one helper and takes from it, whatever
// the number of ranks. The helpers complete the collective among themselves.
#pragma once

#include <span>
#include <vector>

#include "algorithms/patterns/rounds.hpp"
#include "algorithms/registry.hpp"

namespace copse::algorithms {

// Returns the tree of service: a k-nomial tree over the helpers, below which the callers hang as leaves. A caller hangs below a
// helper of its own node, if there is one, and every helper serves about the same number of callers with neighbouring ranks. The
// root is the helper of rank `request.root`. Surplus helpers are not in the tree.
[[nodiscard]] const shape::SurveyedTree& serving_tree(const Request& request);
// Returns the forest of service, for helpers that exchange what they have. The first 2^n helpers are tops, where 2^n is the
// largest power of two not above their number. Every other helper hangs below a top, and callers hang below helpers as in the tree
// of service. `request.root` does not matter.
[[nodiscard]] const shape::SurveyedTree& serving_forest(const Request& request);

// Returns the plan of a reduction that has a result for all callers: the whole of it for each, or a block for each.
[[nodiscard]] plan::Plan combine_for_all(const Request& request);

// What a rank has to do with the others. Values of callers and partial results go up on area 0, and results come down on area 1.
// Under put, a helper reads a caller's input and writes its output where they lie, and a signal on area 2 tells the caller that its
// call is over. If the message is made of blocks, each caller gives one for every caller. A caller gets its own, and a helper gets
// those of the callers below it.
class Service {
 public:
  Service(plan::Builder& builder, const Request& request, const shape::SurveyedTree& tree);  // keeps references to the two

  [[nodiscard]] bool is_caller() const { return rank_ < callers_; }
  [[nodiscard]] bool is_idle() const { return !is_caller() && below_.empty(); }  // a helper that is not needed
  [[nodiscard]] bool is_top() const { return parent_ == shape::kNoParent; }

  // A caller's part. `gives` and `takes` say whether it has a value and gets one.
  void call(bool gives, bool takes) const;

  // A helper's part, in a loop. combine_up() combines what comes from below and gives it to the helper above, or delivers it.
  void combine_up() const;
  // Combines what comes from below, exchanges it with the other tops, and delivers the result. The exchange is recursive doubling.
  // Of blocks it gives only those that the other top still needs, which are half as many in each round. Only tops call this.
  void combine_and_exchange(std::span<const int> tops) const;
  // Gives `value` to those below: the callers that take a result, and the helpers if the result is for many. It may lack parts that
  // nobody there gets.
  void deliver(plan::Operand value) const;
  // Takes what comes down from the helper above, and delivers it.
  void pass_down() const;
  // Call this behind the loop. Ends the calls of those callers that no other signal tells that their call is over.
  void release() const;

 private:
  [[nodiscard]] bool in_place(int other) const;
  [[nodiscard]] std::vector<plan::Range> parts_for(std::vector<int> ranks) const;
  void give_parts(int area, const std::vector<Parcel>& given, plan::Operand place) const;
  [[nodiscard]] plan::Operand take_parts(int area, int from, std::span<const plan::Range> parts, plan::Operand home) const;
  [[nodiscard]] plan::Operand in_slot() const { return plan::Builder::in_slot(whole_); }
  [[nodiscard]] plan::Operand scratch(int number) const { return builder_.scratch(number, whole_); }
  [[nodiscard]] plan::Operand open_down() const;
  void let_go(plan::Operand value) const;
  [[nodiscard]] std::vector<int> readers() const;
  void combine(plan::Operand place) const;

  plan::Builder& builder_;
  const shape::SurveyedTree& tree_;
  int rank_, callers_, parent_;
  plan::Range whole_;  // all of the message
  bool scatters_;  // a caller gets its block of the message, and not all of it
  std::vector<int> below_;
  std::vector<int> takers_;  // the ranks of `below_` that get a result
};

}  // namespace copse::algorithms
