// The executor runs one rank's program in real memory. It goes through the program's operations in one of two loops (loops.hpp).
// Other files do the work of an operation: signals.hpp waits and posts, operands.hpp locates operands, movement.hpp copies and
// reduces, and messages.hpp sends and receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/call.hpp"
#include "engine/messages.hpp"
#include "engine/movement.hpp"
#include "engine/neighbours.hpp"
#include "engine/operands.hpp"
#include "engine/orders.hpp"
#include "engine/outcome.hpp"
#include "engine/program.hpp"
#include "engine/signals.hpp"
#include "engine/stand_ins.hpp"
#include "engine/wire/wire.hpp"

namespace copse::engine {

class Executor {
 public:
  // `peers[r]` is rank r, and `me` is this rank. `wire` may be null if all ranks share the node. A long wait for a local rank
  // calls `lost` now and then, which says whether that rank has died. Large scratches come from the pool.
  Executor(const Segment& segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire* wire,
           std::function<bool(int rank)> lost, ScratchPool& scratches);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  [[nodiscard]] Program prepare(const plan::Plan& plan) const { return compile(plan, here_.segment, here_.peers); }

  // From now on, peers reach buffers through the shared heap alone (no kernel copies). If a buffer that a program publishes
  // lies elsewhere, its contents are first copied to the heap.
  void publish_from_heap_only() { heap_only_ = true; }

  // From now on, results of at least this many bytes are stored past the caches. Results that do not fit in the last cache
  // need not push out of it what others still read (YHCCL, SC'23). Measured by copse-kernels-bench, delivering.
  void stream_from(std::size_t bytes) { movement_.stream_from(bytes); }

  // Sets how data is stored into slots from now on.
  void store_slots(const SlotStores& stores) { movement_.store_slots(stores); }

  // Numbers the coming calls from `ticket` instead of 0. This is for tests, and for memory in which calls have already run up
  // to that ticket. All ranks must do so, either while the memory is still zero (then up to ticket 2^63) or while none of
  // them is in a call.
  void begin_at(std::uint64_t ticket) { signals_.begin_at(ticket); }

  // From now on, a call that waits long calls `idle` now and then, for work that must go on meanwhile.
  void while_waiting(std::function<void()> idle) { signals_.while_waiting(std::move(idle)); }

  // Runs the program from the next ticket on. If the outcome is neither `done` nor `refused`, the executor must not be used
  // again. The other ranks of the node are told, so that none of them waits for this one forever.
  Outcome run(const Program& program, const Call& call);

  // Continues a call as far as it gets, or begins it. With `polling`, it never waits. As long as the outcome is `pending`,
  // the caller must call this again with the same arguments, and no other call may begin in between.
  Outcome advance(const Program& program, const Call& call, bool polling);
  [[nodiscard]] bool has_begun() const { return standing_.begun; }  // whether advance() has begun a call that has not ended
  // Says that this rank does not make the call with this number, although the others may make it. Ranks whose part depends on this
  // rank end the call as `refused`. This works only without a wire.
  void refuse(std::uint64_t number) { signals_.refusals().refuse(number, signals_.ticket()); }
  // Refuses all calls from this number on. If this rank has refused calls already and made none since, it refuses all calls after
  // those.
  void refuse_from(std::uint64_t number) { signals_.refusals().refuse_from(number, signals_.ticket()); }
  // Tells whether a rank of this node makes no call here any more.
  [[nodiscard]] bool refuses_all(int rank) { return signals_.refusals().refuses_all(here_.peer(rank).local); }
  // Tells whether this rank numbers calls with the same tickets as the others. It does unless it has refused a call since it last
  // made one.
  [[nodiscard]] bool is_in_step() { return !signals_.refusals().aside(); }
  // The orders for the helpers of this node. A call that has an order (Call::order) gives it by itself when it begins.
  [[nodiscard]] Orders& orders() { return orders_; }
  // Gives back the memory of this rank's lines and slots. It is charged again when it is used. Does nothing and returns false while
  // another rank may read there. No call may be under way on this rank.
  bool give_memory_back();
  // Returns the ticket of the next call.
  [[nodiscard]] std::uint64_t ticket() const { return signals_.ticket(); }

  // Tells whether the last advance() came further than the one before.
  [[nodiscard]] bool moved() const { return moved_; }

  // Tells the other ranks of the node that this one will not go on, so that none of them waits for it forever.
  void give_up();

  // Returns the rank at fault after `run` ended as peer_lost, peer_failed or refused.
  [[nodiscard]] int lost_rank() const { return signals_.lost_rank(); }

  // Both are about the last call. all_rode() tells whether the values of all ranks rode. told_by() returns what a rank told the
  // others.
  [[nodiscard]] bool all_rode() const { return operands_.all_ride(); }
  [[nodiscard]] std::uint64_t told_by(int rank) const { return operands_.of(rank).told; }

  // Returns the first block that was cut off in the last call of sizes that nobody compared. If its `from` is -1, none was.
  [[nodiscard]] const CutOff& cut_off() const { return cut_off_; }
  [[nodiscard]] const Geometry& geometry() const { return here_.segment.geometry(); }

 private:
  Outcome step(const Op& op, const Call& call, const Fragment& fragment, bool loop);
  Outcome acquire(const Op& op, const Call& call, std::uint64_t ticket);
  Outcome await(const Op& op, const Call& call, std::uint64_t ticket);
  void publish(const Op& op, const Call& call, std::uint64_t ticket);
  Outcome move(const Op& op, const Call& call, const Fragment& fragment);
  template <class Visit>
  bool each_run(const Op& op, const Call& call, const Fragment& fragment, Visit&& visit);
  void copy_block(const Op& op, const Call& call, std::uint64_t ticket);
  Outcome receive(const Op& op, const Call& call, const Fragment& fragment);
  Outcome run_whole(const Program& program, const Call& call);
  Outcome run_steps(const Program& program, const Call& call);
  Outcome run_loop(const Program& program, const Program::Section& section, const Call& call);
  Outcome begin(const Program& program, const Call& call);
  Outcome end(Outcome outcome);
  Outcome rejoin(const Call& call, bool polling);
  void note_cut_off(int from, std::size_t given, std::size_t room) {
    if (given > room && cut_off_.from < 0) cut_off_ = {from, here_.me, given, room};
  }

  Neighbours here_;
  Signals signals_;
  Operands operands_;
  Movement movement_;
  Messages messages_;
  Orders orders_;
  std::uint64_t fragments_ = 1;  // of the current call
  CutOff cut_off_;
  bool heap_only_ = false;
  std::optional<StandIns> stand_ins_;  // of the current call

  // Where the current call stands: whether it has begun, and the operation at which it waits.
  struct Standing {
    bool begun = false;
    std::size_t section = 0, op = 0;
    std::uint64_t iteration = 0;
    bool operator==(const Standing&) const = default;
  };
  Standing standing_;
  bool moved_ = false;
};

}  // namespace copse::engine
