// What a collective call costs on a machine: a walk over all ranks' plans whose clock is the machine's (one-walk.md). Waits, copies
// and reductions take time. What passes the same cache, link, memory, network or processor shares its speed (flows.hpp).
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "analysis/variants.hpp"
#include "price/parameters.hpp"

namespace copse::price {

// How ranks reach buffers of others, where a plan does that.
enum class Reach : std::uint8_t { loads, kernel };

inline constexpr double kTooLong = std::numeric_limits<double>::infinity();

// Many fields: everything that the price of a call depends on, besides the machine.
struct Question {
  analysis::Variant variant;  // with its plans. Its places are those of the machine's processors.
  std::size_t bytes = 0;  // of the message, or of each block
  std::size_t fragment_bytes = 0;  // of the fragments into which it is cut; 0: one
  int line_depth = 64, slot_depth = 8;  // of the rings of lines and slots that the call uses
  Reach reach = Reach::loads;
  bool cold = false;  // inputs and outputs are in no cache
  // Nobody writes the inputs between the calls. Then a peer's input is in the reader's own caches from the second call on, if it
  // fits.
  bool unchanged = false;
  int calls = 1;  // so many calls, back to back; the price is that of one after the first
  std::string operation = "sum", type = "double";
  double most = kTooLong;  // ns: the walk ends as soon as the price is known to be higher, and it is then kTooLong
};

// What time is spent on.
enum class Part : std::uint8_t { call, steps, turns, signals, copies, reductions, kernel, wire };
inline constexpr int kParts = 8;
[[nodiscard]] const char* name_of(Part part);

// A stretch of time on the critical path: the chain of steps and waits that decides when the last rank returns.
struct Stretch {
  int rank;
  double from, to;  // ns from the start of the first call
  Part part;
  topology::Level level;  // of signals, copies and reductions: the innermost level that has giver and taker
  std::string what;  // the step
};

struct Price {
  double ns = 0;
  std::vector<Stretch> path;  // of all calls after the first, or of the only one
  int calls = 1;  // how many calls are in `path`
  double overhead_ns = 0;  // the time of rank 0 for a call, without the time in which it only waits

  // The time of a call on the critical path by part and level. Parts that took no time are left out.
  struct Share {
    Part part;
    topology::Level level;
    double ns;
  };
  [[nodiscard]] std::vector<Share> shares() const;
};

// Throws std::invalid_argument if the machine's file lacks what the plans need (the kernel, a network).
[[nodiscard]] Price price(const Question& question, const Parameters& machine);

}  // namespace copse::price
