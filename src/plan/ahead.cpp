// Posts receives ahead.
#include "plan/ahead.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <tuple>
#include <utility>

namespace copse::plan {
namespace {

constexpr std::ptrdiff_t kAtHead = -1;

struct Message {  // one that the section receives
  std::ptrdiff_t first;  // its first receive
  std::ptrdiff_t after;  // the step after which it is expected, or kAtHead
  Step expect;
  bool in_time = false;  // it is expected in the iteration in which it is received, right before that

  [[nodiscard]] bool at_head() const { return after == kAtHead && !in_time; }
};

bool is_wait(Kind kind) { return kind == Kind::acquire || kind == Kind::await || kind == Kind::await_done; }
bool is_signal(Kind kind) { return kind == Kind::post || kind == Kind::publish; }

// A memory that is cut into chunks, and the last step that used each of them (kAtHead: none). Neighbours that one step used are one
// run.
class ChunkUses {
 public:
  void note(const Operand& used, std::ptrdiff_t step) {
    last_ = step;
    each_run(used, [&](std::uint32_t first, std::uint32_t end) {
      split(first);
      split(end);
      runs_.erase(runs_.lower_bound(first), runs_.lower_bound(end));
      runs_[first] = {end, step};
    });
  }
  [[nodiscard]] std::ptrdiff_t last() const { return last_; }
  [[nodiscard]] std::ptrdiff_t last(const Operand& place) const {
    std::ptrdiff_t result = kAtHead;
    each_run(place, [&](std::uint32_t first, std::uint32_t end) {
      for (auto run = runs_.lower_bound(end); run != runs_.begin() && (--run)->second.end > first;)
        result = std::max(result, run->second.step);
    });
    return result;
  }

 private:
  struct Run {
    std::uint32_t end;
    std::ptrdiff_t step;
  };

  template <class Visit>  // (first, end), twice if the operand goes round from the last chunk to the first
  static void each_run(const Operand& operand, Visit&& visit) {
    const Range& range = operand.range;
    const std::uint32_t first = (range.first + range.of - operand.origin) % range.of, end = first + range.count;
    visit(first, std::min(end, range.of));
    if (end > range.of) visit(0U, end - range.of);
  }
  void split(std::uint32_t chunk) {
    const auto next = runs_.lower_bound(chunk);
    if (next == runs_.begin()) return;
    Run& run = std::prev(next)->second;
    if (run.end > chunk) runs_.emplace(chunk, std::exchange(run, {chunk, run.step}));
  }

  std::ptrdiff_t last_ = kAtHead;  // the last step that used any chunk
  std::map<std::uint32_t, Run> runs_;  // by the first chunk
};

// Knows which step was the last to use a memory that messages come to. A root may receive from every other rank, so it cannot look
// through all its steps for each message.
class LastUses {
 public:
  explicit LastUses(bool apart) : apart_(apart) {}

  void watch(const Operand& place) { memories_[memory_of(place)]; }
  void note(const Operand& used, std::ptrdiff_t step) {
    if (const auto memory = memories_.find(memory_of(used)); memory != memories_.end())
      memory->second[used.range.of].note(used, step);
  }
  // Returns the last step that used what `place` overlaps (overlap.hpp), or kAtHead. The place must be watched.
  [[nodiscard]] std::ptrdiff_t of(const Operand& place) const {
    std::ptrdiff_t result = kAtHead;
    for (const auto& [chunks, uses] : memories_.at(memory_of(place)))
      result = std::max(result, chunks == place.range.of ? uses.last(place) : uses.last());
    return result;
  }

 private:
  using Memory = std::tuple<Space, std::uint16_t, std::int32_t>;  // the space, the area and the owner

  [[nodiscard]] Memory memory_of(const Operand& operand) const {
    const bool mine = operand.space == Space::input || operand.space == Space::output;
    return mine && !apart_ ? Memory{Space::input, 0, -1} : Memory{operand.space, operand.area, operand.rank};
  }

  bool apart_;
  std::map<Memory, std::map<std::uint32_t, ChunkUses>> memories_;  // by the number of chunks
};

class Placing {
 public:
  Placing(const std::vector<Step>& steps, const Exposure& exposure) : steps_(steps), exposure_(exposure), uses_(exposure.apart) {}

  [[nodiscard]] std::vector<Message> messages() {
    std::vector<Message> result;
    std::map<std::pair<int, int>, std::vector<std::size_t>> channels;
    std::map<std::pair<int, int>, bool> goes_on;
    for (const Step& step : steps_)
      if (step.kind == Kind::receive) uses_.watch(step.dst);
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const std::pair<int, int> channel{step.peer, step.area};
      if (step.kind == Kind::receive && !std::exchange(goes_on[channel], step.more)) {
        channels[channel].push_back(result.size());
        result.push_back(message(static_cast<std::ptrdiff_t>(i)));
      }
      note(static_cast<std::ptrdiff_t>(i));
    }
    for (const auto& [channel, numbers] : channels) keep_order(numbers, result);
    return result;
  }

 private:
  // The steps before `first` are noted.
  [[nodiscard]] Message message(std::ptrdiff_t first) const {
    const Step& receive = steps_[static_cast<std::size_t>(first)];
    Message result{first, kAtHead, receive};
    result.expect.kind = Kind::expect;
    result.expect.more = false;
    if (receive.more) result.expect.dst = {};
    const Operand& place = result.expect.dst;
    if (place.space == Space::none) return result;
    const bool exposed = place.space == Space::scratch ? exposure_.scratch : place.space == Space::output && exposure_.buffers;
    result.after = std::max(uses_.of(place), exposed ? met_ : kAtHead);
    return result;
  }

  // Notes what a step uses. A drain waits for those who use what was sent.
  void note(std::ptrdiff_t at) {
    const Step& step = steps_[static_cast<std::size_t>(at)];
    if (is_wait(step.kind) || is_signal(step.kind)) met_ = at;
    if (step.kind == Kind::send) sent_[step.area].push_back(&step.a);
    if (step.kind == Kind::drain)
      for (const Operand* sent : sent_[step.area]) uses_.note(*sent, at);
    for (const Operand* operand : {&step.dst, &step.dst2, &step.a, &step.b})
      if (operand->space != Space::none) uses_.note(*operand, at);
  }

  // Expects the messages of a channel one after the other: all at one point, or each right before it is received.
  static void keep_order(const std::vector<std::size_t>& numbers, std::vector<Message>& all) {
    if (numbers.size() == 1) return;
    std::ptrdiff_t after = kAtHead;
    for (const std::size_t number : numbers) after = std::max(after, all[number].after);
    const bool together = after < all[numbers.front()].first;
    for (const std::size_t number : numbers) {
      Message& message = all[number];
      message.after = together ? after : message.first - 1;
      message.in_time = !together;
    }
  }

  const std::vector<Step>& steps_;
  const Exposure& exposure_;
  LastUses uses_;
  std::ptrdiff_t met_ = kAtHead;  // the last step that waits for other ranks, or tells them something
  std::array<std::vector<const Operand*>, kAreas> sent_;
};

}  // namespace

void expect_messages(std::vector<Step>& steps, bool loop, const Exposure& exposure) {
  std::vector<Message> messages = Placing(steps, exposure).messages();
  if (messages.empty()) return;
  std::stable_sort(messages.begin(), messages.end(), [](const Message& a, const Message& b) {
    return std::pair(a.after, a.in_time) < std::pair(b.after, b.in_time);
  });
  const bool ahead = std::any_of(messages.begin(), messages.end(), [](const Message& each) { return each.at_head(); });
  const int shift = loop && ahead ? kPostedAhead : 0;
  std::vector<Step> result;
  result.reserve(steps.size() + messages.size());
  auto next = messages.begin();
  const auto expect_after = [&](std::ptrdiff_t at) {
    for (; next != messages.end() && next->after == at; ++next) {
      result.push_back(next->expect);
      const int lag = next->in_time ? next->expect.lag + shift : next->at_head() ? 0 : result[result.size() - 2].lag;
      result.back().lag = static_cast<std::uint8_t>(lag);
    }
  };
  expect_after(kAtHead);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    result.push_back(steps[i]);
    result.back().lag = static_cast<std::uint8_t>(steps[i].lag + shift);
    expect_after(static_cast<std::ptrdiff_t>(i));
  }
  steps.swap(result);
}

}  // namespace copse::plan
