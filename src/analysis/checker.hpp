// The checker runs all ranks' plans of a sequence of calls symbolically, and proves them right.
//
// It proves, for the given ranks, nodes, fragments and depths of the rings:
//   data        Every rank's result is the right expression over this call's contributions (value.hpp). Inputs are
//               untouched. Nothing is read that was not written, or that belongs to another fragment or call. For
//               allreduce, the expression is the same on all ranks, so the bits are, too.
//   deadlock    Every rank finishes every call, and the messages on the wire match one by one.
//   races       No two accesses to the same memory, one of them a write, are without an order between them (order.hpp),
//               within a call and across calls. The caller counts, too: it writes the input before the call, reads the
//               output when the call returns, and then overwrites both.
//
// One run is a proof for all schedules. Each wait names one rank and a bound on a word that only grows (a progress, the number of
// messages in a first-in-first-out channel), or the ticket and portion in the word of a line. That word may take a later ticket,
// which ends no wait for the earlier one. So no post of a later ticket may come before such a wait, and one without an order
// against it is a race. Then once a wait may pass, it may always pass, and what a rank does next never depends on which of several
// events came first. So every schedule executes the same steps (Kahn, 1974). If this one gets stuck, all get stuck at the same
// steps; if it finishes, all finish.
//
// The edges of happens-before do not depend on the schedule either. An await is ordered after the post of exactly its ticket,
// a wait for progress after the first `done` that reaches the bound, and the k-th receive after the k-th send. So the set of
// unordered pairs is the same in every schedule. If it is empty, every read sees the one write that is last before it in that
// order, and computes the same value.
//
// Where the real engine may order less or more, the checker assumes the weaker. An await may pass on a later portion of its
// ticket, but is ordered only after its own. A drain blocks until the message was received (rendezvous, the worst case for
// deadlock), but gives no order (the message may have been buffered, the worst case for races). The content of a line or slot from
// an earlier ticket conflicts as a whole, since the calls may differ in size.
#pragma once

#include <cstddef>
#include <string>

#include "analysis/script.hpp"
#include "analysis/verdict.hpp"

namespace copse::analysis {

// The most ranks that the checker takes. It keeps a table of how much every rank knows of every other, and each signal carries its
// sender's row.
inline constexpr int kMostChecked = 4096;
// Returns why the checker does not take so many ranks, and what to do. The text is empty if it takes them.
[[nodiscard]] std::string refusal(int ranks);

// Stops after `most` findings. Throws std::invalid_argument if there are more ranks than kMostChecked.
[[nodiscard]] Verdict check(const Case& subject, std::size_t most = 8, WaitUse* use = nullptr);

}  // namespace copse::analysis
