// The builder: an algorithm says who gives what to whom, and the builder lowers this to steps.
//
// An algorithm speaks of values that are given on areas. One side calls `give` (or `open`, then reduces into the value, then
// `post`), and the other side calls `take`. `reclaim` is for buffers that others must not touch after the return. The carrier
// decides how a value travels:
//
//   line   in the payload of the signal itself (messages up to kLinePayloadBytes)
//   slot   through a slot of the giver (staged: a double copy, but both sides work at once)
//   get    the taker reads the giver's own buffer (pull, one-sided: NUMACol 3; KNEM IV)
//   put    the giver writes the taker's output (push)
//
// A giver and a taker on different nodes use the wire instead, whatever the carrier, so that every algorithm works across
// nodes.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <unordered_set>
#include <utility>
#include <vector>

#include "plan/plan.hpp"
#include "plan/rank_list.hpp"

namespace copse::plan {

inline constexpr int kScratches = 65535;  // scratches are numbered below this

enum class Carrier : std::uint8_t { line, slot, get, put };
inline constexpr int kCarriers = 4;
[[nodiscard]] const char* name_of(Carrier carrier);

// Thrown if an algorithm wants more of something, areas for instance, than the language has numbers for.
struct Exhausted : std::invalid_argument {
  Exhausted(const char* what, std::size_t there_are);
};

// What holds on every rank alike.
struct Terms {
  // When buffers may be touched. With Sync::none, ranks do not tell one another that they are there, or that they are done with a
  // buffer.
  Modes modes;
  // Input and output are never one memory. Otherwise the output is not written before what is sent from that part of the input has
  // left.
  bool apart = false;
};

// Many fields: an algorithm says one fact after the other, and the builder keeps each until the plan is finished.
class Builder {
 public:
  // `nodes[r]` is the node of rank r. Ranks share memory exactly when their nodes are equal. If `nodes` is empty, there is
  // one node. The list is not copied.
  Builder(int rank, int ranks, Carrier carrier, std::span<const std::int32_t> nodes, const Contents& contents = {},
          const Terms& terms = {});

  // These begin a section. Steps before the first call of either are a once-section.
  void once();
  void loop(LoopFragments fragments = LoopFragments::all);
  // The following steps in this loop work on the fragment of `iterations` ago (0 <= lag < slot depth).
  void lag(int iterations);
  // What is given or taken from now on, until a lag or section begins, is portion `number` (0 and up) of its area's value.
  // Portions are posted in their order and have different chunks of the fragment.
  void portion(int number);

  // Says, on every rank alike, that nobody passes on what it takes on this area. With Sync::none at the return, put then tells
  // nobody that a value has come.
  void ends_on(int area) { ends_on_ |= 1U << area; }
  // Says, on every rank alike, that some ranks keep partial results in slots, whatever the carrier.
  void keep_in_slots() { plan_.slots = true; }
  // Says that some ranks give from their scratch, which then holds whole messages: under get, readers read it there for as
  // long as they like. All ranks must say so.
  void give_from_scratch() { plan_.whole_scratch |= carrier_ == Carrier::get; }
  // Says that some ranks are given values into their scratch, which under put then holds whole messages. All ranks must say
  // so. `scratches` is how many the rank with the most of them needs.
  void put_into_scratch(int scratches = 1) {
    if (carrier_ != Carrier::put) return;
    plan_.whole_scratch = true;
    if (scratches > kScratches) throw Exhausted("scratches", kScratches);
  }
  // Says how many areas the plan of some rank needs, where that grows with the number of ranks. All ranks must say so, and
  // thus find out together if there are not enough. Throws Exhausted.
  static void need_areas(int areas);
  // Says that values of up to this many blocks are given at a time. All ranks must say so, with the same number for every
  // root. In a message that is not made of blocks, it has no effect: a slot holds a fragment, and so all tiles of it.
  void pack(std::uint32_t blocks) {
    if (plan_.contents.blocks > 0) plan_.pack = std::max(plan_.pack, blocks);
  }

  // Operands.
  [[nodiscard]] static Operand input(Range range = {}) { return {Space::input, 0, -1, range}; }
  [[nodiscard]] static Operand output(Range range = {}) { return {Space::output, 0, -1, range}; }
  [[nodiscard]] Operand scratch(int number, Range range = {});
  // Returns an operand for a slot whose rank and area follow from who gives or takes it.
  [[nodiscard]] static constexpr Operand in_slot(Range range = {}) { return {Space::slot, 0, -1, range}; }
  // Returns an operand for the scratch of a peer.
  [[nodiscard]] static Operand scratch_of_peer(int number, Range range);
  // Returns blocks of a scratch that begins with block `origin`.
  [[nodiscard]] Operand scratch(int number, Range range, std::uint32_t origin);

  // Giving. `open` waits until the value of this ticket may be written and says where: in the line, in the slot, or (get) in
  // `home`. That is the output or, if a rank has no output to spare, a slot or scratch. `post` then lets `readers` have the
  // value. An input is never copied when its takers can read it in place.
  [[nodiscard]] Operand open(int area, std::span<const std::int32_t> readers, Operand home);
  void post(int area, std::span<const std::int32_t> readers, Operand value);
  // Gives several parts at once, packed in one line or slot. values[i] is for readers[i], and a reader may be named for
  // several. `homes[i]` is where it is put at the reader, which the taker must say, too: a scratch, or the output if there
  // are no homes.
  void post(int area, std::span<const std::int32_t> readers, std::span<const Operand> values, std::span<const Operand> homes = {});
  void give(int area, std::span<const std::int32_t> readers, Operand value);
  // These are for one reader, which takes the value to `there`. Under put, the value is opened there.
  void give(int area, std::int32_t reader, Operand value, Operand there);
  [[nodiscard]] Operand open(int area, std::int32_t reader, Operand home, Operand there);

  // Giving in parts. Reader i gets parts[i] of `value` and takes it as that part. A reader may be named for several. The
  // value is all that the area gives: a line or slot keeps the parts of earlier portions. `homes` are as above.
  void give_parts(int area, std::span<const std::int32_t> readers, std::span<const Range> parts, Operand value,
                  std::span<const Operand> homes = {});

  // Shares the input in parts. Under get and put it is read where it lies, so `take_part` waits for nothing but the address.
  void share_input(int area, std::span<const std::int32_t> readers, std::span<const Range> parts);
  [[nodiscard]] Operand take_part(int area, int from, Range part, Operand home);

  // One-sided access, whatever the carrier, between ranks that share memory. An owner exposes its output, and a peer writes
  // there. The owner learns from a signal or a post when that is done.
  [[nodiscard]] bool shares_memory_with(int peer) const { return local(peer); }
  void expose_output() { in_place_.published = true; }
  [[nodiscard]] Operand output_of(int peer, Range range = {}) { return at_peer(peer, output(range)); }
  // Tells whether a value between this rank and `peer` lies in its taker's memory when it is posted.
  [[nodiscard]] bool puts(int peer) const { return carrier_ == Carrier::put && local(peer); }
  // Tells whether a value between this rank and `peer` is copied into a line or slot.
  [[nodiscard]] bool stages(int peer) const { return (carrier_ == Carrier::line || carrier_ == Carrier::slot) && local(peer); }

  // Taking. Waits for the value that `from` gives on `area`, and says where it lies. `as` is what `from` gave (input, output,
  // scratch or slot). Its range is the part that is wanted. `home` is where the wire, or a put, shall leave the value. `given` is
  // all blocks that were given together, if these are more than the wanted ones. Parts of a value are taken one after the other.
  [[nodiscard]] Operand take(int area, int from, Operand as, Operand home) { return take(area, from, as, home, as.range); }
  [[nodiscard]] Operand take(int area, int from, Operand as, Operand home, Range given);
  // Takes a value, and copies it to `home` unless it lies there.
  void bring(int area, int from, Operand as, Operand home) { bring(area, from, as, home, as.range); }
  void bring(int area, int from, Operand as, Operand home, Range given) { copy(home, take(area, from, as, home, given)); }

  // Waits before the return until nobody reads this rank's buffers any more. It is needed where takers are not known to be
  // done in another way (the checker knows). Only get reads buffers in place, so nothing is emitted for the other carriers.
  void reclaim(std::span<const std::int32_t> readers);
  // Like reclaim(), but for a shared input, which put also reads in place.
  void reclaim_input(std::span<const std::int32_t> readers);

  // Riding, for blocks whose length only their giver and their taker know. `readers` take their parts of these blocks of the
  // input, which ride in that order. The carrier says what becomes of blocks that do not ride:
  //   get    each reader reads its block where it lies. Readers share memory with this rank. A rank that neither gives nor takes
  //          says so with no readers.
  //   put    the giver writes its one block into the output of its one reader, which calls expose_output(). A reader on another
  //          node gets the block by the wire, in any case. Throws std::invalid_argument unless there is one of each.
  //   slot   they stay where they are, and then nothing is moved on any rank. All ranks give and take.
  void ride(std::span<const std::int32_t> readers, std::span<const Range> blocks);
  // Takes a block that `from` gives to the output. The block follows `number` others.
  void take_ride(int from, Range block, std::uint32_t number = 0);
  // For slot: a copy that takes place only if all blocks of all ranks ride.
  void copy_if_all_ride(Operand dst, Operand src);

  void copy(Operand dst, Operand src);  // emits nothing if they are the same place
  void reduce(Operand dst, Operand a, Operand b, Operand dst2 = {});

  // Signals without data, for barriers, whatever the carrier.
  void signal(int area, std::span<const std::int32_t> readers);
  void await_signal(int area, int from);

  // Starts a collective of the wire's own among `members`: one rank of each node, in ascending order, with this rank among them.
  // `dst` gets the result that the collective makes of the `a` of all members. With a root, either all members give and only the
  // root has a result, or only the root gives. If there is one member, nothing is emitted but a copy of `a`. collect() waits for
  // the collective that was delegated last on the area. Until then, `a` must not change, and `dst` must not be touched.
  void delegate(int area, std::span<const std::int32_t> members, Operand dst, Operand a, int root = -1);
  void collect(int area);

  // Returns the plan. Inserts each `done` where it belongs. Where anything crosses the wire, adds what posts receives ahead
  // (ahead.hpp) and drains what was sent.
  [[nodiscard]] Plan finish();

 private:
  struct Draft {  // a section under construction
    bool loop = false;
    LoopFragments fragments = LoopFragments::all;
    std::uint8_t max_lag = 0;
    bool takes = false;
    std::vector<Step> steps;
    std::vector<Step> undrained;  // sends that were not waited for
    std::vector<std::pair<std::size_t, RankList>> acquires;  // acquire steps, and who reads what they guard
    std::unordered_set<std::uint64_t> awaits;  // what the first `indexed` steps await (see awaited())
    std::size_t indexed = 0;
    std::array<std::vector<bool>, kAreas> staged;  // by area, the chunks given in parts that lie in this rank's line or slot
  };

  Step& emit(Kind kind, int area = 0, int peer = -1);
  Draft& draft();
  [[nodiscard]] bool local(int peer) const;
  [[nodiscard]] std::vector<std::int32_t> locals(std::span<const std::int32_t> peers) const;
  void acquire(int area, std::span<const std::int32_t> readers, Space space);
  void send_to_remote(int area, std::span<const std::int32_t> readers, std::span<const Operand> values);
  void touch(int peer);
  [[nodiscard]] bool quiet(int area) const {
    return carrier_ == Carrier::put && terms_.modes.out == Sync::none && (ends_on_ >> area & 1U) != 0;
  }
  [[nodiscard]] Operand at_peer(int peer, Operand home);
  void drain_before_writing(const Operand& target);
  void use_area(int area);
  [[nodiscard]] bool awaited(int area, int from);
  [[nodiscard]] std::uint32_t origin_of(const Range& range) const { return plan_.contents.blocks > 0 ? range.first : 0; }
  [[nodiscard]] Range whole_input(int owner) const;
  void publish_with(std::span<const Range> blocks, std::span<const std::int32_t> readers);
  void write_unless_it_rides(std::int32_t reader, Range block);
  [[nodiscard]] static Operand ridden(int giver, Range range, std::uint32_t number);
  void mark_last_copies();
  void join_messages();
  void exchange_addresses();
  void settle(Draft& section, bool is_last);
  void append(Draft& section);

  int rank_;
  Carrier carrier_;
  std::span<const std::int32_t> nodes_;
  Plan plan_;
  std::vector<Draft> drafts_;
  std::uint8_t lag_ = 0;
  std::uint16_t portion_ = 0;
  Terms terms_;
  std::uint32_t ends_on_ = 0;  // set of areas
  bool publishing_ = false;  // steps on the area of publications are the builder's own now
  std::vector<Step> if_all_ride_;  // copies that come behind all awaits
  struct InPlace {  // what ranks do in each other's buffers
    bool published = false;  // somebody touches this rank's buffers
    RankList touched;  // ranks whose buffers this rank touches
    RankList reclaim_from;  // ranks that are awaited at the end
    std::vector<std::int32_t> reclaim_unless_ride;  // ranks that are awaited at the end if this rank's value does not ride
    std::vector<Operand> read;  // parts of this rank's output that others read
  } in_place_;
};

}  // namespace copse::plan
