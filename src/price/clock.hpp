// The clock of a priced walk: when each rank takes each step, and what made it take so long.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

#include "analysis/walk.hpp"
#include "price/flows.hpp"
#include "price/price.hpp"

namespace copse::price {

// Where bytes go from and to, and how fast.
struct Movement {
  double bytes = 0, latency_ns = 0, rate = kUnbounded;
  Part part = Part::copies;
  topology::Level level = topology::Level::core;
  bool through_last = false;  // it passes the last cache
  std::vector<std::size_t> resources;
  Flows::Together together;             // what this movement shares with others that read the same into the same cache
  std::vector<std::int64_t> read_with;  // what these movements read, and into which cache; empty: this movement shares nothing

  [[nodiscard]] double behind_first_line() const { return std::max(0.0, bytes - kLine); }
};

// What a rank knows of a peer that it listens to. If the words of two tickets in a row had come before the rank looked, the peer
// stays ahead. Its lines and slots are then fetched as a stream is.
struct Listening {
  analysis::Ticket ticket = -1;  // of the last word
  bool early = false;  // that word arrived before the rank looked
  bool streams = false;
};
using Streams = std::map<std::int32_t, Listening>;

// Says what a step moves. It knows where the ranks are, how the message is cut, and which caches hold it.
class Movements {
 public:
  Movements(const Question& question, const Parameters& machine, Flows& flows);

  // `streams` is what this rank knows of its peers.
  [[nodiscard]] Movement of(const analysis::Moment& now, int kernel_copies, const Streams& streams);
  [[nodiscard]] double bytes(const analysis::Moment& now, const plan::Operand& operand) const;
  [[nodiscard]] const Nearness& between(int a, int b) const;
  [[nodiscard]] topology::Level level_between(int a, int b) const;  // core, if a and b are one rank

 private:
  enum class Way : std::uint8_t { out, in, link, whole, memory, last };

  void read(Movement& movement, const plan::Operand& operand, const analysis::Moment& now, const Streams& streams);
  void join(Movement& movement, const plan::Operand& operand, const analysis::Moment& now, int owner);
  void group(Movement& movement);
  [[nodiscard]] const Nearness* keeper(int owner, int rank) const;
  void write(Movement& movement, const plan::Operand& operand, int rank);
  void pass(Movement& movement, const Nearness& nearness, int from, int to);
  void use_memory(Movement& movement, int owner);
  void use(Movement& movement, Way way, std::size_t which, std::pair<std::int32_t, std::int32_t> of, double capacity);
  [[nodiscard]] double write_rate(int rank);  // into a slot of its own, which others have read
  [[nodiscard]] bool is_read_from_memory(const plan::Operand& operand, int owner) const;
  [[nodiscard]] bool is_written_to_memory(const plan::Operand& operand) const;

  const Question& question_;
  const Parameters& machine_;
  const topology::Placement& places_;
  algorithms::Groups nodes_;  // the ranks of each node
  Flows& flows_;
  void use_last(Movement& movement, int rank);  // where the buffers lie beyond the second cache

  bool one_buffer_, too_large_;
  double beyond_;  // how much of what a rank uses passes through the last cache, as a fraction
  std::map<std::tuple<Way, std::size_t, std::pair<std::int32_t, std::int32_t>>, std::size_t> resources_;
  std::vector<double> write_rates_;
  std::map<std::vector<std::int64_t>, int> groups_;  // the groups of movements that read the same, by what they read
};

class Clock : public analysis::Quiet {
 public:
  struct Mark {
    double time = 0;
    std::int32_t rank = 0;
    std::int32_t event = -1;
    bool by_wire = false;
    std::int32_t arrival = -1;  // of a message of several parts: the number of its arrival, which is known when all are given
  };

  Clock(const Question& question, const Parameters& machine);
  void attach(analysis::Walk<Clock>& walk) { walk_ = &walk; }
  [[nodiscard]] Price result() const;

  // Tells whether the calls take longer than the bound of this price.
  [[nodiscard]] bool enough() const { return bound_.exceeded; }

  // These are the events of the walk (walk.hpp).
  void begins(const analysis::Moment& now);
  void hears(const analysis::Moment& now, const Mark& mark);
  void acts(const analysis::Moment& now);
  void enters(const analysis::Moment& now);
  void moves(const analysis::Moment& now);
  bool is_due(const analysis::Moment& now);
  bool sends(const analysis::Moment& now, std::size_t message);
  void receives(const analysis::Moment& now, std::size_t expected, std::size_t message, const analysis::Moment& sent,
                const Mark& mark);
  void drains(const analysis::Moment& now, std::size_t message, const analysis::Moment& sent);
  void delegates(const analysis::Moment& now, std::size_t number);
  void collects(const analysis::Moment& now, const analysis::Member& mine, std::span<const analysis::Member> members);
  void returns(const analysis::Moment& now);
  Mark gives(const analysis::Moment& now);
  bool pauses(const analysis::Moment& now);
  bool idles();

 private:
  // A stretch of a rank's time, and the event that it follows. The chain of events leads back to the beginning.
  struct Event {
    const plan::Step* step;  // null: it enters or returns
    double from, to;
    std::int32_t rank, before;  // before: the event that had to come before this one; -1: none
    std::int32_t call;
    Part part;
    topology::Level level;
  };
  struct Rank {
    double time = 0;
    std::int32_t last = -1;  // event
    int heard = 0;  // signals that the step waited for
    double arrival = 0;  // of the signal that came last; `giver` is the event that gave it
    std::int32_t giver = -1;
    bool by_wire = false;
    int core = 0;
    bool moving = false;
    bool waits_to_send = false;  // until nobody else can send earlier
    Streams streams;
  };
  struct Core {
    double free = 0;
    int rank = -1;  // the last one that ran
  };
  // A movement that begins at a time. Movements begin in the order of time, whichever rank the walk has come to first.
  struct Start {
    double time;
    int rank;
    std::optional<Movement> movement;  // none: the rank gives something to the wire
    // The queue gives the earliest first.
    friend bool operator<(const Start& a, const Start& b) { return std::tie(a.time, a.rank) > std::tie(b.time, b.rank); }
  };

  // The processors, where ranks share them.
  struct Processors {
    std::vector<Core> cores;
    bool shared = false;
  };
  // What goes from node to node.
  struct Wire {
    // A point of time, and the event that leads to it.
    struct Since {
      double time = 0;
      std::int32_t event = -1;
    };
    // The parts that were given so far of a message that has further parts.
    struct Unfinished {
      double bytes = 0;
      std::int32_t arrival = -1;
      bool loose = false;  // the parts do not lie one behind the other
      plan::Operand last{};
    };
    std::vector<double> free;  // by node: when its network takes the next message
    double sent = 0;           // when the message that is being sent leaves
    std::map<std::tuple<std::int32_t, std::int32_t, std::uint16_t>, Unfinished> unfinished;  // by sender, receiver and area
    std::vector<Since> arrivals;   // of messages of several parts
    std::vector<Since> taken;      // by message: when its receiver had it
    std::vector<Since> delegated;  // by number: when the rank had come
  };
  // How long the calls may take.
  struct Bound {
    double ns = kTooLong;
    std::size_t out_of_first = 0;  // ranks that have returned from the first call
    bool exceeded = false;
  };
  // All events. For each call, `returned` says when the last rank returned, and `ending` says in which event.
  struct History {
    std::vector<Event> events;
    std::vector<double> returned;
    std::vector<std::int32_t> ending;
  };

  void spend(const analysis::Moment& now, double ns, Part part, topology::Level level);
  void note(const analysis::Moment& now, double from, double to, std::int32_t before, Part part, topology::Level level);
  void take_turn(const analysis::Moment& now);
  void wait_until(const analysis::Moment& now, const Wire::Since& since);
  [[nodiscard]] const Network& network() const;  // throws if the machine has none

  const Question& question_;
  const Parameters& machine_;
  Flows flows_;
  Movements movements_;
  analysis::Walk<Clock>* walk_ = nullptr;
  std::vector<Rank> ranks_;
  Processors processors_;
  Wire wire_;
  History history_;
  std::priority_queue<Start> starts_;
  int kernel_copies_ = 0;
  Bound bound_;
};

}  // namespace copse::price
