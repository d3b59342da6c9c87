// The interpreter: executes the plans of all ranks on symbolic memory, in one schedule.
//
// Every memory (buffer, scratch, line payload, slot) is an array of atoms (cuts.hpp); an atom has a value and
// the accesses that later ones may conflict with. Memory that is reused carries a tag: the ticket it was
// written for. Buffers are addressed by message, the others by fragment.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "analysis/checker.hpp"
#include "analysis/cuts.hpp"
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
    std::vector<Atom> atoms;
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
    std::int32_t awaited = 0;  // how often it will still be
    Signal signal;
  };
  struct Progress {
    Ticket value;
    Signal signal;
  };
  struct Message {
    int call, fragment;
    const plan::Step* step;
    bool data;
    AtomSpan part;
    std::vector<Values::Id> values;
    std::vector<Epoch> writes;  // of the source when it was sent
    Place source;
    Signal signal;
    int to;
    bool received = false;
  };
  struct Channel {
    std::vector<std::size_t> messages;
    std::size_t received = 0;
  };
  struct Event {  // what a rank did at a tick of its clock
    std::int32_t step;
    std::int16_t call, fragment;
  };
  enum : std::int32_t { kEntry = -1, kReturn = -2 };

  struct Rank {
    std::size_t call = 0;
    bool entered = false;
    std::size_t section = 0;
    std::uint32_t step = 0;
    int iteration = 0;
    int waits_for = -1;  // the rank whose step it needs
    int passed = 0;      // of an acquire that waits: the peers before this one are done
    std::vector<Progress> progress;
    std::vector<std::size_t> undrained;
    std::vector<Event> events;  // [clock - 1]
  };
  struct CallState {
    Cuts cuts;
    Ticket first = 0;
    std::vector<const plan::Plan*> plans;
    std::vector<Memory> inputs, outputs;  // per rank; where they are one memory, the input's
    std::vector<Values::Id> reference;    // of allreduce: the first result, by place in the message
    std::vector<Epoch> entries;
  };

  const Call& job(std::size_t call) const { return subject_.calls[call]; }
  const plan::Plan& plan_of(int rank) const { return *calls_[ranks_[at(rank)].call].plans[at(rank)]; }
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  bool near(int a, int b) const { return subject_.nodes.empty() || subject_.nodes[at(a)] == subject_.nodes[at(b)]; }

  // Each returns false where the rank must wait (waits_for says for whom), having done nothing.
  bool advance(int rank);
  void enter(int rank);
  void leave(int rank);
  bool execute(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool acquire(int rank, const plan::Step& step, Ticket ticket);
  bool await(int rank, const plan::Step& step, Ticket ticket);
  bool await_done(int rank, int peer, Ticket needed);
  void post(int rank, const plan::Step& step, Ticket ticket);
  Post& post_of(int rank, const plan::Step& step, Ticket ticket);
  void count_awaits();
  void done(int rank, Ticket value);
  void move_data(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  void send(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool receive(int rank, const plan::Section& section, const plan::Step& step, int fragment);
  bool drain(int rank);

  void tick(int rank, int step, int fragment);
  Place locate(int rank, const plan::Operand& operand, bool loop, int fragment);
  bool read(int rank, const Place& place, const plan::Operand& operand, std::vector<Values::Id>& values);
  void write(int rank, const Place& place, const plan::Operand& operand, const std::vector<Values::Id>& values);
  bool same_part(int rank, const Place& a, const Place& b);
  bool has_one_buffer(std::size_t call, int rank) const;
  struct Buffer {
    Memory* memory;
    plan::Extent extent;
  };
  Buffer buffer_of(std::size_t call, int rank, bool output);
  std::uint32_t atoms_of(std::size_t call, plan::Extent extent) const;
  Place in_buffer(std::size_t call, int rank, bool output, AtomSpan part, int fragment, const plan::Range& range);
  template <class Visit>  // (atom, its place in the message)
  void each_atom(std::size_t call, int rank, bool output, Visit&& visit);
  std::string wrong_result(std::size_t call, int rank, std::uint32_t place, Values::Id value);
  void touch_buffer(int rank, Memory& memory, const char* name);
  void check_result(int rank);
  void inform(int rank, const Signal& signal);
  const Progress* progress_of(int rank, Ticket needed) const;
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
  std::vector<CallState> calls_;
  std::vector<Rank> ranks_;
  Ticket tickets_ = 0;  // of all calls
  std::vector<Memory> payloads_, slots_, scratches_;
  std::vector<Line> lines_;
  std::vector<std::size_t> first_portion_;  // of each area, among all portions of a rank; then their number
  std::vector<Post> posts_;                 // [rank][portion][ticket]
  std::vector<std::int32_t> addresses_;  // [rank][peer]: call whose addresses of peer rank holds
  std::vector<Message> messages_;
  std::vector<std::size_t> free_messages_;  // received and drained
  std::unordered_map<std::uint64_t, Channel> channels_;
  std::vector<Values::Id> scratch_a_, scratch_b_;
  const plan::Step* current_ = nullptr;
  int current_fragment_ = 0;
  Verdict verdict_;
};

}  // namespace copse::analysis
