// A plan made ready to run on one communicator: the same steps with every address that does not change from
// call to call resolved. Made once per plan, kept as long as the plan.
#pragma once

#include <string>
#include <vector>

#include "engine/reach/peer.hpp"
#include "engine/segment.hpp"
#include "plan/plan.hpp"

namespace copse::engine {

// An operand: for lines and slots, where their rings lie.
struct Ref {
  plan::Space space = plan::Space::none;
  bool whole = false;  // a scratch that holds a message, not a fragment
  std::uint16_t area = 0;
  std::int32_t rank = -1;
  std::int32_t local = -1;
  Line *ring = nullptr;
  plan::Range range{};
  // Of a message made of blocks: the first block's place, among those in the buffer or those packed with it; how many
  // places there are, after which comes the first again (0: no end). Of a pair, where its size is found: in the table
  // of what this rank sends, or (from `ranks` on) of what it gets.
  std::uint32_t place = 0, places = 0;
  std::uint32_t pair = 0;
};

struct WirePart {
  Ref where;
  std::uint32_t blocks = 0;  // as of Op
};

// Many fields: the executor finds all that one operation needs beside each other.
struct Op {
  plan::Kind kind{};
  std::uint8_t area = 0;
  std::uint8_t lag = 0;
  bool publication = false;  // an await of addresses
  plan::When when = plan::When::always;
  bool slot = false;         // an acquire of line and slot
  bool ride = false;         // likewise, if what rides does not fit in the line
  bool last = false;         // a copy of a result that is not read again
  bool leaves = false;       // writes to a slot what this rank does not read again
  bool posts = false;        // a copy or reduce into a line that is posted at once: while the line is still mine
  bool block = false;        // a copy of one block between this rank's buffers, or a buffer and a ride
  bool plain = false;        // a copy or reduce here, of blocks that lie beside each other if they are alike and whole
  std::uint16_t portion = 0;
  std::int32_t peer = -1;
  std::int32_t whose = -1;   // giver that `when` looks at
  std::uint32_t blocks = 0;  // that are moved; 0: a part of a message that is not made of blocks
  Line *ring = nullptr;      // of the line that is awaited or posted; of a progress word for await_done
  Ref dst{}, dst2{}, a{}, b{};
  std::vector<std::int32_t> locals;  // of acquire: readers, as numbers on this node
  // Of the last send and the first receive of a message: all its parts, the op's own among them; the other sends are
  // left out. Messages are numbered, so that each has memory of its own.
  std::vector<WirePart> message;
  std::uint32_t message_number = 0;
};

// Many fields: those of a plan, and what follows from its steps.
struct Program {
  struct Section {
    bool loop = false;
    plan::Turns turns = plan::Turns::all;
    std::uint8_t max_lag = 0;
    std::vector<Op> ops;
  };
  std::vector<Section> sections;
  plan::Contents contents;
  std::int32_t ranks = 0;
  std::uint16_t scratches = 0;
  bool scratch_whole = false;  // a once-section uses scratch, or others do: it must hold the whole message
  std::uint32_t scratch_blocks = 1;  // that a scratch must hold
  std::uint32_t pack = 1;            // that a slot must hold
  bool slots = false;          // a fragment must fit in a slot; alike on all ranks
  bool one_fragment = false;
  bool together = false;       // see Plan
  bool publishes = false;      // others reach this rank's buffers
  // What may ride with this rank's publication: blocks of its input; none: nothing may.
  Ref ride;
  std::uint32_t ride_blocks = 0;
};

// `peers[r]` says how rank r is reached; `me` is this rank.
[[nodiscard]] Program compile(const plan::Plan &plan, const Segment &segment, const std::vector<Peer> &peers);

// The text form: one line an operation, behind it what the executor knows of it. Readers of an acquire are numbers on this node.
[[nodiscard]] std::string to_text(const Program &program);

}  // namespace copse::engine
