// The plan language: what one rank does in one collective call.
//
// A plan is a short typed program. It does not depend on the message's size: counts, addresses, the operator
// and the number of fragments are bound when it runs. The same plan is run by the executor, proved by the
// checker, priced by the cost model and printed; none of these knows which algorithm made it.
//
// Tickets. All ranks of a communicator number its calls' fragments with one counter, the ticket: a call that
// starts at ticket t and has F fragments owns tickets t .. t+F-1 on every rank. Nothing in shared memory is
// ever reset; everything is compared with a ticket.
//
// Shared memory of a rank. Only its owner writes it (except through a published address):
//   line (rank, area)   a ring of cache-line pairs: a sequence word and up to kLinePayloadBytes of payload.
//                       The line of ticket T lies at T mod depth; portion 0 is posted once its word says
//                       word_of(T, 0), which is also all there is of a value that is given as a whole.
//   slot (rank, area)   a ring of bulk slots, likewise by ticket; filled before the line of the same ticket
//                       is posted.
//   progress (rank)     the first ticket of which the rank may still read somebody's line, slot or buffer.
//
// A value may ride with the publication of its giver (a "ride"): it lies behind the addresses in that line, or in the slot
// beside it if it does not fit there. Whether it rides is the giver's choice, made anew in every call from what it alone
// knows: how long the value is. Its publication says what it chose. Steps of the giver, and of whoever has awaited that
// publication, may carry a condition on the choice.
//
// A message may be made of blocks, which belong to ranks or to pairs of ranks (gather, alltoall, ...). Then a chunk is a
// block, a fragment is a piece of every block, and what lies in a line, slot or scratch is packed.
//
// An area is one value that a rank gives per ticket: a rank that gives something up a tree and something else
// down it uses two areas. Areas are numbered alike on all ranks. A value may be given in portions, one post for each,
// in their order: a ring of P ranks gives the P-1 tiles of one value one after the other. They share the line or slot
// of their ticket, where each has its own chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace copse::plan {

inline constexpr std::size_t kLineBytes = 128;         // adjacent-line prefetch makes pairs of 64 the unit
inline constexpr std::size_t kLinePayloadBytes = 120;  // a line less its sequence word

// What a line's word says once portion `portion` of ticket `ticket` is posted. The word holds the last 48 bits of the
// ticket. The last 16 bits are never 0, so that 0 is the word of no ticket.
inline constexpr int kPortionBits = 16;
inline constexpr int kPortions = (1 << kPortionBits) - 1;
[[nodiscard]] constexpr std::uint64_t word_of(std::uint64_t ticket, std::uint32_t portion = 0) {
  return (ticket << kPortionBits) + portion + 1;
}

inline constexpr int kAreas = 16;
inline constexpr int kPublishArea = kAreas - 1;  // for addresses; algorithms number theirs from 0 below it

// What a rank's buffer holds of the message.
enum class Extent : std::uint8_t {
  none,
  message,  // all of a message that is not made of blocks
  own,      // of a block for each rank, that of this rank
  all,      // every rank's
  row,      // of a block for each pair of ranks (block i * P + j goes from i to j), those from this rank
  column,   // those to this rank
};
struct Contents {
  Extent input = Extent::message, output = Extent::message;
  std::uint32_t blocks = 0;  // that the message is made of; 0: it is not
  friend bool operator==(const Contents &, const Contents &) = default;
};
// Where block `block` comes among those in a buffer of rank `owner`, from 0; -1: it is not there.
[[nodiscard]] int index_in(Extent extent, int owner, std::uint32_t block, int ranks);
[[nodiscard]] int blocks_in(Extent extent, int ranks);
// The block that comes `index`-th.
[[nodiscard]] std::uint32_t block_at(Extent extent, int owner, int index, int ranks);

// Chunks [first, first + count) of `of` even chunks of the current fragment (in a once-section: of the whole
// message). shape::Partition defines the boundaries. Of a message made of blocks: those blocks, `of` being their
// number; after the last one comes block 0 again.
struct Range {
  std::uint32_t first = 0;
  std::uint32_t count = 1;
  std::uint32_t of = 1;
  friend bool operator==(const Range &, const Range &) = default;
};

enum class Space : std::uint8_t {
  none,
  input,        // my send buffer
  output,       // my receive buffer
  scratch,      // my private memory, number `area`; a fragment (once-section, or whole_scratch: a message) long
  line,         // the payload of line (rank, area) of the current ticket
  slot,         // slot (rank, area) of the current ticket
  peer_input,    // the send buffer of `rank`, through the address it published on `area`
  peer_output,   // the receive buffer of `rank`, likewise
  peer_scratch,  // its scratch number `area`, likewise
  ride,          // what rides with the publication of `rank`
};

struct Operand {
  Space space = Space::none;
  std::uint16_t area = 0;  // or the number of a scratch
  std::int32_t rank = -1;  // owner of a line, slot or published buffer; -1 for my own private memory
  Range range{};
  std::uint32_t origin = 0;  // the chunk that a line, slot or scratch begins with
  friend bool operator==(const Operand &, const Operand &) = default;
};

[[nodiscard]] inline Operand part_of(Operand whole, Range part) {
  whole.range = part;
  return whole;
}

enum class Kind : std::uint8_t {
  acquire,     // wait until my line (and, if dst is a slot, or a ride in one, my slot) of this ticket may be written again: the
               // readers of its previous use are done. Previous use in this call: `peers`; in an earlier
               // call, whose readers may be others: every rank of the node.
  post,        // publish my line on `area`, or a portion of it: everything before is visible to whoever awaits it
  publish,     // the same, with the addresses of my input and output as payload
  await,       // wait until `peer` has posted its line on `area`, or that portion of it; on kPublishArea, take its
               // addresses
  copy,        // dst = a
  reduce,      // dst = a op b, a being the operand of the lower ranks; dst2, if any, gets the same value
  done,        // my progress passes this ticket: I read nothing of it, or before it, any more
  await_done,  // wait until the progress of `peer` has passed this ticket
  send,        // start sending a to `peer` over the wire (between nodes), in one message with what `more` announces
  receive,     // receive dst from `peer` over the wire, likewise
  drain,       // wait until what was sent from `area` may be overwritten
};

// Of a step: always, or where what `whose` gives rides with its publication, or where it does not. kEveryone: what every rank of
// the communicator gives.
enum class When : std::uint8_t { always, rides, stays };
inline constexpr std::int32_t kEveryone = -2;

// Many fields: one record for all kinds of steps, so that plans can be compared, copied and spoilt as plain data. Each kind uses
// some of them.
struct Step {
  Kind kind{};
  When when = When::always;
  std::uint8_t area = 0;
  std::uint8_t lag = 0;     // in a loop: works on fragment (iteration - lag)
  std::uint16_t portion = 0;  // of post and await; of send and receive, that of the value
  bool last = false;        // of a copy to the output: nobody reads that in this call any more
  bool more = false;        // of send and receive: the message goes on in the next one of this area and peer
  std::int32_t peer = -1;
  std::int32_t whose = -1;  // giver that `when` looks at: this rank, or one whose publication it has awaited
  Operand dst{}, dst2{}, a{}, b{};
  std::uint32_t peers_first = 0, peers_count = 0;  // into Plan::peers
  friend bool operator==(const Step &, const Step &) = default;
};

// A once-section runs its steps one time, on the whole message, with the call's first ticket; its done and
// await_done mean the call's last ticket. A loop runs for iteration 0 .. F-1+max_lag; a step of lag g works
// on fragment (iteration - g) and is skipped where there is no such fragment. A loop may be for the last fragment
// alone, or for those before it: something may stand between.
enum class Turns : std::uint8_t { all, but_last, last };
[[nodiscard]] constexpr bool has_turn(Turns turns, std::uint64_t fragment, std::uint64_t fragments) {
  return fragment < fragments && (turns == Turns::all || (turns == Turns::last) == (fragment + 1 == fragments));
}
struct Section {
  bool loop = false;
  Turns turns = Turns::all;
  std::uint8_t max_lag = 0;
  std::uint32_t first = 0, count = 0;  // into Plan::steps
  friend bool operator==(const Section &, const Section &) = default;
};

// Many fields: what is said of a plan as a whole, once, as plain data.
struct Plan {
  std::int32_t rank = 0;
  std::int32_t ranks = 0;
  std::uint8_t areas = 0;     // areas used by this rank, lines and slots alike
  std::uint16_t scratches = 0;
  bool whole_scratch = false;  // scratches hold whole messages; alike on all ranks, as are the next two
  bool one_fragment = false;  // only works with F = 1
  bool slots = false;         // some rank uses slots: a fragment must fit in one
  bool together = false;      // if some rank's value does not ride, nothing is moved; all ranks know it at the end
  std::uint32_t pack = 1;     // blocks that a line or slot must hold, at most
  Contents contents{};
  std::vector<Section> sections;
  std::vector<Step> steps;
  std::vector<std::int32_t> peers;

  [[nodiscard]] std::span<const std::int32_t> peers_of(const Step &step) const {
    return {peers.data() + step.peers_first, step.peers_count};
  }
  friend bool operator==(const Plan &, const Plan &) = default;
};

// The text form: one line a step, made to be read and diffed. Stable: golden plans in tests/ depend on it.
[[nodiscard]] std::string to_text(const Plan &plan);
[[nodiscard]] std::string to_text(const Plan &plan, const Step &step);

}  // namespace copse::plan
