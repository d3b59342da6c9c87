// Lowers gives and takes to steps, carrier by carrier (see builder.hpp).
#include "plan/builder.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <tuple>

#include "plan/ahead.hpp"
#include "plan/overlap.hpp"

namespace copse::plan {

const char* name_of(Carrier carrier) {
  switch (carrier) {
    case Carrier::line: return "line";
    case Carrier::slot: return "slot";
    case Carrier::get: return "get";
    case Carrier::put: return "put";
  }
  return "?";
}

Exhausted::Exhausted(const char* what, std::size_t there_are)
    : std::invalid_argument(std::string("its plan needs more ") + what + " than the " + std::to_string(there_are) + " there are") {}

Builder::Builder(int rank, int ranks, Carrier carrier, std::span<const std::int32_t> nodes, const Contents& contents,
                 const Terms& terms)
    : rank_(rank), carrier_(carrier), nodes_(nodes), terms_(terms) {
  plan_.rank = rank;
  plan_.ranks = ranks;
  plan_.one_fragment = carrier == Carrier::line;
  plan_.slots = carrier == Carrier::slot;
  plan_.contents = contents;
}

bool Builder::local(int peer) const { return nodes_.empty() || nodes_[peer] == nodes_[rank_]; }

std::vector<std::int32_t> Builder::locals(std::span<const std::int32_t> peers) const {
  std::vector<std::int32_t> result;
  std::copy_if(peers.begin(), peers.end(), std::back_inserter(result), [this](int peer) { return local(peer); });
  return result;
}

Builder::Draft& Builder::draft() {
  if (drafts_.empty()) drafts_.emplace_back();
  return drafts_.back();
}

void Builder::once() {
  drafts_.emplace_back();
  lag_ = 0;
  portion_ = 0;
}

void Builder::loop(LoopFragments fragments) {
  drafts_.emplace_back().loop = true;
  drafts_.back().fragments = fragments;
  lag_ = 0;
  portion_ = 0;
}

void Builder::portion(int number) {
  if (number < 0) throw std::invalid_argument("plan: portions are numbered from 0");
  if (number >= kPortions) throw Exhausted("portions of a value", kPortions);
  portion_ = static_cast<std::uint16_t>(number);
}

void Builder::lag(int iterations) {
  portion_ = 0;
  lag_ = static_cast<std::uint8_t>(iterations);
  draft().max_lag = std::max(draft().max_lag, lag_);
}

void Builder::need_areas(int areas) {
  if (areas > kPublishArea) throw Exhausted("areas", kPublishArea);
}

void Builder::use_area(int area) {
  if (area < 0) throw std::invalid_argument("plan: areas are numbered from 0");
  if (!publishing_) need_areas(area + 1);
  plan_.areas = std::max<std::uint8_t>(plan_.areas, static_cast<std::uint8_t>(area + 1));
}

Step& Builder::emit(Kind kind, int area, int peer) {
  use_area(area);
  Step step;
  step.kind = kind;
  step.area = static_cast<std::uint8_t>(area);
  step.lag = lag_;
  if (kind == Kind::post || kind == Kind::await || kind == Kind::send || kind == Kind::receive) step.portion = portion_;
  step.peer = peer;
  return draft().steps.emplace_back(step);
}

Operand Builder::scratch(int number, Range range) { return scratch(number, range, origin_of(range)); }

Operand Builder::scratch(int number, Range range, std::uint32_t origin) {
  if (number >= kScratches) throw Exhausted("scratches", kScratches);
  plan_.scratches = std::max(plan_.scratches, static_cast<std::uint16_t>(number + 1));
  return {Space::scratch, static_cast<std::uint16_t>(number), -1, range, origin};
}

Operand Builder::scratch_of_peer(int number, Range range) {
  if (number >= kScratches) throw Exhausted("scratches", kScratches);
  return {Space::scratch, static_cast<std::uint16_t>(number), -1, range};
}

// Returns the blocks in the input of `owner`.
Range Builder::whole_input(int owner) const {
  const auto all = static_cast<std::uint32_t>(plan_.contents.owners(plan_.ranks)), first = static_cast<std::uint32_t>(owner);
  switch (plan_.contents.input) {
    case Extent::own: return {first, 1, all};
    case Extent::all: return {0, all, all};
    case Extent::row: return {first * all, all, all * all};
    default: return {};
  }
}

void Builder::acquire(int area, std::span<const std::int32_t> readers, Space space) {
  // All portions of a value, and all their readers, share one acquire.
  auto& acquires = draft().acquires;
  auto own =
      std::find_if(acquires.begin(), acquires.end(), [&](const auto& each) { return draft().steps[each.first].area == area; });
  if (own == acquires.end()) {
    emit(Kind::acquire, area);
    own = acquires.insert(own, {draft().steps.size() - 1, {}});
  }
  for (const std::int32_t reader : readers) own->second.add(reader);
  Step& step = draft().steps[own->first];
  if (step.dst.space != Space::slot) step.dst = {space, static_cast<std::uint8_t>(area), rank_, {}};
}

Operand Builder::open(int area, std::span<const std::int32_t> readers, Operand home) {
  const auto near = locals(readers);
  const bool staged = home.space == Space::slot || (carrier_ == Carrier::slot && !near.empty());
  if (carrier_ == Carrier::line && !near.empty()) {
    acquire(area, near, Space::line);
    return {Space::line, static_cast<std::uint8_t>(area), rank_, home.range, origin_of(home.range)};
  }
  if (staged) {
    acquire(area, near, Space::slot);
    return {Space::slot, static_cast<std::uint8_t>(area), rank_, home.range, origin_of(home.range)};
  }
  return home;
}

void Builder::send_to_remote(int area, std::span<const std::int32_t> readers, std::span<const Operand> values) {
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (local(readers[i])) continue;
    Step& step = emit(Kind::send, area, readers[i]);
    step.a = values[i];
    auto& undrained = draft().undrained;
    if (undrained.empty() || undrained.back().area != step.area || undrained.back().a != step.a) undrained.push_back(step);
  }
}

void Builder::post(int area, std::span<const std::int32_t> readers, Operand value) {
  post(area, readers, std::vector<Operand>(readers.size(), value));
}

void Builder::post(int area, std::span<const std::int32_t> readers, std::span<const Operand> values,
                   std::span<const Operand> homes) {
  bool near = false;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (!local(readers[i])) continue;
    near = true;
    if (values[i].space == Space::line || values[i].space == Space::slot || values[i].rank == readers[i]) continue;
    if (carrier_ == Carrier::put) copy(at_peer(readers[i], homes.empty() ? output(values[i].range) : homes[i]), values[i]);
    in_place_.published |= carrier_ == Carrier::get;
    if (in_place_.read.empty() || in_place_.read.back() != values[i]) in_place_.read.push_back(values[i]);
  }
  if (near && !quiet(area)) {
    acquire(area, locals(readers), Space::line);
    emit(Kind::post, area);
  }
  send_to_remote(area, readers, values);
}

namespace {

std::vector<Operand> parts_of(Operand whole, std::span<const Range> parts) {
  std::vector<Operand> values;
  for (const Range& part : parts) values.push_back(part_of(whole, part));
  return values;
}

}  // namespace

void Builder::give(int area, std::span<const std::int32_t> readers, Operand value) {
  if (carrier_ == Carrier::get && value.space == Space::input) {
    in_place_.published |= !locals(readers).empty();  // the input is ready when its address is
    send_to_remote(area, readers, std::vector<Operand>(readers.size(), value));
    return;
  }
  const Operand place = carrier_ == Carrier::line || carrier_ == Carrier::slot ? open(area, readers, value) : value;
  copy(place, value);
  post(area, readers, place);
}

Operand Builder::open(int area, std::int32_t reader, Operand home, Operand there) {
  return puts(reader) ? at_peer(reader, there) : open(area, {&reader, 1}, home);
}

void Builder::give(int area, std::int32_t reader, Operand value, Operand there) {
  if (puts(reader)) return post(area, {&reader, 1}, {&value, 1}, {&there, 1});
  give(area, {&reader, 1}, value);
}

void Builder::give_parts(int area, std::span<const std::int32_t> readers, std::span<const Range> parts, Operand value,
                         std::span<const Operand> homes) {
  const auto near = locals(readers);
  if (near.empty() || (carrier_ == Carrier::get && value.space == Space::input)) {
    in_place_.published |= !near.empty();
  } else if (carrier_ == Carrier::put) {
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (local(readers[i])) copy(at_peer(readers[i], homes.empty() ? output(parts[i]) : homes[i]), part_of(value, parts[i]));
    if (!quiet(area)) {
      acquire(area, near, Space::line);
      emit(Kind::post, area);
    }
  } else {
    const Operand place = open(area, near, value);
    std::vector<std::uint32_t> missing;
    auto& staged = draft().staged[static_cast<std::size_t>(area)];
    for (std::size_t i = 0; i < readers.size() && place != value; ++i) {
      if (!local(readers[i])) continue;
      staged.resize(parts[i].of);
      for (std::uint32_t count = 0; count < parts[i].count; ++count) {
        const std::uint32_t chunk = (parts[i].first + count) % parts[i].of;
        if (!staged[chunk]) missing.push_back(chunk);
        staged[chunk] = true;
      }
    }
    std::sort(missing.begin(), missing.end());
    for (std::size_t i = 0; i < missing.size();) {
      Range run{missing[i], 1, parts.front().of};
      while (++i < missing.size() && missing[i] == run.first + run.count) ++run.count;
      copy(part_of(place, run), part_of(value, run));
    }
    post(area, near, place);
  }
  send_to_remote(area, readers, parts_of(value, parts));
}

void Builder::share_input(int area, std::span<const std::int32_t> readers, std::span<const Range> parts) {
  pack(whole_input(rank_).count);
  if (carrier_ != Carrier::put) return give_parts(area, readers, parts, input(whole_input(rank_)));
  in_place_.published |= !locals(readers).empty();
  send_to_remote(area, readers, parts_of(input(), parts));
}

Operand Builder::take_part(int area, int from, Range part, Operand home) {
  pack(whole_input(from).count);
  if (local(from) && carrier_ == Carrier::put) {
    draft().takes = true;
    touch(from);
    return {Space::peer_input, kPublishArea, from, part};
  }
  return take(area, from, input(part), home, whole_input(from));
}

void Builder::drain_before_writing(const Operand& target) {
  std::array<bool, kAreas> drained{};
  auto& undrained = draft().undrained;
  for (std::size_t i = 0; i < undrained.size(); ++i) {
    const std::uint8_t area = undrained[i].area;
    if (drained[area] || !overlap(undrained[i].a, target, terms_.apart)) continue;
    emit(Kind::drain, area);
    drained[area] = true;
  }
  std::erase_if(undrained, [&](const Step& sent) { return drained[sent.area]; });
}

void Builder::touch(int peer) { in_place_.touched.add(peer); }

// A rank that takes from many others would search all its steps each time, so the steps of a long section are indexed.
bool Builder::awaited(int area, int from) {
  constexpr std::size_t kShort = 64;
  auto& steps = draft().steps;
  if (steps.size() < kShort) {
    return std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      return step.kind == Kind::await && step.area == area && step.peer == from && step.portion == portion_ && step.lag == lag_;
    });
  }
  const auto key = [](int peer, std::uint64_t portion, std::uint64_t of_area, std::uint64_t lag) {
    return static_cast<std::uint64_t>(peer) << 32 | portion << 16 | of_area << 8 | lag;
  };
  for (std::size_t& next = draft().indexed; next < steps.size(); ++next) {
    const Step& step = steps[next];
    if (step.kind == Kind::await) draft().awaits.insert(key(step.peer, step.portion, step.area, step.lag));
  }
  return draft().awaits.contains(key(from, portion_, static_cast<std::uint64_t>(area), lag_));
}

Operand Builder::take(int area, int from, Operand as, Operand home, Range given) {
  draft().takes = true;
  if (!local(from)) {
    drain_before_writing(home);
    emit(Kind::receive, area, from).dst = home;
    return home;
  }
  const auto area8 = static_cast<std::uint8_t>(area);
  if (carrier_ == Carrier::get && as.space == Space::input) {
    touch(from);
    return {Space::peer_input, kPublishArea, from, as.range};
  }
  // All parts of a value share one await.
  if (!quiet(area) && !awaited(area, from)) emit(Kind::await, area, from);
  if (carrier_ == Carrier::line) return {Space::line, area8, from, as.range, origin_of(given)};
  if (carrier_ == Carrier::slot || as.space == Space::slot) return {Space::slot, area8, from, as.range, origin_of(given)};
  if (carrier_ == Carrier::put) {
    in_place_.published = true;
    return home;
  }
  touch(from);
  if (as.space == Space::scratch) return {Space::peer_scratch, as.area, from, as.range, as.origin};
  return {Space::peer_output, kPublishArea, from, as.range};
}

// Returns what this rank calls the output or scratch of a peer.
Operand Builder::at_peer(int peer, Operand home) {
  touch(peer);
  if (home.space == Space::scratch) return {Space::peer_scratch, home.area, peer, home.range, home.origin};
  return {Space::peer_output, kPublishArea, peer, home.range};
}

void Builder::reclaim(std::span<const std::int32_t> readers) {
  if (carrier_ == Carrier::get) reclaim_input(readers);
}

void Builder::reclaim_input(std::span<const std::int32_t> readers) {
  if (carrier_ != Carrier::get && carrier_ != Carrier::put) return;
  for (int reader : locals(readers)) in_place_.reclaim_from.add(reader);
}

void Builder::copy(Operand dst, Operand src) {
  if (dst == src) return;
  if (!draft().steps.empty()) {  // a result that is wanted twice is stored twice in one pass
    Step& last = draft().steps.back();
    if (last.kind == Kind::reduce && last.dst == src && last.dst2.space == Space::none && last.lag == lag_ &&
        draft().undrained.empty()) {
      last.dst2 = dst;
      return;
    }
  }
  // If input and output are one memory, that copy does nothing.
  const bool own = dst.space == Space::output && src.space == Space::input && dst.range == src.range;
  if (!own) drain_before_writing(dst);
  Step& step = emit(Kind::copy);
  step.dst = dst;
  step.a = src;
}

void Builder::reduce(Operand dst, Operand a, Operand b, Operand dst2) {
  drain_before_writing(dst);
  if (dst2.space != Space::none) drain_before_writing(dst2);
  Step& step = emit(Kind::reduce);
  step.dst = dst;
  step.dst2 = dst2;
  step.a = a;
  step.b = b;
}

void Builder::signal(int area, std::span<const std::int32_t> readers) {
  const auto near = locals(readers);
  if (!near.empty()) {
    acquire(area, near, Space::line);
    emit(Kind::post, area);
  }
  send_to_remote(area, readers, std::vector<Operand>(readers.size()));
}

void Builder::await_signal(int area, int from) {
  draft().takes = true;
  emit(local(from) ? Kind::await : Kind::receive, area, from);
}

void Builder::delegate(int area, std::span<const std::int32_t> members, Operand dst, Operand a, int root) {
  if (members.size() == 1) {
    if (dst.space != Space::none && a.space != Space::none) copy(dst, a);
    return;
  }
  if (dst.space != Space::none) drain_before_writing(dst);
  Step& step = emit(Kind::delegate, area, root);
  step.dst = dst;
  step.a = a;
  step.peers_first = static_cast<std::uint32_t>(plan_.peers.size());
  step.peers_count = static_cast<std::uint32_t>(members.size());
  plan_.peers.insert(plan_.peers.end(), members.begin(), members.end());
}

void Builder::collect(int area) {
  auto& steps = draft().steps;
  const auto begun = std::find_if(steps.rbegin(), steps.rend(),
                                  [area](const Step& step) { return step.kind == Kind::delegate && step.area == area; });
  if (begun == steps.rend()) return;
  Step step = *begun;
  step.kind = Kind::collect;
  step.lag = lag_;
  draft().takes = true;
  steps.push_back(step);
}

namespace {

class While {
 public:
  explicit While(bool& flag) : flag_(flag) { flag_ = true; }
  ~While() { flag_ = false; }
  While(const While&) = delete;
  While& operator=(const While&) = delete;

 private:
  bool& flag_;
};

Step& only(When when, int whose, Step& step) {
  step.when = when;
  step.whose = whose;
  return step;
}

}  // namespace

// Publishes this rank's addresses and, if they ride, blocks of its input.
void Builder::publish_with(std::span<const Range> blocks, std::span<const std::int32_t> readers) {
  const While own(publishing_);
  acquire(kPublishArea, readers, Space::ride);
  std::uint32_t number = 0;
  for (const Range& range : blocks) {
    Step& load = only(When::rides, rank_, emit(Kind::copy));
    load.dst = ridden(rank_, range, number);
    load.a = input(range);
    number += range.count;
  }
  emit(Kind::publish, kPublishArea);
}

Operand Builder::ridden(int giver, Range range, std::uint32_t number) {
  return {Space::ride, kPublishArea, giver, range, (range.first + range.of - number) % range.of};
}

void Builder::ride(std::span<const std::int32_t> readers, std::span<const Range> blocks) {
  plan_.one_fragment = true;
  plan_.together |= carrier_ == Carrier::slot;
  if (carrier_ == Carrier::put) {
    if (readers.size() != 1 || blocks.size() != 1) throw std::invalid_argument("with put, one block rides to one reader");
    return write_unless_it_rides(readers.front(), blocks.front());
  }
  if (readers.empty()) return;
  publish_with(blocks, readers);
  if (carrier_ == Carrier::get)
    in_place_.reclaim_unless_ride.insert(in_place_.reclaim_unless_ride.end(), readers.begin(), readers.end());
}

void Builder::copy_if_all_ride(Operand dst, Operand src) {
  Step step;
  step.kind = Kind::copy;
  step.dst = dst;
  step.a = src;
  if_all_ride_.push_back(only(When::rides, kEveryone, step));
}

void Builder::write_unless_it_rides(std::int32_t reader, Range block) {
  const Operand value = input(block);
  if (!local(reader)) return send_to_remote(0, {&reader, 1}, {&value, 1});
  draft().takes = true;
  {
    const While own(publishing_);
    only(When::stays, rank_, emit(Kind::await, kPublishArea, reader));
  }
  Step& put = only(When::stays, rank_, emit(Kind::copy));
  put.dst = {Space::peer_output, kPublishArea, reader, block};
  put.a = value;
  publish_with({&block, 1}, {&reader, 1});
}

void Builder::take_ride(int from, Range block, std::uint32_t number) {
  draft().takes = true;
  plan_.one_fragment = true;
  if (!local(from)) {
    emit(Kind::receive, 0, from).dst = output(block);
    return;
  }
  const While own(publishing_);
  emit(Kind::await, kPublishArea, from);
  if (carrier_ == Carrier::slot) return copy_if_all_ride(output(block), ridden(from, block, number));
  const auto copy_from = [&](When when, const Operand& place) {
    Step& step = only(when, from, emit(Kind::copy));
    step.dst = output(block);
    step.a = place;
  };
  copy_from(When::rides, ridden(from, block, number));
  if (carrier_ == Carrier::get) copy_from(When::stays, {Space::peer_input, kPublishArea, from, block});
}

// Marks the copies to the output whose result neither this rank nor another reads there.
void Builder::mark_last_copies() {
  std::vector<Operand> read = in_place_.read;
  for (const Draft& draft : drafts_)
    for (const Step& step : draft.steps)
      for (const Operand& operand : {step.a, step.b})
        if (operand.space == Space::output) read.push_back(operand);
  for (Draft& draft : drafts_)
    for (Step& step : draft.steps)
      step.last = step.kind == Kind::copy && step.dst.space == Space::output &&
                  std::none_of(read.begin(), read.end(), [&](const Operand& each) { return overlap(each, step.dst); });
}

// What a rank gives another as one portion of an area's value crosses the wire as one message. The message is complete when
// its last part is given. It is taken as a whole when its first part is taken.
void Builder::join_messages() {
  const auto has_data = [](const Step& step) { return step.a.space != Space::none || step.dst.space != Space::none; };
  for (Draft& draft : drafts_) {
    std::map<std::tuple<Kind, int, int>, Step*> last;
    for (Step& step : draft.steps) {
      if (step.kind != Kind::send && step.kind != Kind::receive) continue;
      Step*& before = last[{step.kind, step.peer, step.area}];
      if (before != nullptr && before->portion == step.portion && has_data(*before) && has_data(step)) before->more = true;
      before = &step;
    }
  }
}

// Addresses are exchanged in a once-section of its own, before anything else: an await of a publication takes the addresses into
// private memory, so that the line is not read again. A publication also says that its rank has entered. If nobody needs to know
// that, a publication is needed only for the addresses of scratches. If the caller knows where buffers lie, a rank posts only that
// it has entered.
void Builder::exchange_addresses() {
  plan_.placed = terms_.modes.placed && !plan_.whole_scratch;
  if (terms_.modes.in == Sync::none && !plan_.whole_scratch) return;
  if (!in_place_.published && in_place_.touched.empty()) return;
  std::vector<Draft> rest;
  rest.swap(drafts_);
  once();
  if (in_place_.published) {
    acquire(kPublishArea, {}, Space::line);
    emit(plan_.placed ? Kind::post : Kind::publish, kPublishArea);
  }
  for (int peer : in_place_.touched.all()) emit(Kind::await, kPublishArea, peer);
  draft().takes = !in_place_.touched.empty();
  for (auto& later : rest) drafts_.push_back(std::move(later));
}

// Ends a section with the drains and the `done` that its steps still need. What was sent may be overwritten by later iterations
// and by the caller, so it is drained. The last section that takes something from others says that it is done.
void Builder::settle(Draft& section, bool is_last) {
  const auto add = [&section](Kind kind, int lag, int area = 0) {
    Step step;
    step.kind = kind;
    step.area = static_cast<std::uint8_t>(area);
    step.lag = static_cast<std::uint8_t>(lag);
    section.steps.push_back(step);
  };
  const int lag = section.max_lag;
  const int drain_lag = section.loop && !section.undrained.empty() ? lag + kLeftBehind : lag;
  const bool reads_others = std::any_of(section.undrained.begin(), section.undrained.end(),
                                        [this](const Step& sent) { return sent.a.rank >= 0 && sent.a.rank != rank_; });
  if (is_last && !reads_others) add(Kind::done, lag);
  std::array<bool, kAreas> drained{};
  for (const Step& sent : section.undrained)
    if (!std::exchange(drained[sent.area], true)) add(Kind::drain, drain_lag, sent.area);
  if (is_last && reads_others) add(Kind::done, drain_lag);
}

void Builder::append(Draft& section) {
  for (const auto& [at, readers] : section.acquires) {
    section.steps[at].peers_first = static_cast<std::uint32_t>(plan_.peers.size());
    section.steps[at].peers_count = static_cast<std::uint32_t>(readers.all().size());
    plan_.peers.insert(plan_.peers.end(), readers.all().begin(), readers.all().end());
  }
  expect_messages(section.steps, section.loop, {terms_.apart, in_place_.published || !in_place_.read.empty(), plan_.whole_scratch});
  std::uint8_t max_lag = 0;
  bool over_wire = false;
  for (const Step& step : section.steps) {
    max_lag = std::max(max_lag, step.lag);
    over_wire |= step.kind == Kind::send || step.kind == Kind::receive || step.kind == Kind::delegate;
  }
  // A scratch from which a message is sent, or to which it comes, is in use for several iterations.
  if (over_wire && !plan_.whole_scratch && plan_.scratches > 0)
    plan_.scratch_depth = std::max<std::uint8_t>(plan_.scratch_depth, static_cast<std::uint8_t>(max_lag + 1));
  plan_.sections.push_back({section.loop, section.fragments, max_lag, static_cast<std::uint32_t>(plan_.steps.size()),
                            static_cast<std::uint32_t>(section.steps.size())});
  plan_.steps.insert(plan_.steps.end(), section.steps.begin(), section.steps.end());
}

Plan Builder::finish() {
  publishing_ = true;
  if (!if_all_ride_.empty()) draft().steps.insert(draft().steps.end(), if_all_ride_.begin(), if_all_ride_.end());
  mark_last_copies();
  join_messages();
  exchange_addresses();
  draft();
  std::size_t last = drafts_.size() - 1;
  while (last > 0 && !drafts_[last].takes && !drafts_[last].loop) --last;
  for (std::size_t i = 0; i < drafts_.size(); ++i) settle(drafts_[i], i == last);
  // The caller does not touch buffers that others still read. But a scratch does not belong to the caller, and the next call may
  // write it.
  if (terms_.modes.out == Sync::none && !plan_.whole_scratch) in_place_.reclaim_from = {};
  if (!in_place_.reclaim_from.empty() || !in_place_.reclaim_unless_ride.empty()) {
    if (drafts_.back().loop) once();
    lag_ = 0;
    for (int reader : in_place_.reclaim_from.all()) emit(Kind::await_done, 0, reader);
    for (int reader : in_place_.reclaim_unless_ride) only(When::stays, rank_, emit(Kind::await_done, 0, reader));
  }
  for (Draft& section : drafts_)
    if (!section.steps.empty()) append(section);
  return std::move(plan_);
}

}  // namespace copse::plan
