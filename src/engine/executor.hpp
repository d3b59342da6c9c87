// The executor: runs one rank's program in real memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "engine/call.hpp"
#include "engine/program.hpp"
#include "engine/slot_stores.hpp"
#include "engine/stand_ins.hpp"
#include "engine/signal/wait.hpp"
#include "engine/wire/wire.hpp"

namespace copse::engine {

// truncated: another rank sent more than there was room for; the call is over, and the communicator sound. refused: so it is,
// but a rank would not make this call, and the output holds nothing. peer_lost: a process has ended; peer_failed: a rank has
// given up, for a reason that it knows; no_memory: this rank had none; threw: this rank's part ended in an exception; pending:
// a call that was started is not done yet.
enum class Outcome : std::uint8_t {
  done, pending, truncated, refused, peer_lost, peer_failed, wire_failed, reach_failed, no_memory, threw
};
// Is the call over, and can there be another?
inline bool is_over(Outcome outcome) { return outcome == Outcome::done || outcome == Outcome::truncated || outcome == Outcome::refused; }

// A block that is longer than its taker has room for: `given` elements go from one rank to another.
struct CutOff {
  int from = -1, to = -1;
  std::size_t given = 0, room = 0;
};

class Executor {
 public:
  // `peers[r]` is rank r; `me` this rank. `wire` may be null when all ranks share the node. `lost` is asked now
  // and then while waiting long for a local rank, and says whether it has died.
  Executor(Segment segment, std::vector<Peer> peers, int me, WaitPolicy policy, Wire *wire,
           std::function<bool(int rank)> lost);

  [[nodiscard]] Program prepare(const plan::Plan &plan) const { return compile(plan, segment_, peers_); }

  // From now on buffers are reached through the shared heap alone (no kernel copies): what a program publishes is
  // moved there first if it lies elsewhere.
  void publish_from_heap_only() { heap_only_ = true; }

  // From now on results of so many bytes and more are stored past the caches: what the last cache does not hold need
  // not push out of it what others still read (YHCCL, SC'23). Measured: copse-kernels-bench, delivering.
  void stream_from(std::size_t bytes) { stream_from_ = bytes; }

  // How what goes into a slot is stored from now on.
  void store_slots(const SlotStores &stores) { slot_stores_ = stores; }

  // Numbers the calls to come from `ticket` on instead of 0: for tests, and in memory in which calls have run up to there. All
  // ranks must do so, in memory that is still zero (then up to ticket 2^63), or while none of them is in a call.
  void begin_at(std::uint64_t ticket);

  // From now on called now and then while a call waits long: for what must go on meanwhile.
  void while_waiting(std::function<void()> idle) { idle_ = std::move(idle); }

  // Runs the program from the next ticket on. After anything but `done` and `refused` the executor must not be used again;
  // the other ranks of the node are told, so that nobody waits for this one for ever.
  Outcome run(const Program &program, const Call &call);

  // Goes on with a call as far as it comes (`polling`: without waiting), from its begin if none has begun. To be
  // called again with the same arguments as long as it is `pending`; no other call may begin in between.
  Outcome advance(const Program &program, const Call &call, bool polling);
  // This rank makes no call of that number, which the others may make: those whose part of it hangs on this one's end it as
  // `refused`. Without a wire only.
  void refuse(std::uint64_t number);
  // The same for all numbers: this rank makes no call here at all.
  void refuse_all();
  // The next call's ticket.
  [[nodiscard]] std::uint64_t ticket() const { return ticket_; }

  // Did the last advance() come further than the one before?
  [[nodiscard]] bool moved() const { return moved_; }

  // Tells the other ranks of the node that this one will not go on, so that nobody waits for it for ever.
  void give_up() { give_up_for(lost_rank_ = me_); }

  // Whose fault it was that `run` came to peer_lost, peer_failed or refused.
  [[nodiscard]] int lost_rank() const { return lost_rank_; }

  // Of the last call: did what all ranks gave ride? And what did a rank tell the others?
  [[nodiscard]] bool all_rode() const { return stayed_ == 0; }
  [[nodiscard]] std::uint64_t told_by(int rank) const { return addresses_[static_cast<std::size_t>(rank)].told; }

  // The first block that was cut off in the last one-way call; from rank -1: none was.
  [[nodiscard]] const CutOff &cut_off() const { return cut_off_; }
  [[nodiscard]] const Geometry &geometry() const { return segment_.geometry(); }

 private:
  struct Fragment {  // what the current step works on
    std::size_t first, count;  // elements of the message, or of each of its blocks
    std::uint64_t ticket;
  };
  struct Place {  // an operand, resolved: here, or at an address of a peer that only the kernel reaches
    std::byte *here = nullptr;
    std::uintptr_t there = 0;
    const Peer *peer = nullptr;
    std::size_t count = 0;
    bool known = true;  // false: the peer's table of places could not be read
  };
  struct Addresses {
    std::uintptr_t input = 0, output = 0, scratch = 0;
    std::uintptr_t input_blocks = 0, output_blocks = 0;  // tables of ragged calls
    std::size_t scratch_stride = 0;
    std::int32_t ride = kStays;     // where what this rank gives rides: nowhere, in a slot of that class, or behind this in the line
    std::uint32_t ride_blocks = 0;  // that it is made of
    std::size_t given = 0;          // of one block, its elements, wherever it is
    std::uint64_t told = 0;         // see Call
  };
  static constexpr std::int32_t kStays = -1, kBehind = kSlotClasses;
  static_assert(sizeof(Addresses) <= plan::kLinePayloadBytes);

  [[nodiscard]] Place place(const Ref &ref, const Call &call, const Fragment &fragment);
  // The `number`-th block of an operand, and so many after it that lie beside each other (run_of).
  [[nodiscard]] Place block(const Ref &ref, const Call &call, const Fragment &fragment, std::uint32_t number,
                            std::uint32_t run);
  [[nodiscard]] std::uint32_t run_of(const Ref &ref, const Call &call, const Fragment &fragment, std::uint32_t number,
                                     std::uint32_t most) const;
  // Run by run, until it returns false, calls visit(where), where(ref) being the place of one of op's operands.
  template <class Visit>
  bool each_run(const Op &op, const Call &call, const Fragment &fragment, Visit &&visit);
  void add_pieces(const WirePart &part, const Call &call, const Fragment &fragment);
  void find_pieces(const std::vector<WirePart> &parts, const Call &call, const Fragment &fragment);
  Outcome send(const Op &op, const Call &call, const Fragment &fragment);
  Outcome receive(const Op &op, const Call &call, const Fragment &fragment);
  template <class Ask>
  Outcome wired(Ask &&ask);
  [[nodiscard]] Place at(const Ref &ref, const Call &call, const Fragment &fragment, std::size_t in_fragment,
                         std::size_t in_message, std::size_t count);
  Outcome step(const Op &op, const Call &call, const Fragment &fragment, bool loop);
  Outcome run_whole(const Program &program, const Call &call);
  Outcome acquire(const Op &op, const Call &call, std::uint64_t ticket);
  Outcome acquire_ring(const Op &op, std::uint64_t ticket, std::uint64_t depth);
  Outcome acquire_long(const Op &op, std::uint64_t ticket, std::uint64_t depth);
  void begin(const Program &program, const Call &call);
  Outcome run_steps(const Program &program, const Call &call);
  Outcome end(Outcome outcome);
  void give_up_for(int culprit) const {
    segment_.given_up(peers_[static_cast<std::size_t>(me_)].local).store(culprit + 1, std::memory_order_relaxed);
  }
  Outcome wait_passed(const Line &progress, std::uint64_t ticket, int rank, const WaitPolicy &policy);
  template <class Ready>
  Outcome wait_long(const Ready &ready, int rank, const WaitPolicy &policy);
  Outcome wait_for(const std::function<bool()> &ready, int rank);
  Outcome wait_line(const Op &op, std::uint64_t ticket);
  void post(const Op &op, std::uint64_t ticket);
  [[nodiscard]] Outcome bad_news(int rank);
  void note_begun(std::uint64_t number) {
    number_ = number;
    journal_[begun_++ & journal_mask_].store(begun_word(number, ticket_), std::memory_order_release);
  }
  // refusals.cpp
  [[nodiscard]] Refusal &refusal() const { return segment_.refusal(peers_[static_cast<std::size_t>(me_)].local); }
  [[nodiscard]] Outcome refused_by_another();
  Outcome leave();
  Outcome take_part_again(std::uint64_t number);
  void forget_refusal();
  [[nodiscard]] std::optional<std::uint64_t> ticket_of(int local, std::uint64_t number) const;
  // Is it known that every rank of the node has passed `ticket`? If not, all_passed() looks.
  [[nodiscard]] bool known_passed(std::uint64_t ticket) const {
    return static_cast<std::int64_t>(passed_ - ticket) > 0;
  }
  [[nodiscard]] bool all_passed(std::uint64_t ticket);
  void forget_old_lines();
  // Copies between here and a place that only the kernel reaches; remembers a failure in unreached_.
  bool fetch(const Peer &peer, std::byte *here, std::uintptr_t there, std::size_t bytes);
  bool store(const Peer &peer, const std::byte *here, std::uintptr_t there, std::size_t bytes);
  static void meet_pages(const Place &place, std::size_t bytes);
  bool copy(const Place &dst, const Place &src, std::size_t element_bytes, std::size_t stream_from);
  bool copy_to_slot(const Place &dst, const Place &src, std::size_t element_bytes);
  bool reduce(const Op &op, const Call &call, const Place &dst, const Place &dst2, const Place &a, const Place &b);
  void publish(const Op &op, const Call &call, std::uint64_t ticket);
  // rides.cpp
  [[nodiscard]] std::size_t own_count(const Call &call) const {
    if (call.one_way) return call.own;
    return call.sizes != nullptr ? call.sizes[me_] : call.count;
  }
  [[nodiscard]] std::int32_t choose_ride(const Program &program, const Call &call);
  void begin_ride(const Program &program, const Call &call) {
    ride_blocks_ = program.ride_blocks;
    ride_ = ride_blocks_ > 0 ? choose_ride(program, call) : kStays;
    stayed_ = ride_ == kStays ? 1 : 0;
  }
  [[nodiscard]] bool holds(const Op &op) const {
    if (op.whose == plan::kEveryone) return all_rode() == (op.when == plan::When::rides);
    const std::int32_t ride = op.whose == me_ ? ride_ : addresses_[static_cast<std::size_t>(op.whose)].ride;
    return (ride != kStays) == (op.when == plan::When::rides);
  }
  [[nodiscard]] std::byte *ride_of(const Ref &ref, std::int32_t ride, std::uint64_t ticket) const;
  struct OwnBlock {  // of the input, the output or a ride
    std::byte *at;
    std::size_t count;
  };
  [[nodiscard]] OwnBlock own_block(const Ref &ref, const Call &call, std::uint32_t number) const;
  [[nodiscard]] OwnBlock ridden(const Ref &ref, std::uint32_t number, std::size_t element_bytes, std::uint64_t ticket) const;
  void load_ride(const Op &op, const Call &call, std::uint64_t ticket);
  void copy_block(const Op &op, const Call &call, std::uint64_t ticket);
  void note_cut_off(int from, std::size_t given, std::size_t room) {
    if (given > room && cut_off_.from < 0) cut_off_ = {from, me_, given, room};
  }
  void size_scratch(const Program &program, const Call &call);

  Segment segment_;
  std::vector<Peer> peers_;
  std::vector<int> rank_of_local_;
  int me_;
  WaitPolicy policy_;
  Wire *wire_;
  std::function<bool(int)> lost_;
  std::function<void()> idle_ = [] {};
  int lost_rank_ = -1;
  const Peer *unreached_ = nullptr;  // whom the kernel did not reach

  std::uint64_t ticket_ = 0;        // the first ticket of the current call
  std::uint64_t fragments_ = 1;     // of the current call
  std::uint64_t passed_ = 0;        // every rank of the node is known to have passed all tickets before this
  std::atomic<std::uint64_t> *journal_;  // this rank's
  std::uint64_t journal_mask_, begun_ = 0;
  std::uint64_t number_ = 0;  // of the current call
  bool aside_ = false;    // this rank has refused its last calls,
  bool leaving_ = false;  // or is leaving one that another has refused
  std::vector<Addresses> addresses_;  // published in the current call, by rank
  std::vector<std::byte> scratch_, bounce_;
  // What a message over the wire is made of: pieces of memory, that begin where the one before ends only by chance.
  struct Piece {
    std::byte *at = nullptr;
    std::size_t bytes = 0;
  };
  std::vector<Piece> pieces_;
  struct Message {  // that is made of several
    std::vector<std::byte> bytes;
    std::size_t taken = 0;
  };
  std::vector<Message> messages_;  // by their numbers in the program
  [[nodiscard]] Message &message_of(const Op &op);
  std::size_t scratch_stride_ = 0;
  bool heap_only_ = false;
  std::size_t stream_from_ = SIZE_MAX;
  SlotStores slot_stores_;
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
  bool polling_ = false;     // waits are not waited for
  std::uint32_t polls_ = 0;  // in vain
  std::chrono::steady_clock::time_point next_look_{};  // at the lives of others, while polling
  // Of what this rank gives in the current call: see Addresses.
  std::int32_t ride_ = kStays;
  std::uint32_t ride_blocks_ = 0;
  std::size_t given_ = 0;
  int stayed_ = 0;  // ranks of which it is known that what they give does not ride
  CutOff cut_off_;
};

}  // namespace copse::engine
