// Symbolic values: what a byte range holds, as an expression over the contributions of the ranks.
//
// A value is `contribution(call, rank)` or `a op b`. Expressions are hash-consed: equal expressions have equal ids, so
// "bit-identical on all ranks" is a comparison of two integers. The properties that a check asks for (whose contributions,
// how often, in which order) are computed once, when an expression is first made.
//
// The position within the message is not part of a value. The judge lets data move only between equal positions, and tags
// memory that is reused for another fragment.
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

  // Tells whether the value has the contributions to `call` of the ranks 0 to `last` exactly once, and nothing else.
  [[nodiscard]] bool complete(Id id, int call, int last) const;
  // Tells whether the contributions are in the order of ranks if the brackets are left out.
  [[nodiscard]] bool in_order(Id id) const { return nodes_[id].ordered; }
  // Returns a text such as (0.1 + 0.2), with call.rank for a contribution. It is cut off where it grows too long to help.
  [[nodiscard]] std::string text(Id id) const;

 private:
  static constexpr std::int32_t kMixed = -1;
  struct Node {
    Id left = 0, right = 0;          // both 0: a contribution
    std::int32_t call = kMixed;      // the call of all contributions, or kMixed
    std::int32_t low = 0, high = 0;  // first and last rank, if ordered
    std::uint32_t count = 1;         // number of contributions
    bool ordered = true;
    bool distinct = true;    // no contribution twice
    std::uint32_t bits = 0;  // index of the set of ranks in bits_
  };
  void append_text(Id id, std::string& out) const;

  int ranks_;
  Id leaves_;  // number of ids for nothing and for the contributions
  std::uint32_t words_;
  std::vector<Node> nodes_;
  std::vector<std::uint64_t> bits_;
  Numbers combined_;  // by their sides; their nodes follow the contributions
};

}  // namespace copse::analysis
