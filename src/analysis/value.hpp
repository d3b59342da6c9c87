// Symbolic values: what a byte range holds, as an expression over the ranks' contributions.
//
// A value is `contribution(call, rank)` or `a op b`. Expressions are hash-consed: equal expressions have equal
// ids, so "bit-identical on all ranks" is a comparison of two integers. What a check asks of an expression
// (whose contributions, how often, in which order) is computed once, when it is first made.
//
// The position within the message is no part of a value: the judge lets data move only between equal
// positions, and tags memory that is reused for another fragment.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/numbers.hpp"

namespace copse::analysis {

class Values {
 public:
  using Id = std::uint32_t;
  static constexpr Id kNothing = 0;  // never written

  Values(int ranks, int calls);

  [[nodiscard]] Id contribution(int call, int rank) const { return static_cast<Id>(1 + call * ranks_ + rank); }
  [[nodiscard]] Id combine(Id a, Id b);

  // The contributions to `call` of the ranks 0 to `last` exactly once, and nothing else.
  [[nodiscard]] bool complete(Id id, int call, int last) const;
  // The contributions stand in the order of ranks when the brackets are left out.
  [[nodiscard]] bool in_order(Id id) const { return nodes_[id].ordered; }
  // (0.1 + 0.2), call.rank; cut off where it grows too long to help.
  [[nodiscard]] std::string text(Id id) const;

 private:
  static constexpr std::int32_t kMixed = -1;
  struct Node {
    Id left = 0, right = 0;          // both 0: a contribution
    std::int32_t call = kMixed;      // of all contributions, or kMixed
    std::int32_t low = 0, high = 0;  // first and last rank, if ordered
    std::uint32_t count = 1;         // contributions
    bool ordered = true;
    bool distinct = true;    // no contribution twice
    std::uint32_t bits = 0;  // index of the set of ranks in bits_
  };
  void append_text(Id id, std::string& out) const;

  int ranks_;
  Id leaves_;  // nothing, and the contributions
  std::uint32_t words_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> bits_;
  Numbers combined_;  // by their sides; their nodes stand after the contributions
};

}  // namespace copse::analysis
