// The judge is the reader of a walk that proves plans right. Its clock is a vector clock for each rank, and its memory is
// symbolic. It compares every step with what the call must achieve, and says what is wrong.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analysis/order.hpp"
#include "analysis/script.hpp"
#include "analysis/store.hpp"
#include "analysis/value.hpp"
#include "analysis/verdict.hpp"
#include "analysis/walk.hpp"

namespace copse::analysis {

// Holds, for each rank and peer, the call whose addresses of that peer the rank has taken. For few ranks this is a table, which
// is the fastest. For many ranks it holds only the pairs that have ever taken addresses.
class TakenAddresses {
 public:
  explicit TakenAddresses(int ranks) : ranks_(at(ranks)), dense_(ranks <= kFew) {
    if (dense_) calls_.assign(ranks_ * ranks_, kNone);
  }
  void take(int rank, int peer, std::size_t call) {
    const std::size_t key = at(rank) * ranks_ + at(peer);
    if (dense_) {
      calls_[key] = static_cast<std::int32_t>(call);
      return;
    }
    const auto [number, fresh] = numbers_.of(key);
    if (fresh) calls_.push_back(kNone);
    calls_[number] = static_cast<std::int32_t>(call);
  }
  [[nodiscard]] bool has(int rank, int peer, std::size_t call) const {
    const std::size_t key = at(rank) * ranks_ + at(peer);
    const std::size_t index = dense_ ? key : numbers_.find(key);
    return index < calls_.size() && calls_[index] == static_cast<std::int32_t>(call);
  }

 private:
  static constexpr int kFew = 128;
  static constexpr std::int32_t kNone = -1;
  std::size_t ranks_;
  bool dense_;
  Numbers numbers_;
  std::vector<std::int32_t> calls_;
};

// The words of all lines, and what was posted last on each. The payloads are in the store.
class Lines {
 public:
  struct Line {  // one place in a ring of lines
    Accesses word;
    Ticket posted = -1;
    int portion = -1;  // the last portion of that ticket that was posted
  };

  explicit Lines(const Script& script);
  [[nodiscard]] Line& of(int rank, int area, Ticket ticket) {
    return lines_[(at(rank) * areas_ + at(area)) * depth_ + static_cast<std::size_t>(ticket) % depth_];
  }

 private:
  std::size_t areas_ = 1, depth_;
  std::vector<Line> lines_;  // [rank][area][place in the ring]
};

class Judge : public Quiet {
 public:
  using Mark = Signal;

  Judge(const Script& script, std::size_t most, WaitUse* use);
  // Walks and judges.
  Verdict run();

  // These are the events of the walk (walk.hpp).
  [[nodiscard]] bool enough() const { return report_.verdict.findings.size() >= report_.most; }
  void begins(const Moment& now) {
    clocks_.tick(now.rank);
    ++report_.verdict.steps;
  }
  void hears(const Moment& now, const Signal& signal) {
    const bool news = clocks_.join(now.rank, signal);
    if (report_.use != nullptr) note(now, news);
  }
  void forgets(const Signal& signal) { clocks_.release(signal); }
  void enters(const Moment& now);
  void moves(const Moment& now);
  void awaits(const Moment& now, Ticket ticket, bool published);
  bool posts(const Moment& now);
  void goes_back(const Moment& now, Ticket value);
  bool sends(const Moment& now, std::size_t message);
  void expects(const Moment& now, std::size_t expected);
  void receives(const Moment& now, std::size_t expected, std::size_t message, const Moment& sent, const Signal& signal);
  void surprises(const Moment& now);
  void drains(const Moment& now, std::size_t message, const Moment& sent);
  void delegates(const Moment& now, std::size_t number);
  void disagrees(const Moment& now, const Moment& first);
  void collects(const Moment& now, const Member& mine, std::span<const Member> members);
  void returns(const Moment& now);
  void abandons(const Moment& now, const Moment& begun);
  [[nodiscard]] Signal gives(const Moment& now) { return clocks_.signal(now.rank); }

 private:
  struct Posts {  // what posts have told
    Lines lines;
    TakenAddresses addresses;
  };
  struct Sent {  // the contents of a message
    bool data;
    AtomSpan part;
    std::vector<Values::Id> values;
    std::vector<Epoch> writes;  // the writes of the source when it was sent
    Atoms source;
  };
  struct Expected {  // from when on the wire may write
    Moment begun;
    Signal signal;
    int parts = 0;  // with data, that have come
  };
  struct Delegated {
    Sent given;
    Expected result;
  };
  struct CallState {
    std::vector<Values::Id> reference;  // for allreduce: the first result, by place in the message
    std::vector<Epoch> entries;         // for a barrier, and for calls that act as one
    std::vector<Epoch> returns;         // if a barrier follows the call
    int entered = 0, returned = 0;      // ranks
  };
  struct Read {  // the values of a step's operands; kept, so that a step need not allocate
    std::vector<Values::Id> a, b;
  };
  struct Report {
    std::size_t most;  // findings
    WaitUse* use;      // null: nobody asks which waits bring news
    Verdict verdict{};
  };

  const ScriptedCall& job(std::size_t call) const { return script_.subject().calls[call]; }
  void note(const Moment& now, bool news);
  Atoms locate(const Moment& now, const plan::Operand& operand);
  bool read(const Moment& now, const Atoms& place, const plan::Operand& operand, std::vector<Values::Id>& values);
  void write(const Moment& now, const Atoms& place, const plan::Operand& operand, const std::vector<Values::Id>& values);
  bool take(const Moment& now, Sent& sent);
  void check_source(const Moment& now, const Sent& sent, const Moment& begun);
  void arrive(const Moment& now, const Atoms& place, const Expected& expected, const Signal& sent);
  bool same_part(const Moment& now, const Atoms& a, const Atoms& b);
  void hand_over(const Moment& now, int rank);
  void take_back(const Moment& now);
  void touch(const Moment& now, const Memory& memory, const char* why);
  void check_result(const Moment& now);
  void check_barrier(const Moment& now);
  void check_fence(const Moment& now, const std::vector<Epoch>& events, const char* what);
  std::string wrong_result(const Moment& now, std::uint32_t place, Values::Id value);

  // These are in findings.cpp.
  void find(Fault fault, const Moment& now, std::string explanation);
  void find_race(const Moment& now, const std::string& what, bool writes, Epoch other);
  void find_deadlock(const Walk<Judge>& walk);
  std::string describe(Epoch event) const;

  const Script& script_;
  Values values_;
  Clocks clocks_;
  AccessOrder order_;
  Store store_;
  Posts posts_;
  std::vector<CallState> calls_;
  std::vector<Sent> sent_;          // by message number
  std::vector<Expected> expected_;  // by number
  std::vector<Delegated> delegated_;  // by number
  Read read_;
  Report report_;
};

[[nodiscard]] std::string text_of(const Moment& now);  // the step, or what else the rank does
[[nodiscard]] std::string name_of_place(const plan::Operand& operand, int rank);

}  // namespace copse::analysis
