// A program is a plan made ready to run on one communicator. It has the same steps, and every address that does not change
// from call to call is resolved. It is made once per plan and kept as long as the plan.
#pragma once

#include <string>
#include <vector>

#include "engine/reach/peer.hpp"
#include "engine/segment.hpp"
#include "plan/plan.hpp"

namespace copse::engine {

// An operand. For lines and slots, it knows where their rings lie.
struct Ref {
  plan::Space space = plan::Space::none;
  bool whole = false;  // a scratch that holds a message, not a fragment
  std::uint16_t area = 0;
  std::int32_t rank = -1;
  std::int32_t local = -1;
  Line* ring = nullptr;
  plan::Range range{};
  // These fields are for messages made of blocks. `place` is the place of the first block among the blocks in the buffer, or among
  // the blocks that are packed with it. `places` is the number of places. The first place follows the last one, unless `places` is
  // 0, which means that there is no end. `pair` says where the size of a pair's block is found: in the table of what this rank
  // sends or, from `ranks` on, in the table of what it gets.
  std::uint32_t place = 0, places = 0;
  std::uint32_t pair = 0;
};

struct WirePart {
  Ref where;
  std::uint32_t blocks = 0;  // as in Op
};

// Many fields: the executor finds all that one operation needs beside each other.
struct Op {
  plan::Kind kind{};
  std::uint8_t area = 0;
  std::uint8_t lag = 0;
  bool publication = false;  // an await of addresses
  plan::When when = plan::When::always;
  plan::Delegation delegation{};  // of a delegate
  bool slot = false;  // an acquire of line and slot
  bool ride = false;  // an acquire of the line, and of the slot if what rides does not fit in the line
  bool last = false;  // a copy of a result that is not read again
  bool leaves = false;  // writes data to a slot, and this rank does not read it again
  bool posts = false;  // a copy or reduce into a line that also posts it, while this core still owns the line
  bool block = false;  // a copy of one block between this rank's buffers, or between a buffer and a ride
  bool plain = false;  // a copy or reduce within direct reach, whose blocks are contiguous if they are whole and alike
  std::uint16_t portion = 0;
  std::int32_t peer = -1;
  std::int32_t whose = -1;  // the rank whose choice to ride `when` tests
  std::uint32_t blocks = 0;  // blocks to move; 0: a part of a message that is not made of blocks
  Line* ring = nullptr;  // of the line to await or post; for done and await_done, a progress word
  Ref dst{}, dst2{}, a{}, b{};
  std::vector<std::int32_t> locals;  // readers of an acquire, by their numbers on this node
  // All parts of a message. The program keeps only the last send of a message, and that send has the parts of all of them. The
  // expect has the parts of all receives, and the first receive has `begins`. Messages are numbered, so that each has memory
  // of its own.
  std::vector<WirePart> message;
  std::uint32_t message_number = 0;
  bool begins = false;
};

// Many fields: those of a plan, and what follows from its steps.
struct Program {
  struct Section {
    bool loop = false;
    plan::LoopFragments fragments = plan::LoopFragments::all;
    std::uint8_t max_lag = 0;
    std::vector<Op> ops;
  };
  std::vector<Section> sections;
  plan::Contents contents;
  std::int32_t ranks = 0;
  std::uint16_t scratches = 0;
  std::uint8_t scratch_depth = 1;  // see Plan
  bool scratch_shared = false;  // ranks reach into one another's scratches; the same on all ranks
  bool scratch_whole = false;  // a scratch must hold the whole message, because a once-section or another rank uses it
  std::uint32_t scratch_blocks = 1;  // blocks that a scratch must hold
  std::uint32_t pack = 1;  // blocks that a slot must hold
  bool slots = false;  // a fragment must fit in a slot; the same on all ranks
  bool one_fragment = false;
  bool together = false;  // see Plan
  bool placed = false;  // see Plan; the call needs a window
  bool publishes = false;  // others reach this rank's buffers, and learn here where they lie
  // The blocks of this rank's input that may ride with its publication, in the order in which they ride. `ride_blocks` is their
  // number; 0 means that none may ride.
  struct Ridden {
    Ref part;
    std::uint32_t blocks;
  };
  std::vector<Ridden> rides;
  std::uint32_t ride_blocks = 0;
};

// Compiles a plan for one communicator. `peers[r]` says how rank r is reached. The program of a rank that waits for nobody begins
// with a wait, which refused calls need, unless the call is placed.
[[nodiscard]] Program compile(const plan::Plan& plan, const Segment& segment, const std::vector<Peer>& peers);

// Returns the text form. It says which calls the executor runs whole (loops.hpp). Each operation has a line, which ends with what
// the executor knows about it. The readers of an acquire are numbers on this node.
[[nodiscard]] std::string to_text(const Program& program);

}  // namespace copse::engine
