// The interpreter: executes the plans of all ranks on symbolic memory, in one schedule.
//
// Every memory (buffer, scratch, line payload, slot) is an array of atoms (cuts.hpp); an atom has a value and
// the accesses that later ones may conflict with. Memory that is reused carries a tag: the ticket it was
// written for. Buffers are addressed by message, the others by fragment.
//
// Sweeps make millions of short runs: so whatever there is one of for each rank, call or ticket stands in one array
// for all of them, and is not allocated by itself.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/checker.hpp"
#include "analysis/cuts.hpp"
#include "analysis/numbers.hpp"
#include "analysis/order.hpp"
#include "analysis/value.hpp"

namespace copse::analysis {

class Interpreter {
 public:
  Interpreter(const Case& subject, std::size_t most, WaitUse* use);
  Verdict run();

 private:
  using Ticket = std::int64_t;

  struct Atom {
    Values::Id value = Values::kNothing;
    std::uint32_t block = 0;  // that was written there, where blocks are packed
    Accesses accesses;
  };
  struct Memory {
    Ticket tag = -1;
    std::size_t first = 0;              // in atoms_
    std::uint32_t size = 0, room = 0;  // atoms; what they may grow to where they are
  };
  // Some atoms of a memory, for one ticket.
  struct Place {
    Memory* memory = nullptr;  // null: no such place (a finding was made)
    std::uint32_t first = 0, count = 0;
    Ticket tag = 0;
    AtomSpan part{};          // of the message
    std::uint32_t whole = 0;  // atoms of the memory, if it must be renewed
    bool reused = false;      // by other tickets
    std::uint32_t base = 0, around = 0;  // blocks that go round: atom base + (first + i) % around
    std::uint32_t block = 0, blocks = 1;  // where blocks are packed, the first of them, and how many there are

    [[nodiscard]] std::uint32_t block_at(std::uint32_t i) const { return (block + i) % blocks; }

    [[nodiscard]] std::uint32_t index(std::uint32_t i) const {
      return around == 0 ? first + i : base + (first + i) % around;
    }
  };
  struct Line {  // one ring place of lines: the word; the payload is a Memory
    Accesses word;
    Ticket posted = -1;
    int portion = -1;  // of that ticket, the last posted
  };
  struct Post {
    bool posted = false, addresses = false;
    std::int32_t awaited = 0;  // how often it was
    Signal signal;
  };
  struct Message {
    int call, fragment;
    const plan::Step* step;
    bool data;
    int to;
    bool received;
    std::int32_t next;  // of its channel
    AtomSpan part;
    std::vector<Values::Id> values;
    std::vector<Epoch> writes;  // of the source when it was sent
    Place source;
    Signal signal;
  };
  struct Channel {
    std::int32_t first = -1, last = -1;  // of the messages on their way, or parts of them
    std::int32_t unfinished = -1;        // the first part of a message that goes on
  };
  struct Cursor {  // where a rank is in its calls; if it has entered one, before which step
    std::size_t call = 0;
    const plan::Plan* plan = nullptr;  // of the call, once entered
    int fragments = 1;
    std::size_t section = 0;
    std::uint32_t step = 0;
    int iteration = 0;
  };
  struct Rank : Cursor {
    int waits_for = -1;  // the rank whose step it needs
    int passed = 0;      // of an acquire that waits: the peers before this one are done
    Ticket progress = 0;
    int first_waiting = -1, last_waiting = -1;  // ranks that wait for this one
    int next_waiting = -1;                      // for the same
    std::vector<std::size_t> undrained;
  };
  // The plans of a call, which further calls may run as well.
  struct Cast {
    std::vector<const plan::Plan*> plans;
    std::vector<std::uint32_t> first_portion;  // of each area, among all portions of a rank; then their number
    // [rank][portion]: how often the post is awaited in the first fragment by steps outside loops, and by loops in any
    // fragment but the last, and in the last.
    std::vector<std::int32_t> awaited_once, awaited, awaited_last;
  };
  struct CallState {
    Cuts cuts;
    Ticket first = 0;
    std::size_t cast = 0;
    std::uint32_t blocks = 0;           // that the message is made of
    std::size_t first_post = 0;         // of the call's, [rank][portion][fragment]
    std::vector<Values::Id> reference;  // of allreduce: the first result, by place in the message
    std::vector<Epoch> entries;         // of a barrier
  };
  struct Buffer {
    Memory* memory;
    plan::Extent extent;
  };

  const Call& job(std::size_t call) const { return subject_.calls[call]; }
  const plan::Plan& plan_of(std::size_t call, int rank) const { return *casts_[calls_[call].cast].plans[at(rank)]; }
  Cursor entered(std::size_t call, int rank) const { return {call, &plan_of(call, rank), job(call).fragments}; }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  Atom* atoms_of(const Memory& memory) { return atoms_.data() + memory.first; }
  void resize(Memory& memory, std::uint32_t size);
  bool near(int a, int b) const { return subject_.nodes.empty() || subject_.nodes[at(a)] == subject_.nodes[at(b)]; }

  std::size_t cast_of(const Call& call);
  void count_awaits(Cast& cast);
  void make_buffers(std::size_t call);
  // The next step in the call that runs, moving there, and the fragment that it works on; null at the end.
  static const plan::Step* upcoming(Cursor& cursor, int& fragment);
  // Each returns false where the rank must wait (waits_for says for whom), having done nothing.
  bool advance(int rank);
  void enter(int rank);
  void leave(int rank);
  bool execute(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool acquire(int rank, const plan::Step& step, Ticket ticket);
  bool await(int rank, const plan::Step& step, Ticket ticket);
  bool await_done(int rank, int peer, Ticket needed);
  void post(int rank, const plan::Step& step, Ticket ticket);
  // The post of that area and portion by a rank, and how often it will be awaited. Null: that call has none.
  struct Awaited {
    Post* post;
    std::int32_t times;
  };
  Awaited post_of(int rank, const plan::Step& step, Ticket ticket, std::size_t call);
  void done(int rank, Ticket value);
  void move_data(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  void send(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool receive(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool drain(int rank);
  Channel& channel_of(int from, int to, int tag);

  void tick(int rank);
  Place locate(int rank, const plan::Operand& operand, bool loop, int fragment);
  bool read(int rank, const Place& place, const plan::Operand& operand, std::vector<Values::Id>& values);
  void write(int rank, const Place& place, const plan::Operand& operand, const std::vector<Values::Id>& values);
  bool same_part(int rank, const Place& a, const Place& b);
  bool has_one_buffer(std::size_t call, int rank) const;
  Buffer& buffer_of(std::size_t call, int rank, bool output) {
    return buffers_[(call * ranks_.size() + at(rank)) * 2 + (output ? 1 : 0)];
  }
  std::uint32_t atoms_in(std::size_t call, plan::Extent extent) const;
  Place in_buffer(std::size_t call, int rank, bool output, AtomSpan part, int fragment, const plan::Range& range);
  template <class Visit>  // (atom, its place in the message)
  void each_atom(std::size_t call, int rank, bool output, Visit&& visit);
  std::string wrong_result(std::size_t call, int rank, std::uint32_t place, Values::Id value);
  void touch_buffer(int rank, Memory& memory, const char* name);
  void check_result(int rank);
  void inform(int rank, const Signal& signal);
  // The signal of the step that brought the rank's progress there; null if none did yet.
  const Signal* progress_of(int rank, Ticket needed) const;
  int lateness(int rank) const;

  void find(Fault fault, int rank, std::string explanation);
  void find_race(int rank, const std::string& what, bool writes, Epoch other);
  void find_deadlock();
  std::string describe(Epoch event) const;
  std::string step_text(int rank) const;

  const Case& subject_;
  std::size_t most_;
  WaitUse* use_;
  int areas_ = 16;
  Values values_;
  Clocks clocks_;
  AccessOrder order_;
  std::vector<Cast> casts_;
  std::vector<CallState> calls_;
  std::vector<Rank> ranks_;
  Ticket tickets_ = 0;  // of all calls
  std::vector<Atom> atoms_;
  std::vector<Buffer> buffers_;          // [call][rank][input, output]
  std::vector<Memory> buffer_memories_;  // likewise; where a rank's two are one, one of them is not used
  std::vector<Memory> payloads_, slots_, scratches_;
  std::vector<Line> lines_;
  std::vector<Post> posts_;
  std::vector<Signal> reached_;          // [rank][progress]
  std::vector<std::int32_t> addresses_;  // [rank][peer]: call whose addresses of peer rank holds
  std::vector<Message> messages_;
  std::vector<std::size_t> free_messages_;  // received and drained
  Numbers channel_numbers_;
  std::vector<Channel> channels_;
  std::vector<Values::Id> scratch_a_, scratch_b_;
  const plan::Step* current_ = nullptr;
  int current_fragment_ = 0;
  Verdict verdict_;
};

}  // namespace copse::analysis
