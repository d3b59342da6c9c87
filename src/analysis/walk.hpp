// The walk goes through all ranks' plans of a script, in one schedule, and tells a reader what happens.
// The walk knows what a step waits for and what comes next: the cursors of all ranks, who waits for whom, sections, lags and
// turns. It knows which post an await takes (area, portion, ticket), which progress, and which message of the wire. It knows
// whose turn it is, and who waits forever. It knows nothing of time and nothing of memory. Those belong to the reader:
//   the clock    A signal carries a `Mark` that the reader makes: a vector clock, a time, a depth. `gives` makes one when a
//                step gives a signal, and whoever waited for that signal `hears` it. Between the two, the walk keeps it. A
//                reader that gives each step a start and an end starts a step at the latest of its rank's time and of the
//                marks that it hears.
//   the memory   `moves`, `posts`, `awaits`, `sends`, `expects`, `receives`, `drains`, `delegates` and `collects` say which step
//                touches what. A reader executes the step on symbols, counts its bytes, takes its time, or does nothing.
//   the schedule Ranks go as far as they come, in turn. The schedule does not matter to a reader whose clock goes by marks
//                alone (checker.hpp says why). It matters to a reader whose ranks share what makes them slow. For such a
//                reader, `is_due` stops a rank before it gives something to the wire, `pauses` stops it after a step, `idles` asks
//                for events when nobody can go on, and `wake` lets a rank go on.
// Calls to the reader are bound at compile time, and those that it leaves to Quiet vanish.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "analysis/numbers.hpp"
#include "analysis/script.hpp"

namespace copse::analysis {

// A rank and what it does now. If there is no step, it enters a call (and has no plan yet) or returns from it.
struct Moment {
  int rank = 0;
  std::size_t call = 0;
  const plan::Plan* plan = nullptr;
  const plan::Section* section = nullptr;
  const plan::Step* step = nullptr;
  int fragment = 0;
  Ticket ticket = 0;  // of the fragment
};

// What a rank among the leaders has delegated. No other member has this number.
struct Member {
  Moment begun;
  std::size_t number = 0;
};

// A reader that does nothing. Readers derive from it and hide the functions that they need. For each step, these are called
// in the order in which they stand here.
struct Quiet {
  struct Mark {};  // what a signal carries

  static bool enough() { return false; }   // true: the walk may end here
  static void begins(const Moment&) {}     // the rank enters a call, takes a step that may run, or returns
  template <class AnyMark>
  static void hears(const Moment&, const AnyMark&) {}  // one of the signals that the step waited for
  template <class AnyMark>
  static void forgets(const AnyMark&) {}            // nobody will hear this mark any more
  static void acts(const Moment&) {}                // a step, once all that it waited for has come

  static void enters(const Moment&) {}
  static void moves(const Moment&) {}                             // a copy or reduction
  static void awaits(const Moment&, Ticket, bool /*published*/) {}  // the ticket of the post, and whether it has addresses
  static bool posts(const Moment&) { return true; }               // false: the post does not count
  static void goes_back(const Moment&, Ticket) {}                 // a done that goes below the rank's progress
  // Messages have numbers, which are used again once a message is drained. `sent` says when and what was sent.
  static bool sends(const Moment&, std::size_t /*message*/) { return true; }  // false: the message does not count
  // Expected messages have numbers, too. A number is used again once its message has come.
  static void expects(const Moment&, std::size_t /*expected*/) {}
  template <class AnyMark>
  static void receives(const Moment&, std::size_t /*expected*/, std::size_t /*message*/, const Moment& /*sent*/, const AnyMark&) {}
  static void surprises(const Moment&) {}  // a receive of what is not the next that the rank expects there
  static void drains(const Moment&, std::size_t /*message*/, const Moment& /*sent*/) {}
  static void delegates(const Moment&, std::size_t /*number*/) {}
  static void disagrees(const Moment&, const Moment& /*first*/) {}  // another member delegates something else at this point
  // The collective is over. The members are in the order of the step's peers.
  static void collects(const Moment&, const Member& /*mine*/, std::span<const Member> /*members*/) {}
  static void returns(const Moment&) {}
  // The rank returns without having drained the message of that send, received what it expected, or collected what it delegated.
  static void abandons(const Moment&, const Moment& /*begun*/) {}

  static bool is_due(const Moment&) { return true; }    // false: the rank gives this to the wire later, when it is woken
  static Mark gives(const Moment&) { return {}; }       // what the step's signal carries
  static bool pauses(const Moment&) { return false; }   // true: the rank goes no further until it is woken
  static bool idles() { return false; }                 // nobody can go on; true: somebody was woken
};

template <class Reader>
class Walk {
 public:
  using Mark = typename Reader::Mark;

  Walk(const Script& script, Reader& reader);

  // Returns false if the walk is stuck or the reader has enough.
  bool run();
  // Lets a rank that pauses go on.
  void wake(int rank) { ready_.add(rank); }

  // For a walk that is stuck: a rank that waits, at which step, and for whom.
  struct Waiting {
    Moment moment;
    int waits_for;
  };
  // Returns a chain in which each rank waits for the next. It begins with the first rank that has not returned. Its
  // last rank waits for a rank that has returned, or for one that is in the chain already.
  [[nodiscard]] std::vector<Waiting> chain() const;
  [[nodiscard]] bool has_returned(int rank) const { return ranks_[at(rank)].call == calls_; }
  // Visits the messages that were sent and never received.
  template <class Visit>  // (what was sent, and when)
  void each_lost(Visit&& visit) const {
    for (const Message& message : wire_.messages())
      if (!message.received) visit(message.sent);
  }

 private:
  struct Post {
    bool posted = false, published = false;
    std::int32_t awaited = 0;  // how often it was awaited
    Mark mark{};
  };
  struct Message {
    Moment sent;
    bool received;
    std::int32_t next;  // next message of its channel
    Mark mark;
  };
  // The messages on their way, and those that were sent and not yet drained. A message has a number.
  class Wire {
   public:
    explicit Wire(int ranks) : ranks_(at(ranks)) {}

    [[nodiscard]] std::size_t next_number() const { return free_.empty() ? messages_.size() : free_.back(); }
    [[nodiscard]] Message& message(std::size_t number) { return messages_[number]; }
    [[nodiscard]] const std::vector<Message>& messages() const { return messages_; }
    void add(const Moment& now, const Mark& mark) {  // under the next number
      const std::size_t index = next_number();
      if (free_.empty()) {
        messages_.emplace_back();
      } else {
        free_.pop_back();
      }
      messages_[index] = {now, false, -1, mark};
      Channel& channel = channel_of(now.rank, now.step->peer, now.step->area);
      const auto number = static_cast<std::int32_t>(index);
      (channel.first < 0 ? channel.first : messages_[at(channel.last)].next) = number;
      channel.last = number;
      if (!now.step->more) channel.unfinished = -1;
      if (now.step->more && channel.unfinished < 0) channel.unfinished = number;
    }
    // Returns the number of the next message of this channel, or -1 if none has come as a whole.
    [[nodiscard]] std::int32_t take(int from, int to, int area) {
      Channel& channel = channel_of(from, to, area);
      const std::int32_t number = channel.first;
      if (number == channel.unfinished) return -1;  // both -1: there is no message
      channel.first = messages_[at(number)].next;
      messages_[at(number)].received = true;
      return number;
    }
    void free(std::size_t number) { free_.push_back(number); }

   private:
    struct Channel {
      std::int32_t first = -1, last = -1;  // the messages on their way, or parts of them
      std::int32_t unfinished = -1;        // the first part of a message that goes on
    };
    [[nodiscard]] Channel& channel_of(int from, int to, int area) {
      const auto [number, fresh] = channel_numbers_.of((at(from) * ranks_ + at(to)) * plan::kAreas + at(area));
      if (fresh) channels_.emplace_back();
      return channels_[number];
    }

    std::size_t ranks_;
    std::vector<Message> messages_;
    std::vector<std::size_t> free_;  // numbers of messages that were received and drained
    Numbers channel_numbers_;
    std::vector<Channel> channels_;
  };
  // Collectives of the wire's own. Their members are known by the first of them, and number what they delegate alike.
  struct Meeting {
    std::vector<Member> members;
    std::vector<Mark> marks;
    std::size_t left = 0;  // members that have collected
  };
  struct Joined {
    int first_member;
    std::size_t meeting, place;
  };
  // What a rank expects, in the order in which it was expected. Messages usually come in that order. A rank may expect one from
  // every other rank, so the first number is removed without moving the others.
  class Queue {
   public:
    [[nodiscard]] auto begin() { return numbers_.begin() + first_; }
    [[nodiscard]] auto end() { return numbers_.end(); }
    [[nodiscard]] bool empty() const { return numbers_.empty(); }
    void add(std::size_t number) { numbers_.push_back(number); }
    void remove(std::vector<std::size_t>::iterator number) {
      if (number != begin()) {
        numbers_.erase(number);
      } else if (++first_ == std::ssize(numbers_)) {
        clear();
      }
    }
    void clear() {
      numbers_.clear();
      first_ = 0;
    }

   private:
    std::vector<std::size_t> numbers_;
    std::ptrdiff_t first_ = 0;  // those before it have come
  };
  // A ring: every rank is in it once, or waits, or pauses, or has returned.
  class Ready {
   public:
    explicit Ready(std::size_t ranks) : ranks_(ranks) {}
    [[nodiscard]] bool empty() const { return first_ == last_; }
    void add(int rank) { ranks_[last_++ % ranks_.size()] = rank; }
    int take() { return ranks_[first_++ % ranks_.size()]; }

   private:
    std::vector<int> ranks_;
    std::size_t first_ = 0, last_ = 0;
  };
  struct Rank : Cursor {
    int waits_for = -1;  // the rank whose step this one needs
    std::size_t passed = 0;  // for an acquire that waits: the peers before this one are done
    Ticket progress = 0;
    int first_waiting = -1, last_waiting = -1;  // ranks that wait for this one
    int next_waiting = -1;  // the next rank that waits for the same one
    bool receiving = false;  // it waits for a message: only the send wakes it, not every step of the sender
    bool paused = false;
    std::vector<std::size_t> undrained;
    Queue expected;
    std::vector<Joined> delegated;
    std::map<int, std::size_t> meetings;  // how many it has joined, by the first member
  };
  // What ranks expect. Each has a number.
  class Expected {
   public:
    [[nodiscard]] std::size_t add(const Moment& now) {
      if (free_.empty()) {
        moments_.push_back(now);
        return moments_.size() - 1;
      }
      const std::size_t number = free_.back();
      free_.pop_back();
      moments_[number] = now;
      return number;
    }
    [[nodiscard]] const Moment& of(std::size_t number) const { return moments_[number]; }
    void free(std::size_t number) { free_.push_back(number); }

   private:
    std::vector<Moment> moments_;
    std::vector<std::size_t> free_;
  };
  // A rank's post on an area and portion, and how often it will be awaited. It is null if the call has no such post.
  struct Awaited {
    Post* post;
    std::int32_t times;
  };

  void go(int rank);
  // Each function does nothing and returns false if the rank must wait (waits_for says for whom).
  bool advance(int rank);
  void enter(Rank& me, const Moment& now);
  void leave(Rank& me, const Moment& now);
  bool execute(Rank& me, const Moment& now);
  void start(const Moment& now) {  // takes a step that waits for no signal
    reader_.begins(now);
    reader_.acts(now);
  }
  bool acquire(Rank& me, const Moment& now);
  bool await(Rank& me, const Moment& now);
  bool await_done(Rank& me, const Moment& now);
  void expect(Rank& me, const Moment& now);
  bool receive(Rank& me, const Moment& now);
  bool drain(Rank& me, const Moment& now);
  void delegate(Rank& me, const Moment& now);
  bool collect(Rank& me, const Moment& now);
  void post(const Moment& now);
  void done(Rank& me, const Moment& now);
  void send(Rank& me, const Moment& now);

  Awaited post_of(int rank, const plan::Step& step, Ticket ticket, std::size_t call);
  // Returns the progress that `done` and `await_done` mean here: past this fragment in a loop, past all of them otherwise.
  [[nodiscard]] Ticket passed(const Moment& now) const {
    const Act& act = script_.act(now.call);
    return now.section->loop ? now.ticket + 1 : act.first + act.fragments;
  }
  // Returns the signal of the step that brought the rank's progress this far, or null if no step has done so yet.
  [[nodiscard]] const Mark* progress_of(int rank, Ticket needed) const {
    if (ranks_[at(rank)].progress < needed) return nullptr;
    return &reached_[at(rank) * static_cast<std::size_t>(script_.tickets() + 1) + static_cast<std::size_t>(needed)];
  }
  [[nodiscard]] int lateness(const Moment& now) const {
    const Replacement* replacement = script_.subject().replacement;
    if (replacement == nullptr || replacement->late_step < 0 || replacement->rank != now.rank) return 0;
    if (now.plan != &replacement->plan || now.step - now.plan->steps.data() != replacement->late_step) return 0;
    return replacement->late_by;
  }

  const Script& script_;
  Reader& reader_;
  std::size_t calls_;  // number of calls
  std::vector<Rank> ranks_;
  Ready ready_;
  std::vector<Post> posts_;
  std::vector<Mark> reached_;  // [rank][progress]
  Wire wire_;
  Expected expected_;
  std::map<int, std::vector<Meeting>> meetings_;  // by the first member
  std::size_t delegations_ = 0;
};

template <class Reader>
Walk<Reader>::Walk(const Script& script, Reader& reader)
    : script_(script), reader_(reader), calls_(script.calls()), ranks_(at(script.ranks())), ready_(ranks_.size()),
      posts_(script.posts()), reached_(ranks_.size() * static_cast<std::size_t>(script.tickets() + 1)), wire_(script.ranks()) {}

// ---- Whose turn it is ------------------------------------------------------------------------------------

template <class Reader>
bool Walk<Reader>::run() {
  for (int rank = 0; rank < script_.ranks(); ++rank) wake(rank);
  do {
    while (!ready_.empty() && !reader_.enough()) go(ready_.take());
  } while (!reader_.enough() && reader_.idles());
  return !reader_.enough() && std::all_of(ranks_.begin(), ranks_.end(), [&](const Rank& rank) { return rank.call == calls_; });
}

template <class Reader>
void Walk<Reader>::go(int rank) {
  Rank& me = ranks_[at(rank)];
  bool moved = false;
  me.paused = false;
  while (!me.paused && !reader_.enough() && advance(rank)) moved = true;
  if (me.waits_for >= 0 && !me.receiving) {
    Rank& other = ranks_[at(me.waits_for)];
    me.next_waiting = -1;
    (other.first_waiting < 0 ? other.first_waiting : ranks_[at(other.last_waiting)].next_waiting) = rank;
    other.last_waiting = rank;
  }
  if (!moved) return;
  for (int next = me.first_waiting; next >= 0; next = ranks_[at(next)].next_waiting) wake(next);
  me.first_waiting = -1;
}

template <class Reader>
bool Walk<Reader>::advance(int rank) {
  Rank& me = ranks_[at(rank)];
  me.waits_for = -1;
  if (me.call == calls_) return false;
  Moment now{rank, me.call, me.plan};
  if (me.plan == nullptr) {
    enter(me, now);
    return true;
  }
  now.step = upcoming(me, now.fragment);
  if (now.step == nullptr) {
    now.fragment = 0;
    leave(me, now);
    return true;
  }
  now.section = &me.plan->sections[me.section];
  now.ticket = me.first + now.fragment;
  if (!execute(me, now)) return false;
  ++me.step;
  me.paused = reader_.pauses(now);
  return true;
}

template <class Reader>
void Walk<Reader>::enter(Rank& me, const Moment& now) {
  reader_.begins(now);
  reader_.enters(now);
  static_cast<Cursor&>(me) = script_.entered(now.call, now.rank);
}

template <class Reader>
void Walk<Reader>::leave(Rank& me, const Moment& now) {
  reader_.begins(now);
  if (!me.undrained.empty()) reader_.abandons(now, wire_.message(me.undrained.front()).sent);
  me.undrained.clear();
  if (!me.expected.empty()) reader_.abandons(now, expected_.of(*me.expected.begin()));
  me.expected.clear();
  if (!me.delegated.empty()) {
    const Joined& open = me.delegated.front();
    reader_.abandons(now, meetings_[open.first_member][open.meeting].members[open.place].begun);
  }
  me.delegated.clear();
  reader_.returns(now);
  static_cast<Cursor&>(me) = Cursor{now.call + 1};
}

template <class Reader>
std::vector<typename Walk<Reader>::Waiting> Walk<Reader>::chain() const {
  std::vector<Waiting> result;
  std::vector<bool> seen(ranks_.size());
  int rank = 0;
  while (has_returned(rank)) ++rank;
  for (; !seen[at(rank)] && !has_returned(rank); rank = result.back().waits_for) {
    seen[at(rank)] = true;
    const Rank& me = ranks_[at(rank)];
    Moment now{rank, me.call, me.plan, &me.plan->sections[me.section]};
    now.step = &me.plan->steps[now.section->first + me.step];
    now.fragment = now.section->loop ? std::max(me.iteration - now.step->lag, 0) : 0;
    result.push_back({now, me.waits_for});
  }
  return result;
}

// ---- Steps -----------------------------------------------------------------------------------------------

template <class Reader>
bool Walk<Reader>::execute(Rank& me, const Moment& now) {
  switch (now.step->kind) {
    case plan::Kind::acquire: return acquire(me, now);
    case plan::Kind::await: return await(me, now);
    case plan::Kind::await_done: return await_done(me, now);
    case plan::Kind::receive: return receive(me, now);
    case plan::Kind::drain: return drain(me, now);
    case plan::Kind::collect: return collect(me, now);
    case plan::Kind::delegate:
      if (!reader_.is_due(now)) return false;
      start(now);
      delegate(me, now);
      return true;
    case plan::Kind::post:
    case plan::Kind::publish:
      start(now);
      post(now);
      return true;
    case plan::Kind::done:
      start(now);
      done(me, now);
      return true;
    case plan::Kind::copy:
    case plan::Kind::reduce:
      start(now);
      reader_.moves(now);
      return true;
    case plan::Kind::send:
      if (!reader_.is_due(now)) return false;
      start(now);
      send(me, now);
      return true;
    case plan::Kind::expect:
      start(now);
      expect(me, now);
      return true;
  }
  return true;
}

template <class Reader>
bool Walk<Reader>::acquire(Rank& me, const Moment& now) {
  const Case& subject = script_.subject();
  const plan::Space space = now.step->dst.space;
  const bool slot =
      space == plan::Space::slot || (space == plan::Space::ride && ride_of(subject.calls[now.call].rides, now.rank) == Ride::slot);
  const int depth = slot ? std::min(subject.line_depth, subject.slot_depth) : subject.line_depth;
  const Ticket previous = now.ticket - depth - lateness(now);
  // The readers of this call's own use are known. For the use of an earlier call, every rank of the node may be one.
  const bool own = previous >= me.first;
  std::span<const int> readers;
  if (previous >= 0) readers = own ? now.plan->peers_of(*now.step) : script_.near(now.rank);
  for (; me.passed < readers.size(); ++me.passed) {  // a rank that has passed stays so: no second look while this one waits
    if (progress_of(readers[me.passed], previous + 1) != nullptr) continue;
    me.waits_for = readers[me.passed];
    return false;
  }
  me.passed = 0;
  reader_.begins(now);
  for (const int reader : readers) reader_.hears(now, *progress_of(reader, previous + 1));
  reader_.acts(now);
  return true;
}

template <class Reader>
typename Walk<Reader>::Awaited Walk<Reader>::post_of(int rank, const plan::Step& step, Ticket ticket, std::size_t call) {
  const Act& act = script_.act(call);
  const Cast& cast = script_.cast_of(call);
  const std::size_t which = cast.post_of(rank, step);
  if (which == Cast::kNone) return {};
  const auto fragments = at(act.fragments), fragment = static_cast<std::size_t>(ticket - act.first);
  Awaited result{&posts_[act.first_post + which * fragments + fragment], 0};
  if (cast.awaited.empty()) return result;
  result.times = (fragment + 1 < fragments ? cast.awaited : cast.awaited_last)[which];
  if (fragment == 0) result.times += cast.awaited_once[which];
  return result;
}

template <class Reader>
bool Walk<Reader>::await(Rank& me, const Moment& now) {
  const Ticket ticket = now.ticket - lateness(now);
  Awaited awaited{};
  if (ticket >= 0) {
    std::size_t call = now.call;
    for (Ticket first = me.first; first > ticket; first = script_.act(call).first) --call;
    awaited = post_of(now.step->peer, *now.step, ticket, call);
    if (awaited.post == nullptr || !awaited.post->posted) {
      me.waits_for = now.step->peer;
      return false;
    }
  }
  reader_.begins(now);
  Post* const post = awaited.post;
  if (post != nullptr) {
    reader_.hears(now, post->mark);
    if (++post->awaited == awaited.times) reader_.forgets(post->mark);
  }
  reader_.acts(now);
  if (post != nullptr) reader_.awaits(now, ticket, post->published);
  return true;
}

template <class Reader>
bool Walk<Reader>::await_done(Rank& me, const Moment& now) {
  const Ticket needed = passed(now) - lateness(now);
  const Mark* const signal = needed > 0 ? progress_of(now.step->peer, needed) : nullptr;
  if (needed > 0 && signal == nullptr) {
    me.waits_for = now.step->peer;
    return false;
  }
  reader_.begins(now);
  if (signal != nullptr) reader_.hears(now, *signal);
  reader_.acts(now);
  return true;
}

template <class Reader>
void Walk<Reader>::post(const Moment& now) {
  if (!reader_.posts(now)) return;
  *post_of(now.rank, *now.step, now.ticket, now.call).post = {true, now.step->kind == plan::Kind::publish, 0, reader_.gives(now)};
}

template <class Reader>
void Walk<Reader>::done(Rank& me, const Moment& now) {
  const Ticket value = passed(now);
  if (me.progress > value) return reader_.goes_back(now, value);
  if (me.progress == value) return;
  Mark* const reached = &reached_[at(now.rank) * static_cast<std::size_t>(script_.tickets() + 1)];
  std::fill(reached + me.progress + 1, reached + value + 1, reader_.gives(now));
  me.progress = value;
}

// ---- The wire --------------------------------------------------------------------------------------------

template <class Reader>
void Walk<Reader>::send(Rank& me, const Moment& now) {
  const std::size_t number = wire_.next_number();
  if (!reader_.sends(now, number)) return;
  wire_.add(now, reader_.gives(now));
  me.undrained.push_back(number);
  Rank& receiver = ranks_[at(now.step->peer)];
  if (!receiver.receiving || receiver.waits_for != now.rank) return;
  receiver.receiving = false;
  wake(now.step->peer);
}

template <class Reader>
void Walk<Reader>::expect(Rank& me, const Moment& now) {
  const std::size_t number = expected_.add(now);
  me.expected.add(number);
  reader_.expects(now, number);
}

// Several receives take the parts of a message, one after the other. The message was expected as a whole.
template <class Reader>
bool Walk<Reader>::receive(Rank& me, const Moment& now) {
  const plan::Step& step = *now.step;
  const auto expected = std::find_if(me.expected.begin(), me.expected.end(), [&](std::size_t index) {
    const plan::Step& other = *expected_.of(index).step;
    return other.peer == step.peer && other.area == step.area;
  });
  const bool right = expected != me.expected.end() && expected_.of(*expected).call == now.call &&
                     expected_.of(*expected).ticket == now.ticket && expected_.of(*expected).step->portion == step.portion;
  if (!right) reader_.surprises(now);
  const std::int32_t number = wire_.take(now.step->peer, now.rank, now.step->area);
  if (number < 0) {
    me.waits_for = now.step->peer;
    me.receiving = true;
    return false;
  }
  Message& message = wire_.message(at(number));
  reader_.begins(now);
  reader_.hears(now, message.mark);
  reader_.acts(now);
  if (right) reader_.receives(now, *expected, at(number), message.sent, message.mark);
  reader_.forgets(message.mark);
  if (!right || step.more) return true;
  expected_.free(*expected);
  me.expected.remove(expected);
  return true;
}

template <class Reader>
bool Walk<Reader>::drain(Rank& me, const Moment& now) {
  const Ticket last = passed(now);
  const auto drains = [&](std::size_t index) {
    const Moment& sent = wire_.message(index).sent;
    return sent.step->area == now.step->area && sent.ticket < last;
  };
  for (const std::size_t index : me.undrained) {
    if (!drains(index) || wire_.message(index).received) continue;
    me.waits_for = wire_.message(index).sent.step->peer;
    return false;
  }
  start(now);
  std::size_t kept = 0;
  for (const std::size_t index : me.undrained) {
    if (!drains(index)) {
      me.undrained[kept++] = index;
      continue;
    }
    wire_.free(index);
    reader_.drains(now, index, wire_.message(index).sent);
  }
  me.undrained.resize(kept);
  return true;
}

// ---- Collectives of the wire's own -----------------------------------------------------------------------

template <class Reader>
void Walk<Reader>::delegate(Rank& me, const Moment& now) {
  const auto peers = now.plan->peers_of(*now.step);
  std::vector<Meeting>& meetings = meetings_[peers.front()];
  const Joined joined{peers.front(), me.meetings[peers.front()]++,
                      at(std::find(peers.begin(), peers.end(), now.rank) - peers.begin())};
  if (joined.meeting == meetings.size()) meetings.push_back({std::vector<Member>(peers.size()), std::vector<Mark>(peers.size())});
  Meeting& meeting = meetings[joined.meeting];
  const auto first = std::find_if(meeting.members.begin(), meeting.members.end(),
                                  [](const Member& member) { return member.begun.step != nullptr; });
  if (first != meeting.members.end()) {
    const Moment& other = first->begun;
    const bool alike = other.call == now.call && other.ticket == now.ticket && other.step->area == now.step->area &&
                       other.step->peer == now.step->peer &&
                       plan::delegation_of(*other.step, other.rank) == plan::delegation_of(*now.step, now.rank);
    if (!alike) reader_.disagrees(now, other);
  }
  meeting.members[joined.place] = {now, delegations_++};
  reader_.delegates(now, meeting.members[joined.place].number);
  meeting.marks[joined.place] = reader_.gives(now);
  me.delegated.push_back(joined);
}

// Nobody goes on before all members have come, although an MPI may let them: that is the worst case for deadlock. But a rank learns
// only from those whose data come to it.
template <class Reader>
bool Walk<Reader>::collect(Rank& me, const Moment& now) {
  const auto meeting_of = [&](const Joined& joined) -> Meeting& { return meetings_[joined.first_member][joined.meeting]; };
  const auto open = std::find_if(me.delegated.begin(), me.delegated.end(), [&](const Joined& joined) {
    const Moment& begun = meeting_of(joined).members[joined.place].begun;
    return begun.call == now.call && begun.ticket == now.ticket && begun.step->area == now.step->area;
  });
  if (open == me.delegated.end()) {
    start(now);
    reader_.surprises(now);
    return true;
  }
  Meeting& meeting = meeting_of(*open);
  const auto peers = now.plan->peers_of(*now.step);
  for (std::size_t place = 0; place < meeting.members.size(); ++place) {
    if (meeting.members[place].begun.step != nullptr) continue;
    me.waits_for = peers[place];
    return false;
  }
  const Member& mine = meeting.members[open->place];
  const bool takes = mine.begun.step->dst.space != plan::Space::none || mine.begun.step->peer < 0;
  const bool broadcasts = plan::delegation_of(*mine.begun.step, now.rank) == plan::Delegation::broadcast;
  reader_.begins(now);
  for (std::size_t place = 0; place < meeting.members.size() && takes; ++place)
    if (place != open->place && (!broadcasts || peers[place] == mine.begun.step->peer)) reader_.hears(now, meeting.marks[place]);
  reader_.acts(now);
  reader_.collects(now, mine, meeting.members);
  if (++meeting.left == meeting.members.size())
    for (const Mark& mark : meeting.marks) reader_.forgets(mark);
  me.delegated.erase(open);
  return true;
}

}  // namespace copse::analysis
