// The executor: runs one rank's program in real memory. It is a loop over the program's operations. What they do is elsewhere:
// signals.hpp waits and posts, operands.hpp says where operands lie, movement.hpp copies and reduces, messages.hpp sends.
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
#include "engine/outcome.hpp"
#include "engine/program.hpp"
#include "engine/signals.hpp"
#include "engine/stand_ins.hpp"
#include "engine/wire/wire.hpp"

namespace copse::engine {

class Executor {
 public:
  // `peers[r]` is rank r; `me` this rank. `wire` may be null when all ranks share the node. `lost` is asked now
  // and then while waiting long for a local rank, and says whether it has died.
  Executor(const Segment &segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire *wire,
           std::function<bool(int rank)> lost);
  Executor(const Executor &) = delete;
  Executor &operator=(const Executor &) = delete;

  [[nodiscard]] Program prepare(const plan::Plan &plan) const { return compile(plan, here_.segment, here_.peers); }

  // From now on buffers are reached through the shared heap alone (no kernel copies): what a program publishes is
  // moved there first if it lies elsewhere.
  void publish_from_heap_only() { heap_only_ = true; }

  // From now on results of so many bytes and more are stored past the caches: what the last cache does not hold need
  // not push out of it what others still read (YHCCL, SC'23). Measured: copse-kernels-bench, delivering.
  void stream_from(std::size_t bytes) { movement_.stream_from(bytes); }

  // How what goes into a slot is stored from now on.
  void store_slots(const SlotStores &stores) { movement_.store_slots(stores); }

  // Numbers the calls to come from `ticket` on instead of 0: for tests, and in memory in which calls have run up to there. All
  // ranks must do so, in memory that is still zero (then up to ticket 2^63), or while none of them is in a call.
  void begin_at(std::uint64_t ticket) { signals_.begin_at(ticket); }

  // From now on called now and then while a call waits long: for what must go on meanwhile.
  void while_waiting(std::function<void()> idle) { signals_.while_waiting(std::move(idle)); }

  // Runs the program from the next ticket on. After anything but `done` and `refused` the executor must not be used again;
  // the other ranks of the node are told, so that nobody waits for this one for ever.
  Outcome run(const Program &program, const Call &call);

  // Goes on with a call as far as it comes (`polling`: without waiting), from its begin if none has begun. To be
  // called again with the same arguments as long as it is `pending`; no other call may begin in between.
  Outcome advance(const Program &program, const Call &call, bool polling);
  // This rank makes no call of that number, which the others may make: those whose part of it hangs on this one's end it as
  // `refused`. Without a wire only.
  void refuse(std::uint64_t number) { signals_.refusals().refuse(number, signals_.ticket()); }
  // The same for all numbers: this rank makes no call here at all.
  void refuse_all() { signals_.refusals().refuse_all(signals_.ticket()); }
  // The next call's ticket.
  [[nodiscard]] std::uint64_t ticket() const { return signals_.ticket(); }

  // Did the last advance() come further than the one before?
  [[nodiscard]] bool moved() const { return moved_; }

  // Tells the other ranks of the node that this one will not go on, so that nobody waits for it for ever.
  void give_up();

  // Whose fault it was that `run` came to peer_lost, peer_failed or refused.
  [[nodiscard]] int lost_rank() const { return signals_.lost_rank(); }

  // Of the last call: did what all ranks gave ride? And what did a rank tell the others?
  [[nodiscard]] bool all_rode() const { return operands_.all_ride(); }
  [[nodiscard]] std::uint64_t told_by(int rank) const { return operands_.of(rank).told; }

  // The first block that was cut off in the last one-way call; from rank -1: none was.
  [[nodiscard]] const CutOff &cut_off() const { return cut_off_; }
  [[nodiscard]] const Geometry &geometry() const { return here_.segment.geometry(); }

 private:
  Outcome step(const Op &op, const Call &call, const Fragment &fragment, bool loop);
  Outcome acquire(const Op &op, const Call &call, std::uint64_t ticket);
  Outcome await(const Op &op, const Call &call, std::uint64_t ticket);
  void publish(const Op &op, const Call &call, std::uint64_t ticket);
  Outcome move(const Op &op, const Call &call, const Fragment &fragment);
  template <class Visit>
  bool each_run(const Op &op, const Call &call, const Fragment &fragment, Visit &&visit);
  void copy_block(const Op &op, const Call &call, std::uint64_t ticket);
  Outcome run_whole(const Program &program, const Call &call);
  Outcome run_steps(const Program &program, const Call &call);
  Outcome run_loop(const Program &program, const Program::Section &section, const Call &call);
  Outcome begin(const Program &program, const Call &call);
  Outcome end(Outcome outcome);
  Outcome rejoin(const Call &call, bool polling);
  void note_cut_off(int from, std::size_t given, std::size_t room) {
    if (given > room && cut_off_.from < 0) cut_off_ = {from, here_.me, given, room};
  }

  Neighbours here_;
  Signals signals_;
  Operands operands_;
  Movement movement_;
  Messages messages_;
  std::uint64_t fragments_ = 1;  // of the current call
  CutOff cut_off_;
  bool heap_only_ = false;
  std::optional<StandIns> stand_ins_;  // of the current call

  // Where the current call stands: it has begun, and came to a wait at this operation.
  struct Standing {
    bool begun = false;
    std::size_t section = 0, op = 0;
    std::uint64_t iteration = 0;
    bool operator==(const Standing &) const = default;
  };
  Standing standing_;
  bool moved_ = false;
};

}  // namespace copse::engine
