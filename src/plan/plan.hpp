// The plan language: what one rank does in one collective call.
//
// A plan is a short typed program. It does not depend on the message's size: counts, addresses, the operator and the number
// of fragments are bound when it runs. The executor runs a plan, the checker proves it, and the cost model prices it; it can
// also be printed. None of these knows which algorithm made it.
//
// Tickets. All ranks of a communicator number the fragments of its calls with one counter, the ticket. A call that starts at
// ticket t and has F fragments owns tickets t .. t+F-1 on every rank. No call resets anything in shared memory; everything
// is compared with a ticket. Between calls, a rank zeroes its own lines, when nobody can wait for them any more.
//
// Shared memory of a rank. Only its owner writes it (except through a published address):
//   line (rank, area)   A ring of cache-line pairs: a sequence word and up to kLinePayloadBytes of payload. The line of ticket
//                       T lies at T mod depth. Portion 0 is posted once the line's word says word_of(T, 0). A value that is
//                       given as a whole has only portion 0.
//   slot (rank, area)   A ring of bulk slots, also indexed by ticket. A slot is filled before the line of the same ticket is
//                       posted.
//   progress (rank)     The first ticket of which the rank may still read somebody's line, slot or buffer.
//
// A value may ride with the publication of its giver (a "ride"). Then it lies in that line in place of the addresses, or in
// the slot beside it if it does not fit in the line. The giver chooses anew in every call whether its value rides. The choice
// depends on the length of the value, which only the giver knows. Its publication says what it chose. Steps of the giver, and of
// ranks that have awaited that publication, may carry a condition on the choice.
//
// A message may be made of blocks, which belong to ranks or to pairs of ranks (gather, alltoall, ...). Then a chunk is a
// block, a fragment is a piece of every block, and lines, slots and scratches hold their blocks packed.
//
// An area is one value that a rank gives per ticket. A rank that gives one thing up a tree and another thing down it uses two
// areas. All ranks number areas in the same way. A value may be given in portions, with one post for each, in their order: a
// ring of P ranks gives the P-1 tiles of one value one after the other. The portions share the line or slot of their ticket,
// and each has its own chunks there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace copse::plan {

inline constexpr std::size_t kLineBytes = 128;         // the adjacent-line prefetcher makes pairs of 64 the unit
inline constexpr std::size_t kLinePayloadBytes = 120;  // a line less its sequence word

// Returns what a line's word says once portion `portion` of ticket `ticket` is posted. The word holds the last 48 bits of the
// ticket. Its last 16 bits are never 0, so that 0 is the word of no ticket.
inline constexpr int kPortionBits = 16;
inline constexpr int kPortions = (1 << kPortionBits) - 1;
[[nodiscard]] constexpr std::uint64_t word_of(std::uint64_t ticket, std::uint32_t portion = 0) {
  return (ticket << kPortionBits) + portion + 1;
}

inline constexpr int kAreas = 16;
inline constexpr int kPublishArea = kAreas - 1;  // for addresses; algorithms number theirs from 0 below it

// Which part of the message a rank's buffer holds.
enum class Extent : std::uint8_t {
  none,
  message,  // all of a message that is not made of blocks
  own,      // this rank's block, of one block for each rank
  all,      // the blocks of all ranks
  row,      // the blocks from this rank, of one for each pair of ranks (block i * P + j goes from i to j)
  column,   // the blocks to this rank, of one for each pair of ranks
};
struct Contents {
  Extent input = Extent::message, output = Extent::message;
  std::uint32_t blocks = 0;  // blocks in the message; 0: it is not made of blocks

  // In a message made of blocks: returns how many of the plan's ranks have some. Helpers, which are the last ranks, have none.
  [[nodiscard]] int owners(int ranks) const { return input == Extent::row ? ranks : static_cast<int>(blocks); }
  friend bool operator==(const Contents&, const Contents&) = default;
};
// In these, `ranks` is the number of ranks that have blocks. index_in() returns the index, from 0, of block `block` in a buffer of
// rank `owner`, or -1 if it is not there.
[[nodiscard]] int index_in(Extent extent, int owner, std::uint32_t block, int ranks);
[[nodiscard]] int blocks_in(Extent extent, int ranks);
// Returns the block with this index.
[[nodiscard]] std::uint32_t block_at(Extent extent, int owner, int index, int ranks);

// Chunks [first, first + count) of `of` even chunks of the current fragment (in a once-section: of the whole message).
// shape::Partition defines the boundaries. In a message made of blocks, the chunks are blocks, `of` is their number, and
// block 0 follows the last one.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t of = 1;
  friend bool operator==(const Range&, const Range&) = default;
};
// Returns `count` chunks from chunk `first` on. The chunks stand in a ring, so `first` may be as low as -of.
[[nodiscard]] inline Range chunks_from(int first, int count, int of) {
  return {static_cast<std::uint32_t>((first + of) % of), static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(of)};
}

enum class Space : std::uint8_t {
  none,
  input,        // my send buffer
  output,       // my receive buffer
  scratch,      // my private memory, number `area`; a fragment (once-section, or whole_scratch: a message) long
  line,         // the payload of line (rank, area) of the current ticket
  slot,         // slot (rank, area) of the current ticket
  peer_input,    // the send buffer of `rank`, through the address that it published
  peer_output,   // the receive buffer of `rank`, through the address that it published
  peer_scratch,  // scratch number `area` of `rank`, through the address that it published
  ride,          // what rides with the publication of `rank`
};

// When ranks may touch one another's input and output (UPC 1.3, Synchronization Options).
//   mine   between the entry and the return of the rank that has the buffer (MYSYNC)
//   none   at the entry: once some rank has entered; at the return: until the last rank has returned (NOSYNC). The caller has
//          made all inputs ready before that, and looks at no output until then
enum class Sync : std::uint8_t { mine, none };
struct Modes {
  Sync in = Sync::mine, out = Sync::mine;
  bool placed = false;  // the caller knows where all buffers lie, and says so in the call; with Sync::none at the entry, it must
  friend bool operator==(const Modes&, const Modes&) = default;
};

struct Operand {
  Space space = Space::none;
  std::uint16_t area = 0;  // of a line or slot; for a scratch, its number
  std::int32_t rank = -1;  // owner of a line, slot or published buffer; -1 for my own private memory
  Range range{};
  std::uint32_t origin = 0;  // the chunk that a line, slot or scratch begins with
  friend bool operator==(const Operand&, const Operand&) = default;
};

[[nodiscard]] inline Operand part_of(Operand whole, Range part) {
  whole.range = part;
  return whole;
}

enum class Kind : std::uint8_t {
  acquire,     // wait until my line (and, if dst is a slot, or a ride in one, my slot) of this ticket may be written again: the
               // readers of its previous use are done. If that use was in this call, they are `peers`; if it was in an
               // earlier call, whose readers may be others, they are all ranks of the node.
  post,        // publish my line on `area`, or a portion of it: everything before is visible to whoever awaits it
  publish,     // post my line with the addresses of my input and output as payload
  await,       // wait until `peer` has posted its line on `area`, or that portion of it; on kPublishArea, take its
               // addresses, unless the plan is `placed`
  copy,        // dst = a
  reduce,      // dst = a op b, a being the operand of the lower ranks; dst2, if any, gets the same value
  done,        // my progress passes this ticket: I read nothing of it, or before it, any more
  await_done,  // wait until the progress of `peer` has passed this ticket
  send,        // start sending a to `peer` over the wire (between nodes), in one message with what `more` announces
  expect,      // let the next message from `peer` over the wire come to dst, which belongs to the wire until the receive. A
               // message without data, or with several parts, has no dst: the wire keeps it in memory of its own
  receive,     // wait until the message that was expected from `peer` has come; it is in dst then
  drain,       // wait until what was sent from `area` for this ticket, or one before it, may be overwritten
  delegate,    // start a collective of the wire's own among `peers`, ranks of different nodes. dst gets its result, and a is my
               // part. Until the collect, a must stay as it is, and dst belongs to the wire. All peers delegate in one order
  collect,     // wait until what was delegated on `area` for this ticket is over; dst has the result then
};

// When a step applies: always, if the value of `whose` rides with its publication, or if it does not. kEveryone stands for
// the values of all ranks of the communicator.
enum class When : std::uint8_t { always, rides, stays };
inline constexpr std::int32_t kEveryone = -2;

// Collectives that the wire has of its own.
enum class Delegation : std::uint8_t { barrier, broadcast, reduce, allreduce };

// Many fields: one record for all kinds of steps, so that plans can be compared, copied and spoilt as plain data. Each kind uses
// some of them.
struct Step {
  Kind kind{};
  When when = When::always;
  std::uint8_t area = 0;
  std::uint8_t lag = 0;     // in a loop: works on fragment (iteration - lag)
  std::uint16_t portion = 0;  // of a post or await; of a send, expect or receive, the portion of its value
  bool last = false;        // for a copy to the output: nobody reads that result in this call any more
  bool more = false;        // for send and receive: the message continues in the next step of this area and peer
  std::int32_t peer = -1;  // of a delegate and a collect: the root, if the collective has one
  std::int32_t whose = -1;  // giver whose choice `when` tests: this rank, or one whose publication it has awaited
  Operand dst{}, dst2{}, a{}, b{};
  std::uint32_t peers_first = 0, peers_count = 0;  // range in Plan::peers
  friend bool operator==(const Step&, const Step&) = default;
};

// Says which collective a rank's step delegates. A root without a result broadcasts, and so does a rank that is not the root and
// has nothing to give.
[[nodiscard]] constexpr Delegation delegation_of(const Step& step, int rank) {
  const bool gives = step.a.space != Space::none, takes = step.dst.space != Space::none;
  if (step.peer < 0) return takes ? Delegation::allreduce : Delegation::barrier;
  return (step.peer == rank ? takes : gives) ? Delegation::reduce : Delegation::broadcast;
}

// A once-section runs its steps once, on the whole message, with the call's first ticket. Its done, await_done and drain mean
// the call's last ticket. A loop runs for iterations 0 .. F-1+max_lag. A step of lag g works on fragment (iteration - g), and is
// skipped if there is no such fragment. A loop may be for the last fragment alone, or for those before it; other sections may
// stand between the two.
enum class LoopFragments : std::uint8_t { all, but_last, last };
[[nodiscard]] constexpr bool is_among(LoopFragments which, std::uint64_t fragment, std::uint64_t fragments) {
  return fragment < fragments && (which == LoopFragments::all || (which == LoopFragments::last) == (fragment + 1 == fragments));
}
struct Section {
  bool loop = false;
  LoopFragments fragments = LoopFragments::all;
  std::uint8_t max_lag = 0;
  std::uint32_t first = 0, count = 0;  // range in Plan::steps
  friend bool operator==(const Section&, const Section&) = default;
};

// Many fields: what is said of a plan as a whole, once, as plain data.
struct Plan {
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::uint8_t areas = 0;     // areas that this rank uses, for lines and slots alike
  std::uint16_t scratches = 0;
  std::uint8_t scratch_depth = 1;  // how many scratches lie beside each other; ticket T uses the one at T mod depth
  bool whole_scratch = false;  // scratches hold whole messages; this and the next two fields are the same on all ranks
  bool one_fragment = false;  // only works with F = 1
  bool slots = false;         // some rank uses slots: a fragment must fit in one
  bool together = false;      // if some rank's value does not ride, nothing is moved; all ranks know it at the end
  bool placed = false;        // the call says where buffers lie; what is posted on kPublishArea has no addresses
  std::uint32_t pack = 1;     // the most blocks that a line or slot must hold
  Contents contents{};
  std::vector<Section> sections;
  std::vector<Step> steps;
  std::vector<std::int32_t> peers;

  [[nodiscard]] std::span<const std::int32_t> peers_of(const Step& step) const {
    return {peers.data() + step.peers_first, step.peers_count};
  }
  // Tells whether a step is an await that takes its peer's addresses.
  [[nodiscard]] bool takes_addresses(const Step& step) const {
    return step.kind == Kind::await && step.area == kPublishArea && !placed;
  }
  friend bool operator==(const Plan&, const Plan&) = default;
};

// Returns the text form: one line per step, made to be read and diffed. Plans that differ have different texts, unless they differ
// only in where `peers` holds their lists. Most fields are left out while they have the value with which they are declared. The
// form is stable, because golden plans in tests/ depend on it.
[[nodiscard]] std::string to_text(const Plan& plan);
[[nodiscard]] std::string to_text(const Plan& plan, const Step& step);
[[nodiscard]] std::string to_text(const Operand& operand);
[[nodiscard]] const char* name_of(Kind kind);
[[nodiscard]] const char* name_of(Delegation delegation);
// These return the condition of a step, and what buffers hold, as they stand behind other words, with a blank before them. Without
// a condition, and for whole messages, they return nothing.
[[nodiscard]] std::string condition_text(When when, std::int32_t whose);
[[nodiscard]] std::string contents_text(const Contents& contents);

}  // namespace copse::plan
